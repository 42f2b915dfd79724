// One sync of one parent, in the order of controllers.md 1.4. Thread: loop only.
//
//   own writes seen ─► parent ─► finalizer ─► claim ─► customize ─► hook, once or for each revision
//     ─► finalized: finalizer goes ─► children wanted, labels checked ─► roll-out, revisions
//     ─► children: deletes, then makes and updates ─► status (labels, annotations) of the parent, whatever became of
//     them
//
// A DecoratorController's parent is written before its attachments. What fails is a Warning Event SyncError on the
// parent and tried again with back-off; a conflict only means that news is on its way, a hook that answers 429 is asked
// again when it said: both without an Event.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compat/metacontroller/child_writes.h"
#include "compat/metacontroller/claim.h"
#include "compat/metacontroller/controller_world.h"
#include "compat/metacontroller/desired.h"
#include "compat/metacontroller/request.h"
#include "compat/metacontroller/response.h"
#include "compat/metacontroller/revisions.h"
#include "hook/reconciler.h"

namespace hookd::metacontroller {

class ControllerPass final : public hook::Pass {
 public:
  ControllerPass(ControllerWorld& world, std::string key, hook::Event event, hook::PassContext context);
  ~ControllerPass() override;

  Step next() override;
  void replied(hook::Reply reply) override;
  void written(const std::vector<apply::Operation>& operations, const std::vector<apply::Outcome>& outcomes) override;
  std::vector<std::string> messages() const override { return messages_; }

  static constexpr Duration kRelatedPatience = std::chrono::seconds(30);
  static constexpr size_t kToldErrors = 5;    // of children, in one Event
  static constexpr size_t kDecorated = 1000;  // labels and annotations of hooks that are remembered of a parent

 private:
  enum class At {
    kBegin,
    kFinalizer,
    kClaim,
    kAdopt,
    kObserve,
    kCustomize,
    kRelated,
    kAsk,
    kFinalized,
    kResolve,
    kWant,
    kParentFirst,
    kRemove,
    kProbe,
    kWrite,
    kStatus,
    kEnd,
  };
  using Maybe = std::optional<Step>;  // nullopt = on to at_

  // controller_pass.cc: until the hook is asked
  Maybe begin();
  Maybe finalizer();
  Maybe claim_children();
  Maybe adopt();
  std::vector<cache::ObjectPtr> lost_revisions() const;
  Maybe observe();

  // controller_pass_hook.cc
  Maybe customize();
  Maybe related();
  Maybe ask();
  void answered_customize(std::string_view text);
  void answered_sync(std::string_view text);
  Step ask_hook(HookRole role, size_t revision);
  std::vector<ObjectsOfKind> children_of_request() const;
  bool reads_finalize() const;
  bool rolls() const;
  bool list_revisions();  // false = the pass is over

  // controller_pass_write.cc: what is made of the answer
  Maybe finalized();
  Maybe resolve();
  Maybe want();
  Maybe roll_out(std::vector<std::vector<Wanted>> wanted);
  Maybe parent_first();
  Maybe removals();
  Maybe probes();
  Maybe writes();
  Maybe status();
  Step end();
  bool manages_children() const;
  std::optional<ChildKind> kind_of(const DesiredObject& child) const;
  Result<std::optional<Value>> wanted_status() const;
  Maybe write_parent();
  Maybe write_children(std::vector<ChildWrite> writes, At then);
  void child_written(const ChildWrite& write, const apply::Outcome& outcome);
  void repeated(const std::string& child, std::string_view before, std::string_view after);
  uint64_t because() const;

  // What every step needs.
  Step write(std::vector<apply::Operation> operations, At then,
             std::function<void(size_t, const apply::Outcome&)> each);
  Step over(hook::Pass::Over over) {
    world_.slow.ended(key_, parent_);  // what it puts there itself is no reason_of() it
    return over_ = std::move(over), Step(over_.value());
  }
  Step failed(std::string why, std::string result = "failed");  // with an Event
  Step later(std::string why);                                  // without
  void parent_is(const apply::Outcome& outcome);
  void remember(const kube::ResourceType& type, const cache::ObjectPtr& known, const apply::Operation& operation,
                const apply::Outcome& outcome);
  cache::ObjectPtr object_of(const apply::Outcome& outcome, const cache::Identity& identity) const;

  ControllerWorld& world_;
  const ControllerSpec& spec_;
  const std::string key_;
  const hook::Event event_;
  const hook::PassContext context_;
  At at_ = At::kBegin;
  std::optional<Over> over_;

  const ControllerWorld::Parents* of_ = nullptr;
  std::shared_ptr<const kube::ResourceType> type_;
  cache::ObjectPtr parent_;  // as the watch showed it
  std::string text_;         // as it is now, after our own writes
  bool matches_ = true;      // the controller's selectors
  bool ending_ = false;
  bool has_finalizer_ = false;
  bool gone_ = false;  // it went while the pass ran

  std::optional<cache::LabelSelector> selector_;  // CompositeController
  struct Claiming {
    const ControllerWorld::Children* of;
    std::vector<cache::ObjectPtr> children, adopt, release;
  };
  std::vector<Claiming> claiming_;
  // ControllerRevisions that nobody controls and that are this parent's; those that were adopted.
  std::vector<cache::ObjectPtr> adopt_revisions_, adopted_revisions_;
  std::unique_ptr<kube::ApiCall> call_;  // the uncached look at the parent
  std::optional<Result<kube::ApiResponse>> looked_;
  std::vector<ObservedChild> observed_;

  HookRole asked_ = HookRole::kSync;
  std::vector<Revision> revisions_;   // newest first; empty: nothing rolls
  std::vector<std::string> parents_;  // what the hook is asked about: the parent, or it as of each revision
  std::vector<SyncAnswer> answers_;
  std::vector<std::string> messages_;
  Timer patience_;
  bool waited_ = false;  // patience_ ran out
  size_t resolving_ = 0;
  bool resolved_ = false;

  std::vector<Wanted> wanted_;
  std::optional<RollOut> roll_out_;
  ChildWrites plan_;
  std::vector<std::string> errors_;
  bool conflict_ = false;
  bool wrote_ = false;
  std::function<void(size_t, const apply::Outcome&)> each_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hookd::metacontroller
