// A CompositeController or DecoratorController as a reconciler: what calls its keys. Thread: loop only.
// Source: controllers.md 1.8.
//
//   parent             as ParentSet tells; all changes, or all but those of the status (ignoreStatusChanges)
//   child, attachment  by its controller's uid, before and now
//   orphan             the parents whose selector it matches (CompositeController)
//   related            the parents whose rules it matches, before or now
//   resync             each of them once a period
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compat/metacontroller/controller_world.h"
#include "hook/reconciler.h"
#include "reconcile/resync.h"

namespace hookd::metacontroller {

class ControllerReconciler final : public hook::Reconciler {
 public:
  ControllerReconciler(std::shared_ptr<const ControllerSpec> spec, ApplyOptions options,
                       std::shared_ptr<const hook::Hook> hook, hook::ReconcilerServices services);
  ~ControllerReconciler() override;

  void start() override;
  void stop() override;
  bool ready() const override;
  bool idle() const override;
  std::vector<hook::Event> hand_over() override;
  std::unique_ptr<hook::Pass> begin(const std::string& key, const hook::Event& event,
                                    hook::PassContext context) override;
  std::vector<std::shared_ptr<kube::Informer>> informers() const override;
  std::vector<Look> looks() const override;
  std::vector<std::string> troubles() const override;
  std::vector<std::string> waits() const override;
  static constexpr size_t kWaits = 16;  // told at most
  std::vector<hook::Caller*> callers() override { return world_.callers.all(); }
  std::vector<hook::Caller*> asked_by_all() override;
  std::optional<hook::Snapshot> snapshot(const std::string& name) const override;

 private:
  void add_parents(const ParentResource& rule);
  void add_children(const ChildResource& rule);
  void emit(const std::string& key, hook::ReconcileCause cause, bool background);
  void parent_touched(const ControllerWorld::Parents& of, const cache::Object& parent, std::string_view type,
                      cache::ObjectPtr gone, bool background);
  void parent_seen(const ControllerWorld::Parents& of, const cache::Object& parent, std::string_view text);
  void child_changed(ControllerWorld::Children& of, const reconcile::ChildChange& told);
  void orphan_changed(const reconcile::ChildChange& told, const hook::ReconcileCause& cause);
  void revision_changed(const reconcile::ChildChange& told);
  void ready_changed();

  ControllerWorld world_;
  std::unique_ptr<reconcile::Resync> resync_;
  bool told_no_status_ = false;
};

}  // namespace hookd::metacontroller
