#include "rehearsal/play.h"

#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <set>

#include "app/folder_watch.h"
#include "app/load_hooks.h"
#include "base/fd.h"
#include "base/inotify.h"
#include "base/log.h"
#include "base/scaled_scheduler.h"
#include "base/time.h"
#include "process/posix_launcher.h"
#include "rehearsal/account.h"
#include "rehearsal/actions.h"
#include "rehearsal/controllers.h"
#include "rehearsal/manifests.h"
#include "rehearsal/test_document.h"

namespace hookd::rehearsal {
namespace {

namespace fs = std::filesystem;

constexpr Duration kLook = std::chrono::milliseconds(50);  // real time between two looks at what is waited for
// However fast time runs, processes do not: no wait is in vain before this much real time.
constexpr Duration kPatience = std::chrono::seconds(10);
constexpr int kQuietLooks = 4;                             // one after another, until it counts as the end
constexpr Duration kLastCalls = std::chrono::seconds(60);  // real time for what still runs at the end
constexpr size_t kCallsKept = 10'000;

class Play {
 public:
  explicit Play(const PlayOptions& options)
      : options_(options), account_(time_, options.colour, [this](std::string_view text) {
          const bool read = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
          if (!read) interrupted(SIGPIPE);  // SIGPIPE itself is ignored
        }) {
    recorder_.keep = kCallsKept;
  }

  int run() {
    if (auto prepared = prepare(); !prepared) {
      fmt::print(stderr, "hookd play: {}\n", prepared.error().what);
      return 2;
    }
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) signals_.add(signal);
    signals_.async_wait([this](const boost::system::error_code& error, int signal) {
      if (!error) interrupted(signal);
    });
    load();
    context_.run();
    if (world_->engine() && !world_->engine()->all_well()) code_ = std::max(code_, 1);
    folders_.reset();
    actions_.reset();
    return code_;
  }

 private:
  Result<void> prepare() {
    std::error_code error;
    if (!fs::is_directory(options_.folder, error)) return fail(Errc::kConfig, "{}: no such folder", options_.folder);
    folder_ = fs::absolute(options_.folder).lexically_normal().string();
    HOOKD_CHECK(read_scenario_file());
    HOOKD_CHECK(read_manifest_files());
    WorldOptions options;
    options.name = "hookd-play";
    options.address = fmt::format("127.0.0.1:{}", options_.port);
    options.runtime_dir = options_.runtime_dir;
    options.kubeconfig_file = options_.kubeconfig.empty()
                                  ? options_.runtime_dir + "/admin.kubeconfig"
                                  : fs::absolute(options_.kubeconfig).lexically_normal().string();
    options.load = [this] { return app::load_hook_folders({folder_}); };
    options.observer = &recorder_;
    options.sources = sources_;
    options.paths = &files_;
    if (!options_.listen.empty()) options.listen = options_.listen;
    options.metacontroller = controllers_among(manifests_, folder_);
    controllers_ = options.metacontroller.has_value();
    HOOKD_TRY(world_, World::make({time_, real_, random_, launcher_}, std::move(options)));
    actions_ = std::make_unique<Actions>(*world_, recorder_, folder_,
                                         [this](std::string_view text) { account_.output(text); });
    HOOKD_CHECK(world_->load_hooks());
    account_.follow(recorder_);
    return {};
  }

  Result<void> read_scenario_file() {
    std::string file = options_.scenario;
    if (file.empty()) {
      file = folder_ + "/scenario.yaml";
      std::error_code error;
      if (!fs::exists(file, error)) return {};
    }
    HOOKD_TRY(const std::string text, read_named_file(file, 4u << 20));
    config::Problems problems(file);
    auto scenario = read_scenario(text, fs::absolute(file).string(), problems);
    if (!problems.empty()) return fail(Errc::kConfig, "{}", problems.text());
    steps_ = std::move(scenario.steps);
    sources_ = scenario.sources;
    has_scenario_ = true;
    return {};
  }

  Result<void> read_manifest_files() {
    for (const std::string& file : options_.load_given ? options_.load : find_manifest_files(folder_)) {
      // What a step brings is not there before it.
      if (std::ranges::any_of(
              steps_, [&](const Step& step) { return std::ranges::find(step.files, file) != step.files.end(); }))
        continue;
      HOOKD_TRY(auto operations, manifests_in_file(file, apply::Verb::kApply));
      std::ranges::move(operations, std::back_inserter(manifests_));
      ++manifest_files_;
    }
    return {};
  }

  void load() {
    account_.begin();
    account_.note(fmt::format("an API server for kubectl is at {}: export KUBECONFIG={}", world_->url(),
                              world_->kubeconfig_file()));
    if (options_.speed != 1) account_.note(fmt::format("time runs {} times as fast", options_.speed));
    world_->hands().carry_out(std::move(manifests_), [this, count = manifests_.size()](Result<void> loaded) {
      if (!loaded) {
        account_.problem("not everything could be loaded:\n" + loaded.error().what);
        if (options_.load_given) return failed();
      }
      if (loaded && manifest_files_ > 0)
        account_.note(fmt::format("{} object(s) loaded from {} file(s)", count, manifest_files_));
      changes_ = world_->server().on_change([this](const embedded::StoreEvent& event) { account_.change(event); });
      start_hooks();
    });
  }

