#include "rehearsal/counting_launcher.h"

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

Result<std::unique_ptr<process::Child>> CountingLauncher::start(process::ChildSpec spec,
                                                                process::ChildHandlers handlers) {
  // One that stays is at work only while it has something to do, which whoever gives it that knows.
  if (spec.keep_stdin || is_source(spec)) return real_.start(std::move(spec), std::move(handlers));
  auto count = std::make_shared<Count>(running_);
  handlers.on_exit = [on_exit = std::move(handlers.on_exit), count](process::ChildExit exit) {
    count->over();
    on_exit(std::move(exit));
  };
  HOOKD_TRY(auto child, real_.start(std::move(spec), std::move(handlers)));
  return std::make_unique<CountedChild>(std::move(child), std::move(count));
}

}  // namespace hookd::rehearsal
