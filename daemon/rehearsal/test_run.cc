#include "rehearsal/test_run.h"

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <unordered_map>

#include "app/load_hooks.h"
#include "base/log.h"
#include "base/time.h"
#include "base/virtual_scheduler.h"
#include "process/posix_launcher.h"
#include "rehearsal/actions.h"
#include "rehearsal/controllers.h"
#include "rehearsal/expectation.h"
#include "rehearsal/test_update.h"
#include "rehearsal/world.h"

namespace hookd::rehearsal {
namespace {

constexpr size_t kMostLog = 4u << 20;
// A step of ours may need a little time on the server (a conflict is tried again): that much is given to it.
constexpr Duration kPatience = std::chrono::seconds(10);
constexpr Duration kPatienceStep = std::chrono::milliseconds(100);
// A source with `reply: handled` answers when the call succeeded; its replyTimeout is 10 minutes at most.
constexpr Duration kPostPatience = std::chrono::minutes(11);
constexpr Duration kSocketLook = std::chrono::milliseconds(2);  // real time; its answer comes over a socket
constexpr Duration kWaitStep = std::chrono::milliseconds(250);

class LogTap {
 public:
  LogTap() {
    log::set_tap([this](log::Level, std::string_view line) {
      if (text.size() > kMostLog) return;
      text += line;
      if (!line.ends_with('\n')) text += '\n';
    });
  }
  ~LogTap() { log::set_tap({}); }
  LogTap(const LogTap&) = delete;
  LogTap& operator=(const LogTap&) = delete;
  std::string text;
};

class Rehearsal {
 public:
  Rehearsal(const TestDocument& test, const TestOptions& options)
      : test_(test),
        options_(options),
        real_(context_),
        posix_(real_),
        time_(
            context_,
            [this] {
              return launcher_.running() > 0 || (world_ && (world_->url_calls() > 0 || world_->worker_calls() > 0));
            },
            test.now),
        launcher_(posix_) {}

  TestResult run() {
    const auto started = std::chrono::steady_clock::now();
    signals_.async_wait([this](const boost::system::error_code& error, int) {
      if (!error) time_.give_up();
    });
    deadline_ = real_.after(test_.timeout, [this] {
      too_long_ = true;
      time_.give_up();
    });
    if (prepare()) steps();
    if (too_long_) {
      failed(at_, fmt::format("took longer than {} of real time (`timeout`); it was at this step",
                              format_duration(test_.timeout)));
    } else if (time_.loops()) {
      failed(at_, "something goes on without end although time stands still; it was at this step");
    }
    std::unordered_map<std::string_view, std::vector<OperationRecord>> operations;
    for (const OperationRecord& operation : recorder_.operations()) operations[operation.call].push_back(operation);
    for (const CallRecord& call : recorder_.calls()) result_.calls += call_text(call, operations[call.id], "");
    actions_.reset();
    world_.reset();
    result_.log = std::move(log_.text);
    result_.real = std::chrono::steady_clock::now() - started;
    return std::move(result_);
  }

 private:
  void failed(config::Position at, std::string text) {
    if (result_.status == TestResult::Status::kPassed) result_.status = TestResult::Status::kFailed;
    result_.failures.push_back({at, std::move(text)});
  }
  bool broken(config::Position at, std::string text) {
    result_.status = TestResult::Status::kBroken;
    result_.failures.push_back({at, std::move(text)});
    return false;
  }

  bool prepare() {
    at_ = test_.at;
    WorldOptions options;
    options.runtime_dir = options_.runtime_dir;
    options.kubeconfig_file = options_.runtime_dir + "/admin.kubeconfig";
    options.load = [this] { return app::load_hooks(test_.hooks); };
    options.observer = &recorder_;
    options.metacontroller = controllers_among(test_.given, test_.folder);
    const bool controllers = options.metacontroller.has_value();
    auto world = World::make({time_, real_, random_, launcher_}, std::move(options));
    if (!world) return broken(test_.at, world.error().what);
    world_ = *std::move(world);
    actions_ = std::make_unique<Actions>(*world_, recorder_, test_.folder,
                                         [this](std::string_view text) { log_.text += text; });
    if (auto loaded = world_->load_hooks(); !loaded) return broken(test_.at, loaded.error().what);
    if (world_->engine()->none_found() && !controllers)
      return broken(test_.at, fmt::format("no hook was found in {}; `hooks: [..]` tells where they are",
                                          fmt::join(test_.hooks, ", ")));
    Step given;
    given.kind = Step::Kind::kObjects;
    given.operations = test_.given;
    if (auto done = carry_out(given); !done) {
      failed(test_.given_at, "given: " + done.error().what);
      return false;
    }
    world_->start_hooks();
    time_.settle();
    return !time_.given_up();
  }

