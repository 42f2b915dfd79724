#include "trigger/own_write_filter.h"

#include "base/json_read.h"

namespace hookd::trigger {
namespace {

using hook::Cause;
using hook::Event;

bool ends(std::string_view text) {
  const auto at = json_raw_at(text, {"metadata", "deletionTimestamp"});
  return at && *at != "null";
}

}  // namespace

OwnWriteFilter::OwnWriteFilter(std::string hook, hook::OwnWrites& writes, Scheduler& scheduler, Forward forward,
                               Dropped dropped)
    : hook_(std::move(hook)),
      writes_(writes),
      scheduler_(scheduler),
      forward_(std::move(forward)),
      dropped_(std::move(dropped)) {
  subscription_ = writes_.on_settled([this](const std::string&, const std::string&) { settled(); });
}

void OwnWriteFilter::pass(const std::string& queue_key, Event event, const cache::Change* change,
                          std::string_view text) {
  Held next{queue_key, std::move(event), false, false, false, scheduler_.now() + kLongestHold};
  // What a list found may stand for several changes, of which somebody else may have made one.
  next.judged = change && next.event.object && next.event.resource && !change->initial && !change->listed &&
                !change->final_state_unknown && next.event.object->uid == change->object->uid;
  next.gone = change && change->type == cache::Change::Type::kDeleted;
  if (next.judged && (next.gone || ends(text)))
    next.ends = change->old && !change->old->text.empty() && !ends(change->old->text.unpack());
  const auto waiting = held_.find(queue_key);
  if (waiting != held_.end()) {
    waiting->second.push_back(std::move(next));
    return;
  }
  switch (judge(next)) {
    case Cause::kOurs:
      return dropped_(queue_key, next.event);
    case Cause::kOthers:
      return forward_(queue_key, std::move(next.event));
    case Cause::kUndecided:
      held_[queue_key].push_back(std::move(next));
      arm();
  }
}

Cause OwnWriteFilter::judge(const Held& held) {
  if (!held.judged) return Cause::kOthers;
  const std::string resource = hook::resource_of(*held.event.resource);
  const cache::Identity& object = *held.event.object;
  Cause cause = writes_.version_by(hook_, resource, object);
  if (cause == Cause::kOthers && held.ends && !held.gone) cause = writes_.ending_by(hook_, resource, object);
  if (cause == Cause::kOthers && held.gone) cause = writes_.gone_by(hook_, resource, object, held.ends);
  return cause;
}

void OwnWriteFilter::settled() {
  const SteadyTime now = scheduler_.now();
  std::vector<std::pair<Held, bool>> out;  // and whether it is to be delivered
  for (auto it = held_.begin(); it != held_.end();) {
    std::deque<Held>& waiting = it->second;
    while (!waiting.empty()) {
      const Cause cause = judge(waiting.front());
      if (cause == Cause::kUndecided && waiting.front().until > now) break;
      out.emplace_back(std::move(waiting.front()), cause != Cause::kOurs);
      waiting.pop_front();
    }
    it = waiting.empty() ? held_.erase(it) : std::next(it);
  }
  arm();
  for (auto& [held, deliver] : out)
    deliver ? forward_(held.queue_key, std::move(held.event)) : dropped_(held.queue_key, held.event);
}

void OwnWriteFilter::flush() {
  auto all = std::exchange(held_, {});
  timer_.cancel();
  for (auto& [key, waiting] : all)
    for (Held& held : waiting) forward_(key, std::move(held.event));
}

void OwnWriteFilter::arm() {
  if (held_.empty()) return timer_.cancel();
  SteadyTime first = SteadyTime::max();
  for (const auto& [key, waiting] : held_) first = std::min(first, waiting.front().until);
  timer_ = scheduler_.at(first, [this] { settled(); });
}

}  // namespace hookd::trigger
