// What was expected against what was seen. Pure. Thread: any.
#pragma once

#include <boost/json.hpp>
#include <map>
#include <string>
#include <vector>

#include "rehearsal/recorder.h"
#include "rehearsal/steps.h"

namespace hookd::rehearsal {

// The kinds whose objects an expectation needs: (apiVersion, kind) as written.
using KindName = std::pair<std::string, std::string>;
std::vector<KindName> kinds_needed(const Expectation& expectation);

struct Seen {
  std::vector<CallRecord> calls;            // since the expectation before, of processes only
  std::vector<OperationRecord> operations;  // the same
  std::map<KindName, Result<std::vector<boost::json::value>>> objects;  // all that are there now
  std::string log;                                                      // since the expectation before
};

struct Unmet {
  config::Position at;
  std::string text;  // several lines: what was expected, what was seen, where they differ
};
std::vector<Unmet> unmet(const Expectation& expectation, const Seen& seen);

// The call as one map for each of its events (one without event where it has none): hook, reason, attempt, result,
// exit, error, binding, type, kind, object ("ns/name").
std::vector<boost::json::value> call_json(const CallRecord& call);
// With the outcome's kind as `outcome` and the hook's name as `hook`.
boost::json::value seen_json(const OperationRecord& operation);

// "hook h: Added default/web-0 (stuck), attempt 1, 12ms, ok" and its operations below, for people.
std::string call_text(const CallRecord& call, const std::vector<OperationRecord>& operations, std::string_view indent);

}  // namespace hookd::rehearsal