  void steps() {
    for (const Step& step : test_.steps) {
      if (time_.given_up()) return;
      at_ = step.at;
      log::debug("step: " + step.describe());
      switch (step.kind) {
        case Step::Kind::kAdvance:
          time_.advance(step.time);
          break;
        case Step::Kind::kWait:
          wait(step);
          break;
        case Step::Kind::kExpect:
          expect(step.expect);
          break;
        default:
          if (auto done = carry_out(step); !done && !time_.given_up()) {
            failed(step.at, fmt::format("{}: {}", step.name, done.error().what));
            return;
          }
      }
    }
  }

  // Time goes on only where the server needs it.
  template <class T>
  std::optional<T> until_there(const std::function<void(std::function<void(T)>)>& begin,
                               Duration patience = kPatience) {
    auto slot = std::make_shared<std::optional<T>>();
    begin([slot](T value) { slot->emplace(std::move(value)); });
    time_.settle();
    for (Duration waited{}; !*slot && waited < patience && !time_.given_up(); waited += kPatienceStep) {
      time_.advance(kPatienceStep);
      if (!*slot && patience > kPatience) time_.settle_with_sockets(kSocketLook);
    }
    return std::move(*slot);
  }

  Result<void> carry_out(const Step& step) {
    auto done = until_there<Result<void>>(
        [&](std::function<void(Result<void>)> tell) { actions_->carry_out(step, std::move(tell)); },
        step.kind == Step::Kind::kPost ? kPostPatience : kPatience);
    return done ? *std::move(done) : fail(Errc::kTimeout, "there is no answer");
  }

  void wait(const Step& step) {
    if (step.wait.what == WaitFor::What::kTime) return time_.advance(step.wait.time);
    for (Duration waited{};; waited += kWaitStep) {
      auto holds = until_there<Result<bool>>(
          [&](std::function<void(Result<bool>)> tell) { actions_->holds(step.wait, std::move(tell)); });
      if (time_.given_up()) return;
      if (!holds) return failed(step.at, "wait: the API server does not answer");
      if (!*holds) return failed(step.at, "wait: " + holds->error().what);
      if (**holds) return;
      if (waited >= step.wait.timeout) return failed(step.at, "in vain: " + step.describe());
      time_.advance(kWaitStep);
    }
  }

  void expect(const Expectation& expectation) {
    time_.settle();
    Seen seen;
    const auto& calls = recorder_.calls();
    for (size_t i = calls_from_; i < calls.size(); ++i)
      if (!calls[i].only_operations) seen.calls.push_back(calls[i]);
    const auto& operations = recorder_.operations();
    seen.operations.assign(operations.begin() + static_cast<std::ptrdiff_t>(operations_from_), operations.end());
    seen.log = log_.text.substr(log_from_);
    calls_from_ = calls.size();
    operations_from_ = operations.size();
    log_from_ = log_.text.size();
    for (const KindName& kind : kinds_needed(expectation)) {
      auto objects = until_there<Result<Hands::Objects>>([&](std::function<void(Result<Hands::Objects>)> tell) {
        world_->hands().list(kind.first, kind.second, std::move(tell));
      });
      seen.objects.emplace(kind,
                           objects ? *std::move(objects) : fail(Errc::kTimeout, "the API server does not answer"));
    }
    if (time_.given_up()) return;
    auto missed = unmet(expectation, seen);
    const bool empty = options_.update && is_empty(expectation);
    if (missed.empty() && !empty) return;
    if (empty) failed(expectation.at, "expects nothing yet");
    for (Unmet& one : missed) failed(one.at, std::move(one.text));
    // A kind that cannot be looked up is a mistake in the test, which would be gone with it.
    const bool all_seen = std::ranges::all_of(seen.objects, [](const auto& kind) { return kind.second.has_value(); });
    if (options_.update && all_seen)
      result_.updates.push_back({expectation.at, expectation_as_seen(expectation, seen)});
  }

  const TestDocument& test_;
  const TestOptions& options_;
  TestResult result_;
  LogTap log_;
  boost::asio::io_context context_{1};
  // What ended the suite ends its tests: their hooks with them, nothing stays behind.
  boost::asio::signal_set signals_{context_, SIGTERM};
  AsioScheduler real_;
  process::PosixLauncher posix_;
  VirtualScheduler time_;
  CountingLauncher launcher_;
  SeededRandom random_;
  Recorder recorder_;
  std::unique_ptr<World> world_;
  std::unique_ptr<Actions> actions_;
  Timer deadline_;
  config::Position at_;
  size_t calls_from_ = 0, operations_from_ = 0, log_from_ = 0;
  bool too_long_ = false;
};

}  // namespace

TestResult run_test(const TestDocument& test, const TestOptions& options) { return Rehearsal(test, options).run(); }

}  // namespace hookd::rehearsal
