// A guard that tripped, told once: log, metric, Kubernetes Event. Thread: loop only. Source: issue 5 point 10.
#pragma once

#include <string>
#include <vector>

#include "apply/event_recorder.h"
#include "apply/operation.h"
#include "hook/call_writer.h"
#include "hook/guard.h"
#include "metrics/registry.h"

namespace hookd::hook {

// "by its guard: 21 deletes within 1m (limit 20/1m); look at `hookd runs HOOK`, then `hookd resume HOOK`": why the hook
// is paused, for status and readyz.
std::string pause_reason(const std::string& hook, const GuardFuse::Trip& trip);

// The Event is about the first object that the call tells of; without one, about the first that would have been
// written: a hook is no object, and these are what the person looks at who wonders why nothing happens.
void report_trip(const Call& call, const GuardFuse::Trip& trip, const std::vector<apply::Operation>& not_sent,
                 metrics::Registry& metrics, apply::EventRecorder& events);

}  // namespace hookd::hook
