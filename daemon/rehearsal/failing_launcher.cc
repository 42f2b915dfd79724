#include "rehearsal/failing_launcher.h"

namespace hookd::rehearsal {
namespace {

// Counts from its start to its exit, or to its end without one.
class Count {
 public:
  explicit Count(std::shared_ptr<size_t> running) : running_(std::move(running)) { ++*running_; }
  ~Count() { over(); }
  Count(const Count&) = delete;
  Count& operator=(const Count&) = delete;
  void over() {
    if (auto running = std::exchange(running_, nullptr)) --*running;
  }

 private:
  std::shared_ptr<size_t> running_;
};

class CountedChild final : public process::Child {
 public:
  CountedChild(std::unique_ptr<process::Child> real, std::shared_ptr<Count> count)
      : real_(std::move(real)), count_(std::move(count)) {}
  ~CountedChild() override {
    real_.reset();
    count_->over();
  }
  int pid() const override { return real_->pid(); }
  void terminate() override { real_->terminate(); }
  void more_input() override { real_->more_input(); }
  void close_input() override { real_->close_input(); }
  void pause_output() override { real_->pause_output(); }
  void resume_output() override { real_->resume_output(); }

 private:
  std::unique_ptr<process::Child> real_;
  std::shared_ptr<Count> count_;
};

// Was never started; the exit comes by post unless it is destroyed before.
class NoChild final : public process::Child {
 public:
  NoChild(Scheduler& scheduler, std::function<void(process::ChildExit)> on_exit, int code) {
    scheduler.post([alive = std::weak_ptr(alive_), on_exit = std::move(on_exit), code] {
      if (!alive.lock()) return;
      process::ChildExit exit;
      exit.code = code;
      on_exit(exit);
    });
  }
  int pid() const override { return 0; }
  void terminate() override {}
  void more_input() override {}
  void close_input() override {}
  void pause_output() override {}
  void resume_output() override {}

 private:
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

std::string hook_of(const process::ChildSpec& spec) {
  constexpr std::string_view kName = "HOOKD_HOOK=";
  for (const std::string& entry : spec.environment)
    if (entry.starts_with(kName)) return entry.substr(kName.size());
  return {};
}

// The program of a source: it is no call and stays.
bool is_source(const process::ChildSpec& spec) {
  return !hook_of(spec).empty() && !spec.keep_stdin &&
         std::ranges::none_of(spec.environment, [](const auto& entry) { return entry.starts_with("HOOKD_CALL_ID="); });
}

}  // namespace

void FailingLauncher::fail_next(const std::string& hook, int code, int times) { faults_[hook] = {code, times}; }

Result<std::unique_ptr<process::Child>> FailingLauncher::start(process::ChildSpec spec,
                                                               process::ChildHandlers handlers) {
  if (is_source(spec)) return real_.start(std::move(spec), std::move(handlers));
  // One that stays is at work only while it has something to do, which whoever gives it that knows; no call of its own
  // can fail.
  if (spec.keep_stdin) return real_.start(std::move(spec), std::move(handlers));
  if (const auto fault = faults_.find(hook_of(spec)); fault != faults_.end()) {
    const int code = fault->second.code;
    if (fault->second.times > 0 && --fault->second.times == 0) faults_.erase(fault);
    return std::make_unique<NoChild>(scheduler_, std::move(handlers.on_exit), code);
  }
  auto count = std::make_shared<Count>(running_);
  handlers.on_exit = [on_exit = std::move(handlers.on_exit), count](process::ChildExit exit) {
    count->over();
    on_exit(std::move(exit));
  };
  HOOKD_TRY(auto child, real_.start(std::move(spec), std::move(handlers)));
  return std::make_unique<CountedChild>(std::move(child), std::move(count));
}

}  // namespace hookd::rehearsal
