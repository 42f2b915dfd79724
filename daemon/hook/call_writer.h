// A call's JSON document in pieces, as the hook's stdin can take them: objects are unpacked one at a time, so that a
// call larger than memory should hold is never held whole. Thread: loop only. Source: product.md section 2.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "base/scheduler.h"
#include "hook/call_body.h"
#include "hook/event.h"

namespace hookd::hook {

// Whoever keeps one for long (the run history) takes it by shared_from_this(): its objects are not copied.
struct Call : std::enable_shared_from_this<Call> {
  std::string hook;
  std::string id;
  int attempt = 1;
  std::string reason;  // watch, schedule, startup, source, requeue, reconcile
  WallTime time{};
  std::shared_ptr<const std::string> state;  // JSON text; null = there is none
  std::vector<Event> events;
  std::map<std::string, Snapshot> objects;  // by binding; of one moment
  std::set<std::string>
      only_sync;  // of `objects`: those that stand in their Sync event alone, as nothing includes them
  std::shared_ptr<const CallBody> body;  // of a Pass: in the place of `events` and `objects` of the document
};

class CallWriter {
 public:
  explicit CallWriter(std::shared_ptr<const Call> call) : call_(std::move(call)) {}

  // The next piece, at least kPieceBytes unless it is the last; "" = the end.
  std::string next();

  static constexpr size_t kPieceBytes = 64u << 10;

 private:
  enum class At { kHead, kBody, kEvents, kSnapshots, kEntries, kTail, kEnd };
  void step();
  void write_event(const Event& event);
  void write_entry(const Snapshot& snapshot, const SnapshotEntry& entry);

  std::shared_ptr<const Call> call_;
  JsonWriter out_;
  At at_ = At::kHead;
  size_t part_ = 0;  // of the body
  size_t event_ = 0;
  std::map<std::string, Snapshot>::const_iterator snapshot_;
  size_t entry_ = 0;
  // A Sync event carries its binding's whole snapshot.
  const Snapshot* sync_ = nullptr;
};

// The object's text, or {"apiVersion","kind","metadata":{"name","namespace","uid"}} where only the identity is kept.
std::string object_text(const cache::Object& object, const kube::ResourceType* type);

}  // namespace hookd::hook
