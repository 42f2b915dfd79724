#include "rehearsal/recorder.h"

#include "apply/operation_json.h"

namespace hookd::rehearsal {

namespace {

constexpr size_t kMostEvents = 3;

std::vector<EventRecord> records_of(const hook::Event& event) {
  EventRecord note;
  note.binding = event.binding;
  note.type = hook::to_string(event.type);
  if (event.resource) note.kind = event.resource->kind;
  if (event.object) note.object = event.object->key();
  if (event.causes.empty()) return {note};
  std::vector<EventRecord> notes;
  for (const hook::ReconcileCause& cause : event.causes) {
    note.binding = cause.binding;
    note.type = cause.type;
    const std::string object = cause.ns.empty() ? cause.name : cause.ns + "/" + cause.name;
    const bool itself = object == note.object && cause.kind.starts_with(note.kind + ".");
    note.cause = object.empty() || itself ? "" : cause.kind + " " + object;
    notes.push_back(note);
  }
  return notes;
}

std::vector<EventRecord> records_of(const std::vector<hook::Event>& events) {
  std::vector<EventRecord> notes;
  for (const hook::Event& event : events)
    for (EventRecord& note : records_of(event)) notes.push_back(std::move(note));
  return notes;
}

}  // namespace

std::string events_text(const std::vector<EventRecord>& events, bool reconcile) {
  std::string text;
  if (reconcile && !events.empty()) text = fmt::format("{} {}: ", events[0].kind, events[0].object);
  for (size_t i = 0; i < std::min(events.size(), kMostEvents); ++i) {
    const EventRecord& event = events[i];
    text += i ? ", " + event.type : event.type;
    if (reconcile && !event.cause.empty()) text += " " + event.cause;
    if (!reconcile && !event.object.empty()) text += fmt::format(" {} {}", event.kind, event.object);
    text += fmt::format(" ({})", event.binding);
  }
  if (events.size() > kMostEvents) text += fmt::format(" and {} more", events.size() - kMostEvents);
  return text;
}

CallRecord& Recorder::record(const hook::Call& call, bool only_operations) {
  if (const auto known = by_id_.find(call.id); known != by_id_.end()) return calls_[known->second];
  if (keep > 0 && calls_.size() >= 2 * keep) {
    calls_.erase(calls_.begin(), calls_.end() - static_cast<std::ptrdiff_t>(keep));
    by_id_.clear();
    for (size_t i = 0; i < calls_.size(); ++i) by_id_[calls_[i].id] = i;
  }
  by_id_[call.id] = calls_.size();
  CallRecord& made = calls_.emplace_back();
  made.hook = call.hook;
  made.id = call.id;
  made.reason = call.reason;
  made.attempt = call.attempt;
  made.time = call.time;
  made.only_operations = only_operations;
  made.events = records_of(call.events);
  return made;
}

void Recorder::call_started(const hook::Call& call) {
  CallRecord& made = record(call, false);
  // A pass may write (its finalizer) before it asks: what was noted then knows less.
  made.only_operations = false;
  made.events = records_of(call.events);
  if (on_started) on_started(made);
}

void Recorder::call_said(const hook::Call& call, std::string_view line) {
  if (on_said) on_said(record(call, false), line);
}

void Recorder::call_answered(const hook::Call& call, const process::ChildExit* exit,
                             const std::vector<apply::Operation>& operations,
                             const std::vector<std::string>& messages) {
  CallRecord& known = record(call, false);
  if (exit) known.wall = exit->wall;
  known.answered_before = known.answered.size();
  ++known.answers;
  for (const apply::Operation& op : operations) known.answered.push_back(op.describe());
  known.messages.insert(known.messages.end(), messages.begin(), messages.end());
  if (on_answered) on_answered(known);
}

void Recorder::operation_done(const hook::Call& call, const apply::Operation& operation,
                              const apply::Outcome& outcome) {
  const CallRecord& known = record(call, true);
  if (keep > 0 && operations_.size() >= 2 * keep)
    operations_.erase(operations_.begin(), operations_.end() - static_cast<std::ptrdiff_t>(keep));
  operations_.push_back({call.id, call.hook, operation.describe(), apply::operation_json(operation), outcome});
  if (on_operation) on_operation(known, operations_.back());
}

void Recorder::call_ended(const hook::CallResult& result) {
  CallRecord& known = record(result.call, true);
  known.ended = true;
  if (result.exit) {
    known.exit = result.exit->describe();
    if (result.exit->kind == process::ChildExit::Kind::kExited) known.exit_code = result.exit->code;
    known.wall = result.exit->wall;
  }
  known.result = result.result;
  known.error = result.error;
  known.then = result.then;
  known.requeue_after = result.requeue_after;
  if (on_ended) on_ended(known);
}

}  // namespace hookd::rehearsal
