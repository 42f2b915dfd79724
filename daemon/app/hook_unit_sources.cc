// A unit's sources: started, stopped, looked at.
#include "app/hook_unit.h"
#include "base/json_read.h"

namespace hookd::app {

void HookUnit::start_sources(const trigger::Emit& emitter, const Inheritance& inherited) {
  const auto& runner = services_.runner;
  for (const auto& binding : hook_->sources) {
    trigger::SourceServices services{runner.scheduler,
                                     runner.random,
                                     runner.metrics,
                                     runner.launcher,
                                     services_.paths,
                                     services_.routes,
                                     services_.api,
                                     runner.options.kubeconfig,
                                     runner.options.environment,
                                     runner.options.runtime_dir};
    auto& source = sources_.emplace_back(trigger::SourceTrigger::make(hook_, binding, std::move(services), emitter));
    if (!services_.sources && (binding.http.empty() || !services_.routes)) continue;
    if (const auto told = inherited.sources.find(source->identity()); told != inherited.sources.end())
      source->take_over(told->second);
    if (services_.once)
      source->tell_existing();
    else
      source->start();
  }
}

// An older version's events hold back this one's source too.
void HookUnit::adopt(hook::Event& event) {
  if (event.type != hook::Event::Type::kSource) return;
  for (auto& source : sources_)
    if (source->binding().name == event.binding) source->adopt(event);
}

void HookUnit::close_sources() {
  for (auto& source : sources_) source->stop();
}

bool HookUnit::over() {
  if (running() > 0) return false;
  close_sources();
  return running() == 0;
}

size_t HookUnit::sources_stopping() const {
  return static_cast<size_t>(std::ranges::count_if(sources_, [](const auto& source) { return source->stopping(); }));
}

Result<void> HookUnit::give_source_event(const std::string& binding, std::string data, std::optional<std::string> old) {
  for (auto& source : sources_) {
    if (source->binding().name != binding) continue;
    HOOKD_CHECK(validate_json(data));
    if (old) HOOKD_CHECK(validate_json(*old));
    source->give(std::move(data), old ? std::make_shared<const std::string>(trigger::one_line(*old)) : nullptr);
    return {};
  }
  return fail(Errc::kConfig, "the hook {} has no source \"{}\"", hook_->name, binding);
}

std::vector<std::pair<std::string, Error>> HookUnit::source_troubles() const {
  std::vector<std::pair<std::string, Error>> list;
  for (const auto& source : sources_)
    if (auto error = source->trouble()) list.emplace_back(source->binding().name, *std::move(error));
  return list;
}

void HookUnit::update_source_gauges() const {
  for (const auto& source : sources_) {
    const metrics::Labels labels{{"hook", hook_->name}, {"binding", source->binding().name}};
    services_.runner.metrics.set("hookd_source_waiting", labels, static_cast<double>(source->waiting()));
    services_.runner.metrics.set("hookd_source_paused", labels, source->paused() ? 1 : 0);
  }
}

}  // namespace hookd::app
