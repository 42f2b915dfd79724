// A unit whose hook reconciles: its keys come from a Reconciler, and each run of one is a pass.
#include "app/hook_unit.h"
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
  queue_.set_gate([this] { return reconciler_->ready() && (services_.once || runner_.caller().ready()); });
  if (!services_.once) runner_.caller().on_ready([this] { queue_.look_again(); });
}

}  // namespace hookd::app
