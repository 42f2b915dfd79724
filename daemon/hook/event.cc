#include "hook/event.h"

namespace hookd::hook {
namespace {

// `waiting` is about to be replaced by, or to become, a newer state of its object.
void note_passed(std::vector<std::string>& passed, const Event& waiting) {
  passed = waiting.passed;
  if (passed.size() < Event::kMaxPassed) passed.push_back(waiting.object->resource_version);
}

// What `waiting` and then `next` of the same object mean together; false: they stay two.
bool combine(Event& waiting, Event& next) {
  using Type = Event::Type;
  if (waiting.again) {  // the hook saw that state already: what is new is `next` alone
    const SteadyTime seen = waiting.seen;
    waiting = std::move(next);
    waiting.seen = seen;
    return true;
  }
  if (waiting.type == Type::kDeleted && next.type != Type::kDeleted) return false;  // it left and came back
  note_passed(waiting.passed, waiting);
  if (waiting.type == Type::kDeleted) {
    waiting.object = std::move(next.object);
    return true;
  }
  waiting.overtaken = false;
  waiting.coalesce = waiting.coalesce && next.coalesce;
  waiting.object = std::move(next.object);
  waiting.value = std::move(next.value);
  if (next.type == Type::kDeleted) {
    waiting.type = Type::kDeleted;
    waiting.old = nullptr;
    waiting.old_value = nullptr;
    waiting.final_state_unknown = next.final_state_unknown;
  }
  return true;
}

// An object that comes and goes while its hook fails must not pile up deletions: with nothing of the binding between
// them, two of the same object are one.
void fold_deletions(std::vector<Event>& waiting, size_t last) {
  if (waiting[last].type != Event::Type::kDeleted) return;
  for (size_t i = last; i-- > 0;) {
    Event& before = waiting[i];
    if (before.binding != waiting[last].binding) continue;
    if (before.type != Event::Type::kDeleted || !before.object || before.object->uid != waiting[last].object->uid)
      return;
    waiting[last].seen = before.seen;
    waiting.erase(waiting.begin() + static_cast<ptrdiff_t>(i));
    return;
  }
}

}  // namespace

std::string_view to_string(Event::Type type) {
  switch (type) {
    case Event::Type::kAdded:
      return "Added";
    case Event::Type::kModified:
      return "Modified";
    case Event::Type::kDeleted:
      return "Deleted";
    case Event::Type::kSync:
      return "Sync";
    case Event::Type::kSchedule:
      return "Schedule";
    case Event::Type::kStartup:
      return "Startup";
    case Event::Type::kSource:
      return "Source";
    case Event::Type::kReconcile:
      return "Reconcile";
  }
  return "";
}

namespace {

// Level-triggered: one event for all that happened to a key.
void join(Event& waiting, Event next) {
  std::vector<ReconcileCause>& causes = waiting.causes;
  for (ReconcileCause& cause : next.causes) {
    std::erase(causes, cause);
    causes.push_back(std::move(cause));
  }
  if (causes.size() > Event::kMaxCauses)
    causes.erase(causes.begin(), causes.end() - static_cast<ptrdiff_t>(Event::kMaxCauses));
  if (next.gone) waiting.gone = std::move(next.gone);
  waiting.background &= next.background;
  waiting.again &= next.again;
  if (waiting.seen == SteadyTime{}) waiting.seen = next.seen;
  // Both sources go on when the key was run.
  if (next.ticket)
    waiting.ticket = waiting.ticket ? std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(
                                          std::move(waiting.ticket), std::move(next.ticket))
                                    : std::move(next.ticket);
}

}  // namespace

void merge(std::vector<Event>& waiting, Event next) {
  if (next.type == Event::Type::kReconcile && !waiting.empty()) return join(waiting.back(), std::move(next));
  for (auto it = waiting.rbegin(); it != waiting.rend(); ++it) {
    if (it->binding != next.binding) continue;
    if (next.type == Event::Type::kSource) break;  // each says something of its own
    if (!next.object) {                            // a second tick, sync or start-up says nothing new
      if (it->type == next.type) return;
      continue;
    }
    const bool same = it->object && it->object->uid == next.object->uid;
    if (same && (next.again || next.overtaken)) return;  // what waits is newer
    // An event that is brought up to date when the call is made is about what came by then: else it would show what the
    // events behind it tell, and then those would go back.
    const bool of_now = it->again || it->overtaken;
    if (!it->object || (!next.coalesce && !of_now)) break;
    if (same && combine(*it, next))
      return fold_deletions(waiting, static_cast<size_t>(it.base() - waiting.begin()) - 1);
    break;  // only the last event of the binding may take it in: order
  }
  waiting.push_back(std::move(next));
}

}  // namespace hookd::hook
