#include "control/snapshot_sender.h"

#include "base/json_writer.h"
#include "hook/call_writer.h"

namespace hookd::control {

SnapshotSender::SnapshotSender(Scheduler& scheduler, net::ResponseStream stream, hook::Snapshot snapshot, Mask mask)
    : scheduler_(scheduler), stream_(std::move(stream)), snapshot_(std::move(snapshot)), mask_(std::move(mask)) {}

void SnapshotSender::start(Scheduler& scheduler, net::ResponseStream stream, hook::Snapshot snapshot, Mask mask) {
  std::shared_ptr<SnapshotSender>(
      new SnapshotSender(scheduler, std::move(stream), std::move(snapshot), std::move(mask)))
      ->step();
}

void SnapshotSender::step() {
  const bool secret = is_secret(snapshot_.type.get());
  std::string text;
  if (stream_.queued() < kQueueBytes) {
    for (; next_ < snapshot_.entries.size() && text.size() < kSliceBytes; ++next_) {
      const auto& entry = snapshot_.entries[next_];
      std::string object = hook::object_text(*entry.object, snapshot_.type.get());
      JsonWriter out;
      out.begin_object().key("object").raw(secret ? mask_secret(object) : object);
      if (entry.value) out.key("value").raw(secret ? json_string(kMasked) : *entry.value);
      text += mask_.apply_to_json(std::move(out.end_object()).take());
      text += '\n';
    }
  }
  if (!stream_.write(std::move(text))) return;
  if (next_ == snapshot_.entries.size()) return stream_.end();
  timer_ = scheduler_.after(stream_.queued() < kQueueBytes ? Duration::zero() : kWait,
                            [self = shared_from_this()] { self->step(); });
}

}  // namespace hookd::control
