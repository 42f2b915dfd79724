// The Status column of pods, with what their containers are doing. Source: API docs "Pod lifecycle".
#include <set>

#include "base/time.h"
#include "embedded/print/table.h"
#include "embedded/print/table_cells.h"

namespace hookd::embedded {
namespace {

struct Restarts {
  int64_t count = 0;
  std::string_view last;  // when the last container ended before it was started again
  void add(const json::object& status) {
    count += integer_at(status, {"restartCount"}).value_or(0);
    const std::string_view time = string_at(status, {"lastState", "terminated", "finishedAt"});
    if (time > last) last = time;  // RFC 3339 in UTC sorts as text
  }
};

bool condition_true(const json::object& pod, std::string_view type) {
  for (const json::value& item : array_at(pod, {"status", "conditions"}))
    if (string_at(as_object(item), {"type"}) == type) return string_at(as_object(item), {"status"}) == "True";
  return false;
}

std::string ended(const json::object& terminated) {
  if (const std::string_view reason = string_at(terminated, {"reason"}); !reason.empty()) return std::string(reason);
  if (const int64_t signal = integer_at(terminated, {"signal"}).value_or(0); signal != 0)
    return fmt::format("Signal:{}", signal);
  return fmt::format("ExitCode:{}", integer_at(terminated, {"exitCode"}).value_or(0));
}

struct Summary {
  std::string reason;
  Restarts restarts, sidecar_restarts;
  int64_t ready = 0;
  bool initializing = false;
};

void look_at_init(const json::object& pod, const std::set<std::string_view>& sidecars, Summary& out) {
  const json::array& statuses = array_at(pod, {"status", "initContainerStatuses"});
  for (size_t i = 0; i < statuses.size(); ++i) {
    const json::object& status = as_object(statuses[i]);
    const bool sidecar = sidecars.contains(string_at(status, {"name"}));
    out.restarts.add(status);
    if (sidecar) out.sidecar_restarts.add(status);
    const json::object& state = object_at(status, {"state"});
    const bool terminated = has(state, {"terminated"});
    if (terminated && integer_at(state, {"terminated", "exitCode"}).value_or(0) == 0) continue;
    if (sidecar && bool_at(status, {"started"})) {
      if (bool_at(status, {"ready"})) ++out.ready;
      continue;
    }
    out.initializing = true;
    const std::string_view waiting = string_at(state, {"waiting", "reason"});
    if (terminated) {
      out.reason = "Init:" + ended(object_at(state, {"terminated"}));
    } else if (!waiting.empty() && waiting != "PodInitializing") {
      out.reason = fmt::format("Init:{}", waiting);
    } else {
      out.reason = fmt::format("Init:{}/{}", i, array_at(pod, {"spec", "initContainers"}).size());
    }
    return;
  }
}

void look_at_containers(const json::object& pod, Summary& out) {
  out.restarts = out.sidecar_restarts;
  bool running = false;
  std::string failure;
  const json::array& statuses = array_at(pod, {"status", "containerStatuses"});
  for (size_t i = statuses.size(); i-- > 0;) {
    const json::object& status = as_object(statuses[i]);
    out.restarts.add(status);
    const json::object& state = object_at(status, {"state"});
    if (const std::string_view waiting = string_at(state, {"waiting", "reason"}); !waiting.empty()) {
      out.reason = waiting;
    } else if (has(state, {"terminated"})) {
      out.reason = ended(object_at(state, {"terminated"}));
      if (integer_at(state, {"terminated", "exitCode"}).value_or(0) != 0) failure = out.reason;
    } else if (bool_at(status, {"ready"}) && has(state, {"running"})) {
      running = true;
      ++out.ready;
    }
  }
  if (out.reason != "Completed") return;
  if (running && condition_true(pod, "Ready")) {
    out.reason = "Running";
  } else if (!failure.empty()) {
    out.reason = failure;
  } else if (running) {
    out.reason = "NotReady";
  }
}

std::string or_none(std::string_view text) { return text.empty() ? "<none>" : std::string(text); }

}  // namespace

json::array pod_cells(const json::object& pod, WallTime now) {
  Summary summary;
  const std::string_view phase = string_at(pod, {"status", "phase"}), why = string_at(pod, {"status", "reason"});
  summary.reason = why.empty() ? phase : why;
  for (const json::value& item : array_at(pod, {"status", "conditions"}))
    if (string_at(as_object(item), {"type"}) == "PodScheduled" &&
        string_at(as_object(item), {"reason"}) == "SchedulingGated")
      summary.reason = "SchedulingGated";
  std::set<std::string_view> sidecars;
  for (const json::value& item : array_at(pod, {"spec", "initContainers"}))
    if (string_at(as_object(item), {"restartPolicy"}) == "Always")
      sidecars.insert(string_at(as_object(item), {"name"}));
  look_at_init(pod, sidecars, summary);
  if (!summary.initializing || condition_true(pod, "Initialized")) look_at_containers(pod, summary);
  if (has(pod, {"metadata", "deletionTimestamp"})) {
    if (why == "NodeLost") {
      summary.reason = "Unknown";
    } else if (phase != "Failed" && phase != "Succeeded") {
      summary.reason = "Terminating";
    }
  }
  std::string restarts = std::to_string(summary.restarts.count);
  if (summary.restarts.count != 0 && !summary.restarts.last.empty())
    restarts += fmt::format(" ({} ago)", age_of(summary.restarts.last, now));

  std::string gates = "<none>";
  if (const json::array& list = array_at(pod, {"spec", "readinessGates"}); !list.empty()) {
    int64_t passed = 0;
    for (const json::value& gate : list)
      if (condition_true(pod, string_at(as_object(gate), {"conditionType"}))) ++passed;
    gates = fmt::format("{}/{}", passed, list.size());
  }
  const json::array& ips = array_at(pod, {"status", "podIPs"});
  const size_t total = array_at(pod, {"spec", "containers"}).size() + sidecars.size();
  return {json::value(string_at(pod, {"metadata", "name"})),
          json::value(fmt::format("{}/{}", summary.ready, total)),
          json::value(summary.reason),
          json::value(restarts),
          json::value(age_of(pod, now)),
          json::value(or_none(ips.empty() ? "" : string_at(as_object(ips[0]), {"ip"}))),
          json::value(or_none(string_at(pod, {"spec", "nodeName"}))),
          json::value(or_none(string_at(pod, {"status", "nominatedNodeName"}))),
          json::value(gates)};
}

}  // namespace hookd::embedded
