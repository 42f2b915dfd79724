// The reconciler of a native hook: what happens in the world becomes keys on the hook's queue, and each run of a key is
// a NativePass. Thread: loop only. Source: product.md section 6.
//
//   what changes                  calls                                  cause (hook::ReconcileCause)
//   a parent                      itself                                 for, Added | Modified | Deleted
//   the start                     every parent                           start, Start
//   a child                       its controller, and the one it had     children, Added | Modified | Deleted
//   a foreign object in the way   whose child it keeps from being made   children, …
//   a related object              whose it is, and whose it was          the rule's name, …
//   an event of a source          whom `map` names, or all               the source's name, Source
//   time                          everybody, spread out (`resync`)       resync, Resync; requeue, Requeue
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hook/reconciler.h"
#include "reconcile/native_shared.h"
#include "reconcile/resync.h"
#include "reconcile/source_keys.h"

namespace hookd::reconcile {

class NativeReconciler final : public hook::Reconciler {
 public:
  NativeReconciler(std::shared_ptr<const hook::Hook> hook, hook::ReconcilerServices services);
  ~NativeReconciler() override;

  void start() override;
  void stop() override;
  bool ready() const override { return shared_.ready(); }
  bool idle() const override;
  std::unique_ptr<hook::Pass> begin(const std::string& key, const hook::Event& event,
                                    hook::PassContext context) override;
  std::vector<std::shared_ptr<kube::Informer>> informers() const override;
  std::vector<Look> looks() const override;
  std::vector<std::string> troubles() const override;
  std::vector<std::string> waits() const override;
  void source_event(const hook::Event& event) override;
  std::vector<hook::Event> hand_over() override;
  std::optional<hook::Snapshot> snapshot(const std::string& name) const override;

  static constexpr size_t kTroubles = 16;    // told at most
  static constexpr size_t kStartSlice = 20;  // parents of the first list in one turn of the loop
  static constexpr size_t kWaveSlice = 500;  // parents that are all called by one thing, likewise: about a millisecond

 private:
  void parent_touched(const cache::Object& parent, std::string_view type, cache::ObjectPtr gone, bool background);
  void parent_seen(const cache::Object& parent, std::string_view text);
  void child_changed(const ChildIndex& index, const ChildChange& change);
  void related_touched(const hook::RelatedRule& rule, const RelatedIndex& index, const RelatedIndex::Touch& touch);
  void ready_changed();
  void start_some();
  bool has_child(std::string_view name) const;
  void call_all(hook::Event event);
  void call_some();
  void call_for_source(const hook::Event& event);
  void emit(const std::string& key, hook::ReconcileCause cause, bool background = false);

  NativeShared shared_;
  // The first list: held until all kinds are known; those at rest before the restart stand behind the others.
  std::deque<std::string> starting_, rested_;
  bool start_posted_ = false, swept_ = false;
  Resync resync_;
  std::deque<hook::Event> early_;  // of sources, before the parents are known; their tickets hold the sources back
  SourceKeys source_keys_{shared_.hook->name};
  struct Wave {  // what calls every parent, and how far it came
    std::vector<hook::Event> events;
    std::string after;
    bool begun = false;
  };
  std::deque<Wave> waves_;
  uint64_t map_errors_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hookd::reconcile
