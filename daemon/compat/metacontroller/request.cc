#include "compat/metacontroller/request.h"

#include <algorithm>
#include <map>

#include "hook/call_writer.h"

namespace hookd::metacontroller {
namespace {

const HookSpec* spec_of(const ControllerSpec& controller, HookRole role) {
  const auto& hook = role == HookRole::kSync       ? controller.sync
                     : role == HookRole::kFinalize ? controller.finalize
                                                   : controller.customize;
  return hook ? &*hook : nullptr;
}

}  // namespace

std::string_view to_string(HookRole role) {
  switch (role) {
    case HookRole::kSync:
      return "sync";
    case HookRole::kFinalize:
      return "finalize";
    case HookRole::kCustomize:
      return "customize";
  }
  return "sync";
}

RequestBody::RequestBody(HookRequest request) : request_(std::move(request)) {
  parts_.push_back({Part::What::kHead});
  parts_.push_back({Part::What::kParent});
  if (request_.role != HookRole::kCustomize) {
    const HookSpec* spec = spec_of(*request_.controller, request_.role);
    const HookVersion version = spec ? spec->version : HookVersion::kV1;
    children_ = kinds_of(request_.children, version);
    related_ = kinds_of(request_.related, version);
    add_parts(children_, false);
    add_parts(related_, true);
    parts_.push_back({Part::What::kTail});
  }
}

std::vector<RequestBody::Kind> RequestBody::kinds_of(const std::vector<ObjectsOfKind>& all, HookVersion version) const {
  const std::string& ns = request_.parent_ns;
  // A map, so that an object that two rules find stands there once.
  std::map<std::string, std::map<std::string, const cache::Object*>> sorted;
  for (const ObjectsOfKind& kind : all) {
    auto& entries = sorted[kind.name()];
    for (const auto& object : kind.objects) {
      if (!object) continue;
      if (version == HookVersion::kV2 || ns.empty())
        entries[object->key()] = object.get();
      else if (object->ns == ns)
        entries[object->name] = object.get();
    }
  }
  std::vector<Kind> kinds;
  for (auto& [name, entries] : sorted) {
    Kind& kind = kinds.emplace_back();
    kind.name = name;
    for (auto& [key, object] : entries) kind.entries.push_back({key, object});
  }
  return kinds;
}

void RequestBody::add_parts(const std::vector<Kind>& kinds, bool related) {
  parts_.push_back({Part::What::kOpen, related});
  for (size_t k = 0; k < kinds.size(); ++k) {
    const auto& entries = kinds[k].entries;
    size_t from = 0, bytes = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
      const size_t more = entries[i].object->text.raw_bytes();
      if (i > from && bytes + more > kPartBytes) {
        parts_.push_back({Part::What::kEntries, related, k, from, i});
        from = i;
        bytes = 0;
      }
      bytes += more;
    }
    parts_.push_back({Part::What::kEntries, related, k, from, entries.size()});
  }
  parts_.push_back({Part::What::kClose, related});
}

bool RequestBody::write(size_t number, JsonWriter& out) const {
  if (number >= parts_.size()) return false;
  const Part& part = parts_[number];
  const bool composite = request_.controller->composite();
  const bool customize = request_.role == HookRole::kCustomize;
  switch (part.what) {
    case Part::What::kHead:
      if (!request_.call_id.empty()) out.key("id").string(request_.call_id);
      out.key("controller").raw(*request_.controller->text);
      break;
    case Part::What::kParent:
      out.key(composite || customize ? "parent" : "object").raw(request_.parent);
      break;
    case Part::What::kOpen:
      out.key(part.related ? "related" : composite ? "children" : "attachments").begin_object();
      break;
    case Part::What::kEntries: {
      const Kind& kind = (part.related ? related_ : children_)[part.kind];
      if (part.from == 0) out.key(kind.name).begin_object();
      for (size_t i = part.from; i < part.to; ++i)
        out.key(kind.entries[i].key).raw(hook::object_text(*kind.entries[i].object, nullptr));
      if (part.to == kind.entries.size()) out.end_object();
      break;
    }
    case Part::What::kClose:
      out.end_object();
      break;
    case Part::What::kTail:
      out.key("finalizing").boolean(request_.role == HookRole::kFinalize);
      break;
  }
  return true;
}

std::string RequestBody::cache_key() const {
  return fmt::format("{}\n{}\n{}", request_.parent_uid, to_string(request_.role), request_.revision);
}

}  // namespace hookd::metacontroller
