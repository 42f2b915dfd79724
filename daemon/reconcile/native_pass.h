// One run of one key of a native hook. Thread: loop only. Source: product.md section 6; its README draws it.
//
//   own writes seen ─► parent ─► finalizer ─► call ─► removals ─► creates, updates ─► operations ─► status ─► finalizer
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hook/reconciler.h"
#include "reconcile/native_answer.h"
#include "reconcile/native_body.h"
#include "reconcile/native_shared.h"

namespace hookd::reconcile {

class NativePass final : public hook::Pass {
 public:
  NativePass(NativeShared& shared, std::string key, hook::Event event, hook::PassContext context);

  Step next() override;
  void replied(hook::Reply reply) override;
  void written(const std::vector<apply::Operation>& operations, const std::vector<apply::Outcome>& outcomes) override;
  std::vector<std::string> messages() const override;

  // A server that does not serve a kind any more: looked at again by the queue's gate, at the earliest then.
  static constexpr Duration kNotReady = std::chrono::seconds(1);
  static constexpr size_t kTextLines = 20;   // of text outside documents, in the log
  static constexpr size_t kWhy = 3;          // problems that are spelt out at the end
  static constexpr int kTriesForHidden = 3;  // before a child's name counts as taken by an object that is not followed
  static constexpr int kTriesToTell = 3;     // that failed, before an Event tells of it

 private:
  enum class At {
    kSlow,
    kSettle,
    kLook,
    kFinalizer,
    kAsk,
    kPlan,
    kRemove,
    kWrite,
    kOperate,
    kStatus,
    kRelease,
    kEnd,
    kOver
  };
  using Maybe = std::optional<Step>;  // nullopt = on to the next

  // native_pass.cc: what comes before the call, and the end
  Maybe wait_if_slow();
  Maybe settle();
  Maybe look();
  Maybe finalizer();
  Maybe ask();
  Over not_asked(const std::string& why);
  Step end();
  Over over(Over over);
  void gather();
  uint64_t because();
  struct Seen {
    const Gathered::Group* group = nullptr;
    cache::ObjectPtr object;  // null = the hook was not told of it
  };
  Seen seen_in(const std::vector<Gathered::Group>& groups, const apply::Operation& operation) const;
  cache::ObjectPtr seen_child(const apply::Operation& operation) const {
    return seen_in(world_->children, operation).object;
  }
  bool changed_nothing(const std::vector<apply::Operation>& operations,
                       const std::vector<apply::Outcome>& outcomes) const;
  std::shared_ptr<const hook::Call> make_call() const;
  std::vector<ChildKind> kinds() const;

  // native_pass_answer.cc: what comes after it
  Maybe plan();
  bool is_as_called() const;
  std::vector<Observed> observed() const;
  void plan_children(const std::vector<Desired>& desired);
  Maybe remove_children();
  Maybe write_children();
  Maybe operate();
  Maybe write_status();
  Maybe release();
  bool is_hidden(const apply::Operation& operation, const apply::Outcome& outcome) const;
  void child_written(const apply::Operation& operation, const apply::Outcome& outcome);
  void operated(const apply::Operation& operation, const apply::Outcome& outcome);
  void comes_back(const apply::Operation& operation, const apply::Outcome& outcome, std::string_view parent_before);
  void status_written(const apply::Outcome& outcome);
  void finalizer_written(const apply::Operation& operation, const apply::Outcome& outcome);
  void note(const apply::Operation& operation, const apply::Outcome& outcome, std::string_view reason);
  void remember_version(const apply::Operation& operation, const apply::Outcome& outcome);
  void repeated(const std::string& object, std::string_view before, std::string_view after);
  void parent_is(const apply::Outcome& outcome);
  void warn(std::string_view reason, std::string message, bool whatever = false);

  NativeShared& shared_;
  const std::string key_;
  const hook::Event event_;
  const hook::PassContext context_;
  At at_ = At::kSlow;
  At writing_ = At::kOver;  // which step's Write is open
  bool finalizer_looked_ = false;

  std::shared_ptr<Gathered> world_;  // what the hook is called with
  std::string parent_text_;          // its newest text: the watch's, or what a write of this pass came to
  std::string left_;                 // as an operation of the hook left it, "" = none was about it
  bool leaving_ = false;             // it is being deleted, or does not match any more
  bool manage_ = true;               // are children made, changed and deleted?
  std::string digest_;               // of what it is called with
  std::optional<uint64_t> because_;
  bool wrote_ = false;  // anything but the status, which calls nobody
  bool rests_ = true;   // nothing is waited for that its digest does not tell of
  std::shared_ptr<const hook::Call> call_;
  std::optional<hook::Reply> reply_;

  std::optional<NativeAnswer> answer_;
  ChildPlan plan_;
  std::vector<apply::Operation> operations_;  // the hook's own, that are still to be done
  std::optional<Duration> requeue_after_;
  std::vector<std::string> messages_;

  std::vector<std::string> problems_;
  std::string result_ = "failed";  // label, if there are problems
  std::string lasting_;            // the first of them that does not pass by itself, "" = none
  Duration at_least_{0};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hookd::reconcile
