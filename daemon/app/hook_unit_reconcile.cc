// A unit whose hook reconciles: its keys come from a Reconciler, and each run of one is a pass.
#include "app/hook_unit.h"
#include "base/log.h"
#include "reconcile/maker.h"

namespace hookd::app {

void HookUnit::make_reconciler() {
  const auto& runner = services_.runner;
  hook::ReconcilerServices services{
      runner.scheduler,
      runner.random,
      services_.pool,
      *services_.discovery,
      *services_.api,
      runner.applier.events(),
      runner.metrics,
      runner.store,
      hook::CallerServices{runner.scheduler, runner.random, runner.launcher, runner.transport, runner.metrics,
                           runner.options.answer_limit_bytes, runner.options.runtime_dir, runner.options.kubeconfig,
                           runner.options.environment, runner.breakers}};
  services.cluster = services_.cluster;
  services.dry_run = runner.options.dry_run;
  services.once = services_.once;
  services.emit = [this](const std::string& key, hook::Event event) {
    event.type = hook::Event::Type::kReconcile;
    event.binding = "reconcile";
    if (event.seen == SteadyTime{} && !event.background) event.seen = services_.runner.scheduler.now();
    if (event.background)
      queue_.add_background(key, std::move(event));
    else
      queue_.add(key, std::move(event));
  };
  services.changed = [this] { queue_.look_again(); };
  reconciler_ = hook_->reconciler ? hook_->reconciler->make(hook_, std::move(services))
                                  : reconcile::make_reconciler(hook_, std::move(services));
  runner_.set_reconciler(*reconciler_);
  outage_ = std::make_unique<queue::Outage>(
      runner.scheduler, queue::Outage::Hands{[this] { queue_.bring_one_forward(); },
                                             [this] {
                                               log::info("the hook works again: what failed is tried anew",
                                                         {{"hook", hook_->name}});
                                               queue_.bring_forward(queue::Outage::kSpread);
                                             }});
  queue_.set_gate([this] {
    return reconciler_->ready() &&
           (services_.once ||
            (runner_.caller().ready() && std::ranges::all_of(reconciler_->asked_by_all(), &hook::Caller::ready)));
  });
  if (!services_.once)
    for (hook::Caller* one : callers()) one->on_ready([this] { queue_.look_again(); });
}

std::vector<hook::Caller*> HookUnit::callers() const {
  std::vector<hook::Caller*> all{&runner_.caller()};
  if (reconciler_)
    for (hook::Caller* one : reconciler_->callers()) all.push_back(one);
  return all;
}

}  // namespace hookd::app
