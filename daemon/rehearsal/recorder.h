// What hooks were called with and what came of it, kept in order. Thread: loop only.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hook/call_observer.h"

namespace hookd::rehearsal {

struct EventRecord {
  std::string binding;
  std::string type;    // "Added"
  std::string kind;    // "" without an object
  std::string object;  // "ns/name", "name" for cluster scope, "" without an object
  // Of a call to reconcile, which has one record for each cause: `kind` and `object` are the parent's, and this is what
  // it was called for where that is another object: "Deployment.apps/v1 default/web".
  std::string cause{};
};

// "Added Pod default/web-0 (stuck), …"; of a call to reconcile "Memcached default/m: Modified Deployment.apps/v1
// default/m (children), …". At most 3 events.
std::string events_text(const std::vector<EventRecord>& events, bool reconcile);

struct OperationRecord {
  std::string call;  // id
  std::string hook;
  std::string describe;  // "Delete Pod a/b"
  boost::json::object json;
  apply::Outcome outcome;
};

struct CallRecord {
  std::string hook, id, reason;
  int attempt = 1;
  WallTime time{};
  std::vector<EventRecord> events;
  // No process was started: what an earlier answer left undone is finished.
  bool only_operations = false;
  std::vector<std::string> answered;  // "Delete Pod a/b"
  size_t answered_before = 0;         // so many of them were told before: a pass writes its answer in steps
  int answers = 0;                    // how often on_answered was told
  std::vector<std::string> messages;
  bool ended = false;
  std::string exit;  // "exit code 1", "" = none was started
  std::optional<int> exit_code;
  Duration wall{0};  // real time
  std::string result, error;
  hook::CallResult::Then then = hook::CallResult::Then::kDone;
  std::optional<Duration> requeue_after;
};

class Recorder final : public hook::CallObserver {
 public:
  void call_started(const hook::Call& call) override;
  void call_said(const hook::Call& call, std::string_view line) override;
  void call_answered(const hook::Call& call, const process::ChildExit* exit,
                     const std::vector<apply::Operation>& operations,
                     const std::vector<std::string>& messages) override;
  void operation_done(const hook::Call& call, const apply::Operation& operation,
                      const apply::Outcome& outcome) override;
  void call_ended(const hook::CallResult& result) override;

  const std::vector<CallRecord>& calls() const { return calls_; }
  const std::vector<OperationRecord>& operations() const { return operations_; }

  // Each is told after it was noted; may be empty.
  std::function<void(const CallRecord&)> on_started, on_answered, on_ended;
  std::function<void(const CallRecord&, const OperationRecord&)> on_operation;
  std::function<void(const CallRecord&, std::string_view line)> on_said;
  // With a limit the oldest are forgotten, as play may go on for days. 0 = all are kept.
  size_t keep = 0;

 private:
  CallRecord& record(const hook::Call& call, bool only_operations);

  std::vector<CallRecord> calls_;
  std::map<std::string, size_t> by_id_;
  std::vector<OperationRecord> operations_;
};

}  // namespace hookd::rehearsal