  void start_hooks() {
    world_->start_hooks();
    std::string names;
    for (const auto& [name, unit] : world_->engine()->units()) names += (names.empty() ? "" : ", ") + name;
    if (controllers_)
      names += names.empty() ? "the controllers among the objects" : ", the controllers among the objects";
    account_.note(names.empty() ? fmt::format("no hook was found in {}", folder_) : "hookd is started: " + names);
    tell_receivers();
    folders_ = std::make_unique<app::FolderWatch>(real_, std::vector{folder_}, [this] {
      account_.note("the folder changed");
      world_->engine()->reload("the hooks folder changed");
      for (const auto& error : world_->engine()->load_errors()) account_.problem(error.text());
      tell_receivers();
    });
    next_step();
  }

  // Each path once, also after a reload.
  void tell_receivers() {
    for (const auto& [hook, source] : world_->receivers())
      if (told_paths_.insert(source->http).second)
        account_.note(fmt::format("{} of {} takes POSTs at {}{}{}", source->name, hook->name, world_->post_url(),
                                  source->http, secret_text(*source)));
  }

  std::string secret_text(const hook::SourceBinding& source) const {
    if (source.check == hook::SourceBinding::Check::kNone) return "";
    const auto& from = source.secret_from;
    if (from.file.empty())
      return fmt::format("; its secret is in the Secret {}/{}, key {}", from.ns, from.name, from.key);
    if (from.file.starts_with(options_.runtime_dir + "/"))
      return fmt::format("; the file of its secret is not here, so the secret is \"{}\"", kRehearsalSecret);
    return "; its secret is in " + from.file;
  }

  void next_step() {
    if (at_ == steps_.size()) return over();
    const Step& step = steps_[at_++];
    if (step.kind == Step::Kind::kSay)
      account_.say(step.text);
    else
      account_.step(step.describe());
    if (step.kind == Step::Kind::kWait) return begin_wait(step);
    actions_->carry_out(step, [this, &step](Result<void> done) {
      if (done) return next_step();
      account_.problem(fmt::format("{}: {}", step.name, done.error().what));
      failed();
    });
  }

  void begin_wait(const Step& step) {
    wait_until_ = time_.now() + (step.wait.what == WaitFor::What::kTime ? step.wait.time : step.wait.timeout);
    patience_until_ = real_.now() + std::min(step.wait.timeout, kPatience);
    quiet_looks_ = 0;
    if (step.wait.what == WaitFor::What::kTime)
      timer_ = time_.at(wait_until_, [this] { next_step(); });
    else
      look(step);
  }

  void look(const Step& step) {
    actions_->holds(step.wait, [this, &step](Result<bool> holds) {
      if (!holds) {
        account_.problem("wait: " + holds.error().what);
        return failed();
      }
      // Changes may be on their way yet: quiet once is not idle.
      quiet_looks_ = *holds ? quiet_looks_ + 1 : 0;
      if (quiet_looks_ >= (step.wait.what == WaitFor::What::kIdle ? kQuietLooks : 1)) return next_step();
      if (time_.now() >= wait_until_ && real_.now() >= patience_until_) {
        account_.problem("waited in vain: " + step.describe());
        return failed();
      }
      look_timer_ = real_.after(kLook, [this, &step] { look(step); });
    });
  }

  // Without `exit` this is how it always ends; with it, something was still to come.
  void interrupted(int signal) {
    if (options_.exit) code_ = 128 + signal;
    context_.stop();
  }

  // The rest of the scenario would build on what did not happen.
  void failed() {
    code_ = 1;
    at_ = steps_.size();
    over();
  }

  void over() {
    if (!options_.exit) {
      if (has_scenario_) account_.say("The scenario is over.");
      account_.note(
          fmt::format("the server stays until Ctrl-C: kubectl --kubeconfig {} get all -A", world_->kubeconfig_file()));
      return;
    }
    if (code_ != 0 || !world_->engine()) return context_.stop();
    quiet_looks_ = 0;
    exit_by_ = real_.now() + kLastCalls;
    look_for_end();
  }

  void look_for_end() {
    quiet_looks_ = world_->engine()->quiet() ? quiet_looks_ + 1 : 0;
    if (quiet_looks_ >= kQuietLooks) return context_.stop();
    if (real_.now() >= exit_by_) {
      account_.problem(
          fmt::format("calls still run {} after the end, not waiting any longer", format_duration(kLastCalls)));
      code_ = 1;
      return context_.stop();
    }
    look_timer_ = real_.after(kLook, [this] { look_for_end(); });
  }

  const PlayOptions& options_;
  std::string folder_;
  boost::asio::io_context context_{1};
  AsioScheduler real_{context_};
  Inotify files_{real_};
  ScaledScheduler time_{context_, options_.speed};
  process::PosixLauncher posix_{real_};
  CountingLauncher launcher_{posix_};
  SystemRandom random_;
  Recorder recorder_;
  Account account_;
  std::vector<apply::Operation> manifests_;
  size_t manifest_files_ = 0;
  std::vector<Step> steps_;
  size_t at_ = 0;
  bool has_scenario_ = false;
  bool sources_ = true;
  std::set<std::string> told_paths_;
  bool controllers_ = false;  // of Metacontroller are among the manifests
  std::unique_ptr<World> world_;
  embedded::Store::Subscription changes_;
  std::unique_ptr<Actions> actions_;
  std::unique_ptr<app::FolderWatch> folders_;
  boost::asio::signal_set signals_{context_};
  Timer timer_, look_timer_;
  SteadyTime wait_until_{}, patience_until_{}, exit_by_{};
  int quiet_looks_ = 0;
  int code_ = 0;
};

}  // namespace

int play(const PlayOptions& options) { return Play(options).run(); }

}  // namespace hookd::rehearsal
