// What keeps a hook from doing harm to a cluster: its own writes known, loops slowed, its guard's pause. Thread: loop
// only. Source: issue 5 point 10.
#include "app/hook_unit.h"
#include "base/log.h"

namespace hookd::app {

hook::RunnerServices HookUnit::with_safety(hook::RunnerServices services) {
  services.pause = [this](std::string why) { pause(std::move(why)); };
  const auto ignores = [](const hook::WatchBinding& watch) { return watch.ignore_own_writes; };
  if (std::ranges::any_of(hook_->watches, ignores))
    services.ignores_own = [this](const kube::ResourceType& type) {
      return std::ranges::any_of(watches_, [&](const auto& watch) {
        return watch.binding().ignore_own_writes && watch.type() &&
               hook::resource_of(*watch.type()) == hook::resource_of(type);
      });
    };
  return services;
}

// For the watches of this hook, before they start. Without somebody who remembers writes there is nothing to do.
trigger::Emit HookUnit::through_safety(trigger::Emit emit) {
  if (!services_.runner.own_writes) return emit;
  loops_ = std::make_unique<hook::LoopDetector>(
      hook_->name, *services_.runner.own_writes, services_.runner.scheduler,
      [emit](const std::string& key, hook::Event event) { emit(key, std::move(event), false); },
      [this](const hook::LoopDetector::Loop& loop) { report_loop(loop); });
  return [this, emit](const std::string& key, hook::Event event, bool exclusive) {
    if (exclusive || !event.object) return emit(key, std::move(event), exclusive);
    loops_->pass(key, std::move(event));
  };
}

void HookUnit::report_loop(const hook::LoopDetector::Loop& loop) {
  log::warn("a loop, its calls are slowed: " + loop.text(), {{"hook", hook_->name}, {"key", loop.key}});
  if (!loop.event.object || !loop.event.resource) return;
  apply::EventNote note;
  note.api_version = loop.event.resource->api_version();
  note.kind = loop.event.resource->kind;
  note.ns = loop.event.object->ns;
  note.name = loop.event.object->name;
  note.uid = loop.event.object->uid;
  note.reason = "HookLoop";
  note.message = fmt::format("the calls of hook {} are slowed: {}", hook_->name, loop.text());
  note.type = "Warning";
  note.hook = hook_->name;
  services_.runner.applier.events().record(std::move(note));
}

std::string HookUnit::loop_trouble() const {
  const auto worst = loops_ ? loops_->worst() : std::nullopt;
  if (!worst) return "";
  const std::string more = loops_->slowed() > 1 ? fmt::format(" (and {} more objects)", loops_->slowed() - 1) : "";
  return "slowed: " + worst->text() + more;
}

}  // namespace hookd::app
