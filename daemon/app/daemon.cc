#include "app/daemon.h"

#include <csignal>

#include "app/isolation.h"
#include "app/load_hooks.h"
#include "base/log.h"
#include "base/log_room.h"
#include "base/time.h"
#include "cache/label_selector.h"
#include "hook/environment.h"

namespace hookd::app {
namespace {

constexpr Duration kHeartbeat = std::chrono::milliseconds(100);
constexpr Duration kLagWindow = std::chrono::minutes(1);
constexpr Duration kStopPoll = std::chrono::milliseconds(50);
constexpr Duration kSameSignal = std::chrono::seconds(1);
constexpr Duration kLastMoment = std::chrono::seconds(2);
constexpr Duration kOnceUnknown = std::chrono::seconds(60);

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::make(config::DaemonConfig config, ConfigSource source) {
  if (config.hooks.empty() && !config.metacontroller.enabled)
    return fail(Errc::kConfig, "no hooks folder: give --hooks DIR (or `hooks:` in the config file, or HOOKD_HOOKS)");
  if (auto selector = cache::LabelSelector::parse(config.metacontroller.target_label_selector); !selector)
    return fail(selector.error().with("metacontroller.targetLabelSelector"));
  kube::LoadOptions options;
  options.explicit_path = config.kubeconfig;
  options.context = config.context;
  HOOKD_TRY(auto connection, kube::load_connection(options));
  if (!config.kube.compression) connection.disable_compression = true;
  HOOKD_TRY(auto runtime, RuntimeDir::make());
  std::unique_ptr<Daemon> daemon(
      new Daemon(std::move(config), std::move(source), std::move(connection), std::move(runtime)));
  HOOKD_CHECK(daemon->open());
  return daemon;
}

Daemon::Daemon(config::DaemonConfig config, ConfigSource source, kube::ConnectionConfig connection, RuntimeDir runtime)
    : config_(std::move(config)),
      source_(std::move(source)),
      server_description_(connection.describe()),
      runtime_(std::move(runtime)),
      transport_(scheduler_),
      launcher_(scheduler_),
      reaper_(scheduler_, [this](int pid) { return launcher_.owns(pid); }),
      engine_({scheduler_, random_, transport_, launcher_, metrics_, state_.store(),
               config_.listen.empty() ? nullptr : &routes_, &files_},
              connection, engine_options()) {
  started_ = scheduler_.now();
  log::info("hookd " HOOKD_VERSION " starts",
            {{"server", server_description_}, {"dryRun", config_.dry_run}, {"once", config_.once}});
  if (config_.dry_run)
    log::warn("a dry run holds back what hooks answer, not what their programs do themselves, with kubectl say");
}

EngineOptions Daemon::engine_options() {
  EngineOptions options;
  options.strict = config_.strict;
  options.dry_run = config_.dry_run;
  options.once = config_.once;
  options.concurrency = config_.concurrency;
  options.answer_limit_bytes = config_.answer_limit_bytes;
  options.kube = config_.kube;
  options.runtime_dir = runtime_.path();
  options.load = [this] { return load_hook_folders(config_.hooks); };
  options.observer = &observers_;
  options.environment = hook::own_environment();
  if (const auto& config = config_.metacontroller; config.enabled)
    options.metacontroller = metacontroller::ControllersOptions{{config.server_side_apply, config.ssa_field_manager},
                                                                config.target_label_selector,
                                                                config.workers,
                                                                config.exec_folder,
                                                                config.built_in_parents,
                                                                config.guard};
  return options;
}

Daemon::~Daemon() { state_.close(); }

Result<void> Daemon::open() {
  HOOKD_CHECK(isolate_hooks(launcher_, config_.cgroup));
  HOOKD_CHECK(state_.open());
  HOOKD_CHECK(engine_.load());
  if (engine_.none_found() && !config_.metacontroller.enabled)
    log::warn("no hook was found", {{"folders", fmt::format("{}", fmt::join(config_.hooks, ", "))}});
  engine_.refresh_kubeconfig();
  if (!config_.listen.empty()) {
    HOOKD_TRY(server_, net::HttpServer::listen(
                           scheduler_, config_.listen,
                           [this](net::ServerRequest request, net::Responder respond) { serve(request, respond); }));
    log::info("serving /metrics, /healthz and /readyz", {{"port", int64_t{server_->port()}}});
  }
  metrics_.set("hookd_build_info", {{"version", HOOKD_VERSION}}, 1);
  metrics_.on_collect([this] { update_gauges(); });
  signals_.add(SIGTERM);
  signals_.add(SIGINT);
  signals_.add(SIGHUP);
  wait_for_signal();
  watch_folders();
  watch_config();
  return {};
}

void Daemon::start() {
  beat_due_ = scheduler_.now();
  beat();
  if (config_.once)  // until start_hooks() looks by itself
    idle_timer_ = scheduler_.after(kOnceUnknown, [this] {
      log::error("what hooks kept cannot be read, nothing was done (--once)",
                 {{"error", state_.trouble().value_or("")}});
      exit_code_ = 1;
      begin_stop("the state is not known (--once)");
    });
  state_.start(engine_.api(), [this] { start_hooks(); });
}

void Daemon::start_hooks() {
  if (stopping_) return;
  engine_.start();
  if (config_.once) check_idle();
}

int Daemon::run() {
  watchdog_.start();
  start();
  context_.run();
  log::info("hookd stops", {{"exit", exit_code_}});
  return exit_code_;
}

void Daemon::wait_for_signal() {
  signals_.async_wait([this](const boost::system::error_code& error, int signal) {
    if (error) return;
    if (signal == SIGHUP)
      reload("SIGHUP");
    else
      begin_stop(signal == SIGTERM ? "SIGTERM" : "SIGINT");
    wait_for_signal();
  });
}

void Daemon::begin_stop(std::string_view why) {
  if (std::exchange(stopping_, true)) {
    // `timeout` and terminals tell the process and its group: that is one wish, not two.
    if (scheduler_.now() - stop_asked_ < kSameSignal) return;
    log::warn("stopped again: not waiting for running calls", {{"signal", why}});
    engine_.terminate();
    context_.stop();
    return;
  }
  stop_asked_ = scheduler_.now();
  engine_.stop();
  folders_.reset();
  config_watch_.reset();
  log::info("stopping", {{"why", why}, {"running", engine_.running()}, {"grace", format_duration(config_.grace)}});
  stop_deadline_ = scheduler_.now() + config_.grace;
  stop_at_last_ = stop_deadline_ + engine_.longest_grace() + kLastMoment;
  check_stopped();
}

void Daemon::check_stopped() {
  const SteadyTime now = scheduler_.now();
  const size_t running = engine_.running();
  // Kubernetes Events are sent in the background: they get what is left of the grace period.
  const bool events_sent = engine_.events_waiting() == 0 || now >= stop_deadline_;
  if (running == 0) state_.store().flush();
  const bool kept = state_.store().settled() || now >= stop_deadline_;
  if (running == 0 && events_sent && kept) return context_.stop();
  if (now >= stop_at_last_) {
    log::error("calls still run or apply their answers, not waiting any longer", {{"running", running}});
    return context_.stop();
  }
  if (running > 0 && now >= stop_deadline_ && !std::exchange(terminated_, true)) {
    log::warn("calls still run after the grace period, ending them", {{"running", running}});
    engine_.terminate();
  }
  stop_timer_ = scheduler_.after(kStopPoll, [this] { check_stopped(); });
}

void Daemon::check_idle() {
  if (stopping_) return;
  const auto idle = engine_.look_idle();
  if (idle == Engine::Idle::kNo) {
    idle_timer_ = scheduler_.after(kStopPoll, [this] { check_idle(); });
    return;
  }
  const bool nothing_more = idle == Engine::Idle::kNothingMore;
  if (nothing_more) engine_.log_troubles();
  if (nothing_more || !engine_.all_well()) exit_code_ = 1;
  begin_stop(nothing_more ? "nothing more can be done (--once)" : "everything is done (--once)");
}

void Daemon::beat() {
  watchdog_.beat();
  const SteadyTime now = scheduler_.now();
  metrics_.observe("hookd_loop_lag_seconds", {}, std::max(0.0, std::chrono::duration<double>(now - beat_due_).count()));
  if (now - lag_since_ > kLagWindow) {
    lag_since_ = now;
    lag_worst_before_ = std::exchange(lag_worst_, Duration::zero());
  }
  lag_worst_ = std::max(lag_worst_, now - beat_due_);
  engine_.refresh_kubeconfig();
  if (const uint64_t lost = log::tell_lost(); lost > 0)
    metrics_.count("hookd_log_lines_lost_total", {}, static_cast<double>(lost));
  if (!was_ready_ && health().ready) {
    was_ready_ = true;
    log::info("ready", {{"hooks", engine_.units().size()}, {"after", format_duration(now - started_)}});
  }
  beat_due_ = now + kHeartbeat;
  heartbeat_ = scheduler_.at(beat_due_, [this] { beat(); });
}

}  // namespace hookd::app
