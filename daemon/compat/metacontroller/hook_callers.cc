#include "compat/metacontroller/hook_callers.h"

#include "compat/metacontroller/webhook_caller.h"

namespace hookd::metacontroller {
namespace {

std::unique_ptr<hook::Caller> make(const std::shared_ptr<const ControllerSpec>& controller, HookRole role,
                                   const std::optional<HookSpec>& spec, const hook::Hook& hook,
                                   const hook::ReconcilerServices& services) {
  if (!spec) return nullptr;
  if (spec->webhook)
    return std::make_unique<WebhookCaller>(controller, role, *spec->webhook, services.callers, &services.api);
  auto command = std::make_shared<hook::Hook>(hook);
  command->run = *spec->command;
  command->reconciler = nullptr;
  return hook::make_caller(std::move(command), services.callers);
}

}  // namespace

HookCallers::HookCallers(std::shared_ptr<const ControllerSpec> controller, std::shared_ptr<const hook::Hook> hook,
                         const hook::ReconcilerServices& services)
    : sync_(make(controller, HookRole::kSync, controller->sync, *hook, services)),
      finalize_(make(controller, HookRole::kFinalize, controller->finalize, *hook, services)),
      customize_(make(controller, HookRole::kCustomize, controller->customize, *hook, services)) {}

HookCallers::~HookCallers() = default;

hook::Caller* HookCallers::of(HookRole role) const {
  switch (role) {
    case HookRole::kSync:
      return sync_.get();
    case HookRole::kFinalize:
      return finalize_.get();
    case HookRole::kCustomize:
      return customize_.get();
  }
  return nullptr;
}

std::vector<hook::Caller*> HookCallers::all() const {
  std::vector<hook::Caller*> all;
  for (const HookRole role : {HookRole::kSync, HookRole::kFinalize, HookRole::kCustomize})
    if (auto* caller = of(role)) all.push_back(caller);
  return all;
}

}  // namespace hookd::metacontroller
