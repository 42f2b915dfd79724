#include "hook/call_writer.h"

#include "base/time.h"

namespace hookd::hook {

std::string object_text(const cache::Object& object, const kube::ResourceType* type) {
  if (!object.text.empty()) return object.text.unpack();
  JsonWriter out;
  out.begin_object();
  if (type) out.key("apiVersion").string(type->api_version()).key("kind").string(type->kind);
  out.key("metadata").begin_object().key("name").string(object.name);
  if (!object.ns.empty()) out.key("namespace").string(object.ns);
  out.key("uid").string(object.uid).end_object().end_object();
  return std::move(out).take();
}

std::string CallWriter::next() {
  while (at_ != At::kEnd && out_.text().size() < kPieceBytes) step();
  std::string piece = std::move(out_.text());
  out_.text().clear();
  return piece;
}

void CallWriter::write_event(const Event& event) {
  out_.begin_object();
  out_.key("binding").string(event.binding);
  out_.key("type").string(to_string(event.type));
  if (event.object) out_.key("object").raw(object_text(*event.object, event.resource.get()));
  if (event.old) out_.key("old").raw(object_text(*event.old, event.resource.get()));
  if (event.value) out_.key("value").raw(*event.value);
  if (event.old_value) out_.key("oldValue").raw(*event.old_value);
  if (event.data) out_.key("data").raw(*event.data);
  if (event.old_data) out_.key("oldData").raw(*event.old_data);
  if (event.final_state_unknown) out_.key("finalStateUnknown").boolean(true);
}

void CallWriter::write_entry(const Snapshot& snapshot, const SnapshotEntry& entry) {
  out_.begin_object();
  out_.key("object").raw(object_text(*entry.object, snapshot.type.get()));
  if (entry.value) out_.key("value").raw(*entry.value);
  out_.end_object();
}

void CallWriter::step() {
  switch (at_) {
    case At::kHead:
      out_.begin_object();
      if (call_->body && call_->body->whole_document()) {
        at_ = At::kBody;
        return;
      }
      out_.key("hook").string(call_->hook);
      out_.key("id").string(call_->id);
      out_.key("attempt").number(int64_t{call_->attempt});
      out_.key("reason").string(call_->reason);
      out_.key("time").string(format_rfc3339(call_->time, 3));
      if (call_->state) out_.key("state").raw(*call_->state);
      if (call_->body) {
        at_ = At::kBody;
        return;
      }
      out_.key("events").begin_array();
      at_ = At::kEvents;
      return;
    case At::kBody:
      if (!call_->body->write(part_++, out_)) at_ = At::kTail;
      return;
    case At::kEvents: {
      if (event_ == call_->events.size()) {
        out_.end_array();
        out_.key("objects").begin_object();
        snapshot_ = call_->objects.begin();
        at_ = At::kSnapshots;
        return;
      }
      const Event& event = call_->events[event_];
      if (!sync_) {
        write_event(event);
        const auto own = call_->objects.find(event.binding);
        if (event.type != Event::Type::kSync || own == call_->objects.end()) {
          out_.end_object();
          ++event_;
          return;
        }
        sync_ = &own->second;
        entry_ = 0;
        out_.key("objects").begin_array();
        return;
      }
      if (entry_ < sync_->entries.size()) return write_entry(*sync_, sync_->entries[entry_++]);
      out_.end_array();
      out_.end_object();
      sync_ = nullptr;
      ++event_;
      return;
    }
    case At::kSnapshots:
      if (snapshot_ == call_->objects.end()) {
        out_.end_object();
        at_ = At::kTail;
        return;
      }
      if (call_->only_sync.contains(snapshot_->first)) {
        ++snapshot_;
        return;
      }
      out_.key(snapshot_->first).begin_array();
      entry_ = 0;
      at_ = At::kEntries;
      return;
    case At::kEntries:
      if (entry_ < snapshot_->second.entries.size())
        return write_entry(snapshot_->second, snapshot_->second.entries[entry_++]);
      out_.end_array();
      ++snapshot_;
      at_ = At::kSnapshots;
      return;
    case At::kTail:
      out_.end_object();
      out_.text() += '\n';
      at_ = At::kEnd;
      return;
    case At::kEnd:
      return;
  }
}

}  // namespace hookd::hook
