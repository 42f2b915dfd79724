#include "hook/loop_detector.h"

#include <algorithm>

#include "apply/json_diff.h"
#include "base/time.h"

namespace hookd::hook {
namespace {

std::vector<std::string> paths_of(const std::vector<Event>& events) {
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    if (!event->object || !event->old || event->object->text.empty() || event->old->text.empty()) continue;
    auto paths = apply::changed_paths(event->old->text.unpack(), event->object->text.unpack(), LoopDetector::kPaths);
    if (!paths.empty()) return paths;
  }
  return {};
}

}  // namespace

std::string LoopDetector::Loop::text() const {
  const std::string object =
      event.object && event.resource ? fmt::format("{} {}", event.resource->kind, event.object->key()) : key;
  const std::string who = hooks.size() > 1
                              ? fmt::format("hooks {} keep changing what calls them", fmt::join(hooks, ", "))
                              : "it keeps changing what calls it";
  const std::string what = paths.empty() ? object : fmt::format("{} of {}", fmt::join(paths, ", "), object);
  return fmt::format(
      "{}: {} ({} calls one after another, now one in {}); let `value:` of the binding select what "
      "matters, set `ownWrites: ignore`, or write only when something changes",
      who, what, calls, format_duration(delay));
}

LoopDetector::LoopDetector(std::string hook, OwnWrites& writes, Scheduler& scheduler, Forward forward, Report report)
    : hook_(std::move(hook)),
      writes_(writes),
      scheduler_(scheduler),
      forward_(std::move(forward)),
      report_(std::move(report)) {
  subscription_ = writes_.on_settled(
      [this](const std::string& resource, const std::string& object_key) { settled(resource, object_key); });
}

void LoopDetector::pass(const std::string& key, Event event) {
  if (event.object) writes_.seen(event.object->uid, event.object->resource_version);
  // By now it is known who wrote what began the last call.
  if (auto begun = undecided_.extract(key)) look(key, begun.mapped().events, begun.mapped().started);
  const auto slow = slow_.find(key);
  if (slow == slow_.end()) return forward_(key, std::move(event));
  const bool outside = writes_.cause_of({event}, hook_, nullptr) == Cause::kOthers;
  merge(slow->second.held, std::move(event));
  if (outside) return release(key);
  arm(key, slow->second);
}

void LoopDetector::starting(const std::string& key, const std::vector<Event>& events) {
  look(key, events, scheduler_.now());
}

void LoopDetector::look(const std::string& key, const std::vector<Event>& events, SteadyTime started) {
  Chain chain;
  switch (writes_.cause_of(events, hook_, &chain)) {
    case Cause::kOurs:
      undecided_.erase(key);
      return slow_down(key, chain, events, started);
    case Cause::kOthers:
      undecided_.erase(key);
      return release(key);
    case Cause::kUndecided:
      if (undecided_.size() < kUndecided) undecided_[key] = {events, started};
  }
}

void LoopDetector::slow_down(const std::string& key, const Chain& chain, const std::vector<Event>& events,
                             SteadyTime started) {
  auto slow = slow_.find(key);
  if (chain.depth <= kFree) return release(key);
  if (slow == slow_.end()) {
    const size_t before = chain.starts.size() > kFree ? chain.starts.size() - 1 - kFree : 0;
    if (started - chain.starts[before] > kWindow) return;
    slow = slow_.try_emplace(key).first;
    slow->second.loop.key = key;
  }
  Slow& now = slow->second;
  now.started = started;
  now.loop.delay = now.loop.delay == Duration::zero() ? kFirstDelay : std::min(now.loop.delay * 2, kMaxDelay);
  now.loop.calls = chain.depth;
  now.loop.hooks = chain.hooks;
  if (auto paths = paths_of(events); !paths.empty()) now.loop.paths = std::move(paths);
  now.loop.event = bare_events({events.back()}).front();
  const bool first = now.told == SteadyTime{};
  if (first || scheduler_.now() - now.told >= kToldEach) {
    now.told = scheduler_.now();
    report_(now.loop);
  }
  arm(key, now);
}

// With something held: when its time has come; else: when the loop counts as over.
void LoopDetector::arm(const std::string& key, Slow& slow) {
  const SteadyTime due = slow.started + slow.loop.delay + (slow.held.empty() ? kQuiet : Duration::zero());
  slow.timer = scheduler_.at(due, [this, key] {
    const auto it = slow_.find(key);
    if (it == slow_.end()) return;
    if (it->second.held.empty()) {
      slow_.erase(it);
      return;
    }
    auto held = std::exchange(it->second.held, {});
    it->second.started = scheduler_.now();
    arm(key, it->second);
    for (Event& event : held) forward_(key, std::move(event));
  });
}

void LoopDetector::release(const std::string& key) {
  auto slow = slow_.extract(key);
  if (slow.empty()) return;
  for (Event& event : slow.mapped().held) forward_(key, std::move(event));
}

void LoopDetector::settled(const std::string& resource, const std::string& object_key) {
  const std::string key = resource + "/" + object_key;
  const auto slow = slow_.find(key);
  if (slow == slow_.end() || slow->second.held.empty()) return;
  if (writes_.cause_of(slow->second.held, hook_, nullptr) == Cause::kOthers) release(key);
}

bool LoopDetector::holds() const {
  return std::ranges::any_of(slow_, [](const auto& entry) { return !entry.second.held.empty(); });
}

std::optional<LoopDetector::Loop> LoopDetector::worst() const {
  const auto worst = std::ranges::max_element(slow_, {}, [](const auto& entry) { return entry.second.loop.calls; });
  if (worst == slow_.end()) return std::nullopt;
  return worst->second.loop;
}

std::vector<std::pair<std::string, Event>> LoopDetector::take_held() {
  std::vector<std::pair<std::string, Event>> all;
  for (auto& [key, slow] : std::exchange(slow_, {}))
    for (Event& event : slow.held) all.emplace_back(key, std::move(event));
  undecided_.clear();
  return all;
}

}  // namespace hookd::hook
