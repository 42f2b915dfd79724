#include "hook/guard_report.h"

#include "base/log.h"

namespace hookd::hook {
namespace {

constexpr size_t kNamed = 5;  // operations in the log line

std::string first_of(const std::vector<apply::Operation>& operations) {
  std::string text;
  size_t named = 0;
  for (const apply::Operation& op : operations) {
    if (!apply::is_write(op.verb)) continue;
    if (++named <= kNamed) text += (named > 1 ? ", " : "") + op.describe();
  }
  return named > kNamed ? fmt::format("{} and {} more", text, named - kNamed) : text;
}

std::string what_next(const std::string& hook, const GuardFuse::Trip& trip) {
  return fmt::format("look at `hookd runs {}`, then `hookd resume {}`{}", hook, hook,
                     trip.alone ? fmt::format(" (this one answer is over the limit by itself: if it is right, raise "
                                              "`{}` of its guard first)",
                                              trip.limit)
                                : "");
}

}  // namespace

std::string pause_reason(const std::string& hook, const GuardFuse::Trip& trip) {
  return fmt::format("by its guard: {}; {}", trip.text, what_next(hook, trip));
}

void report_trip(const Call& call, const GuardFuse::Trip& trip, const std::vector<apply::Operation>& not_sent,
                 metrics::Registry& metrics, apply::EventRecorder& events) {
  metrics.count("hookd_guard_tripped_total", {{"hook", call.hook}, {"limit", trip.limit}});
  log::error("the guard of the hook tripped: what would pass it was not sent, and the hook is paused",
             {{"hook", call.hook},
              {"call", call.id},
              {"guard", trip.text},
              {"not_sent", first_of(not_sent)},
              {"next", what_next(call.hook, trip)}});
  apply::EventNote note;
  for (const Event& event : call.events) {
    if (!event.object || !event.resource) continue;
    note.api_version = event.resource->api_version();
    note.kind = event.resource->kind;
    note.ns = event.object->ns;
    note.name = event.object->name;
    note.uid = event.object->uid;
    break;
  }
  for (const apply::Operation& op : not_sent) {
    if (!note.name.empty()) break;
    if (!apply::is_write(op.verb) || op.name.empty()) continue;
    note.api_version = op.api_version;
    note.kind = op.kind;
    note.ns = op.ns;
    note.name = op.name;
    note.uid = op.uid;
  }
  if (note.name.empty()) return;
  note.reason = "HookGuardTripped";
  note.message = fmt::format("hook {} is paused {}", call.hook, pause_reason(call.hook, trip));
  note.type = "Warning";
  note.hook = call.hook;
  events.record(std::move(note));
}

}  // namespace hookd::hook
