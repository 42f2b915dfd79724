#include "app/daemon.h"

#include <unistd.h>

#include <csignal>

#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"
#include "hook/environment.h"
#include "kube/hook_kubeconfig.h"
#include "trigger/cron.h"

namespace hookd::app {
namespace {

constexpr Duration kHeartbeat = std::chrono::milliseconds(100);
constexpr Duration kStopPoll = std::chrono::milliseconds(50);
constexpr Duration kKubeconfigRetry = std::chrono::seconds(10);
constexpr Duration kSameSignal = std::chrono::seconds(1);
constexpr Duration kLastMoment = std::chrono::seconds(2);
constexpr Duration kOnceUnready = std::chrono::seconds(60);

void log_load_errors(const std::vector<hook::LoadError>& errors) {
  for (const auto& error : errors) log::error("broken hook: " + error.text());
}

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::make(config::DaemonConfig config) {
  if (config.hooks.empty())
    return fail(Errc::kConfig, "no hooks folder: give --hooks DIR (or `hooks:` in the config file, or HOOKD_HOOKS)");
  kube::LoadOptions options;
  options.explicit_path = config.kubeconfig;
  options.context = config.context;
  HOOKD_TRY(auto connection, kube::load_connection(options));
  if (!config.kube.compression) connection.disable_compression = true;
  HOOKD_TRY(auto runtime, RuntimeDir::make());
  std::unique_ptr<Daemon> daemon(new Daemon(std::move(config), std::move(connection), std::move(runtime)));
  const auto loaded = daemon->load();
  HOOKD_CHECK(daemon->open(loaded));
  daemon->start_units(loaded.hooks);
  return daemon;
}

Daemon::Daemon(config::DaemonConfig config, kube::ConnectionConfig connection, RuntimeDir runtime)
    : config_(std::move(config)),
      runtime_(std::move(runtime)),
      transport_(scheduler_),
      credentials_(connection, scheduler_),
      client_(transport_, credentials_, connection, scheduler_, {config_.kube.qps, config_.kube.burst}),
      discovery_(client_, scheduler_),
      pool_({client_, discovery_, scheduler_, random_, config_.kube.page_size}, [] {}),
      launcher_(scheduler_),
      reaper_(scheduler_, [this](int pid) { return launcher_.owns(pid); }),
      applier_(
          client_,
          [this](std::string_view api_version, std::string_view kind, kube::Discovery::Callback callback) {
            discovery_.resolve(api_version, kind, std::move(callback));
          },
          scheduler_, random_, [this] { discovery_.invalidate(); }),
      slots_(config_.concurrency) {
  runner_options_.dry_run = config_.dry_run;
  runner_options_.answer_limit_bytes = config_.answer_limit_bytes;
  runner_options_.runtime_dir = runtime_.path();
  runner_options_.default_namespace = connection.default_namespace;
  runner_options_.environment = hook::own_environment();
  started_ = scheduler_.now();
  log::info("hookd " HOOKD_VERSION " starts",
            {{"server", connection.describe()}, {"dryRun", config_.dry_run}, {"once", config_.once}});
}

Daemon::~Daemon() {
  // Slots that a unit gives back when it goes must not start a call of another one.
  for (HookUnit* unit : all_units()) unit->stop();
}

hook::LoadResult Daemon::load() const {
  hook::LoadOptions options;
  options.cron_check = trigger::check_cron;
  return hook::load_hooks(config_.hooks, options);
}

Result<void> Daemon::open(const hook::LoadResult& loaded) {
  load_errors_ = loaded.errors;
  log_load_errors(load_errors_);
  if (!load_errors_.empty() && config_.strict)
    return fail(Errc::kConfig, "{} broken hook(s), and `strict` is set: see `hookd check`", load_errors_.size());
  if (loaded.hooks.empty())
    log::warn("no hook was found", {{"folders", fmt::format("{}", fmt::join(config_.hooks, ", "))}});
  write_hook_kubeconfig();
  if (!config_.listen.empty()) {
    HOOKD_TRY(server_, net::HttpServer::listen(scheduler_, config_.listen,
                                               [this](const net::ServerRequest& request, net::Responder respond) {
                                                 serve(request, respond);
                                               }));
    log::info("serving /metrics, /healthz and /readyz", {{"port", int64_t{server_->port()}}});
  }
  metrics_.set("hookd_build_info", {{"version", HOOKD_VERSION}}, 1);
  metrics_.on_collect([this] { update_gauges(); });
  signals_.add(SIGTERM);
  signals_.add(SIGINT);
  signals_.add(SIGHUP);
  wait_for_signal();
  if (config_.reload && !config_.once)
    folders_ = std::make_unique<FolderWatch>(scheduler_, config_.hooks, [this] { reload("the hooks folder changed"); });
  return {};
}

void Daemon::write_hook_kubeconfig() {
  written_tls_ = credentials_.tls();
  const std::string path = runtime_.path() + "/kubeconfig";
  auto text = kube::write_hook_kubeconfig(credentials_.config());
  auto written = text ? write_file(path, *text) : Failure(text.error());
  if (!written && written.error().what != kubeconfig_problem_)
    log::error("hooks get no kubeconfig", {{"error", written.error().what}});
  kubeconfig_problem_ = written ? "" : written.error().what;
  kubeconfig_retry_ = scheduler_.now() + kKubeconfigRetry;
  runner_options_.kubeconfig = path;
}

// ---------------------------------------------------------------- hooks

void Daemon::start_unit(std::shared_ptr<const hook::Hook> hook,
                        std::vector<std::pair<std::string, hook::Event>> inherited) {
  const std::string name = hook->name;
  const bool startup = hook->startup.has_value();
  UnitServices services{
      {scheduler_, random_, launcher_, applier_, metrics_, runner_options_}, pool_, slots_, config_.once};
  auto& unit = units_[name] = std::make_unique<HookUnit>(std::move(hook), services);
  log::info("hook loaded", {{"hook", name},
                            {"file", unit->hook().path},
                            {"watches", unit->hook().watches.size()},
                            {"schedules", unit->hook().schedules.size()}});
  unit->start(std::move(inherited));
  if (startup) startups_.push_back(name);
}

void Daemon::start_units(const std::vector<std::shared_ptr<const hook::Hook>>& hooks) {
  for (const auto& hook : hooks) start_unit(hook, {});
  std::ranges::stable_sort(startups_, [this](const std::string& a, const std::string& b) {
    return std::pair(units_.at(a)->hook().startup->order, a) < std::pair(units_.at(b)->hook().startup->order, b);
  });
  next_startup();
  beat_due_ = scheduler_.now();
  beat();
  if (config_.once) check_idle();
}

// One after another in their order; a failing one is tried again by itself and does not hold up the next.
void Daemon::next_startup() {
  if (startups_.empty() || stopping_) return;
  const std::string name = startups_.front();
  startups_.erase(startups_.begin());
  const auto unit = units_.find(name);
  if (unit == units_.end()) return next_startup();
  unit->second->run_startup([this] { scheduler_.post([this] { next_startup(); }); });
}

void Daemon::reload(std::string_view why) {
  if (stopping_) return;
  auto loaded = load();
  std::map<std::string, std::shared_ptr<const hook::Hook>> present;
  for (const auto& hook : loaded.hooks) present.emplace(hook->name, hook);
  // An error about a folder (gone for a moment, unreadable) speaks of all the hooks in it.
  const auto broken = [&](const std::string& path) {
    return std::ranges::any_of(
        loaded.errors, [&](const auto& error) { return path == error.file || path.starts_with(error.file + "/"); });
  };
  size_t changed = 0;
  for (auto it = units_.begin(); it != units_.end();) {
    const auto current = it++;
    const std::string name = current->first;
    const hook::Hook& hook = current->second->hook();
    const auto next = present.find(name);
    if (next == present.end()) {
      if (broken(hook.path)) {
        log::error("the new version of the hook is broken or cannot be read, the old one goes on",
                   {{"hook", name}, {"file", hook.path}});
        continue;
      }
      log::info("hook removed", {{"hook", name}});
      ++changed;
      replace(name, std::move(units_.extract(current).mapped()), nullptr);
    } else if (next->second->content_hash != hook.content_hash) {
      log::info("hook changed", {{"hook", name}});
      ++changed;
      replace(name, std::move(units_.extract(current).mapped()), next->second);
    }
  }
  for (auto& [name, replacing] : replacing_) {
    const auto next = present.find(name);
    if (next != present.end())
      replacing.next = next->second;
    else if (!replacing.next || !broken(replacing.next->path))
      replacing.next = nullptr;
  }
  for (const auto& [name, hook] : present) {
    if (units_.contains(name) || replacing_.contains(name)) continue;
    start_unit(hook, {});
    ++changed;
  }
  const auto text = [](const auto& error) { return error.text(); };
  if (!std::ranges::equal(loaded.errors, load_errors_, {}, text, text)) log_load_errors(loaded.errors);
  load_errors_ = std::move(loaded.errors);
  log::info("reloaded", {{"why", why},
                         {"changed", changed},
                         {"hooks", units_.size() + replacing_.size()},
                         {"broken", load_errors_.size()}});
  next_startup();
}

// The new version starts when the calls of the old one are over: one object's calls must not overlap.
// `next` null = the hook is removed.
void Daemon::replace(const std::string& name, std::unique_ptr<HookUnit> old, std::shared_ptr<const hook::Hook> next) {
  old->stop();
  auto inherited = old->take_waiting();
  if (old->running() == 0) {
    // The new one subscribes before the old one goes, so that streams that both use stay open.
    if (next) hand_over(*old, std::move(next), std::move(inherited));
    return;
  }
  replacing_[name] = {std::move(old), std::move(next), std::move(inherited)};
  replace_timer_ = scheduler_.after(kStopPoll, [this] { look_at_replacing(); });
}

void Daemon::hand_over(HookUnit& old, std::shared_ptr<const hook::Hook> next,
                       std::vector<std::pair<std::string, hook::Event>> inherited) {
  for (auto& item : old.take_waiting()) inherited.push_back(std::move(item));
  const std::string name = next->name;
  start_unit(std::move(next), std::move(inherited));
  units_.at(name)->inherit_parked(old.parked());
}

void Daemon::look_at_replacing() {
  if (stopping_) return;
  for (auto it = replacing_.begin(); it != replacing_.end();) {
    if (it->second.old->running() > 0) {
      ++it;
      continue;
    }
    Replacing done = std::move(it->second);
    it = replacing_.erase(it);
    if (done.next) hand_over(*done.old, std::move(done.next), std::move(done.inherited));
  }
  next_startup();
  if (!replacing_.empty()) replace_timer_ = scheduler_.after(kStopPoll, [this] { look_at_replacing(); });
}

std::vector<HookUnit*> Daemon::all_units() const {
  std::vector<HookUnit*> all;
  for (const auto& [name, unit] : units_) all.push_back(unit.get());
  for (const auto& [name, replacing] : replacing_) all.push_back(replacing.old.get());
  return all;
}

// ---------------------------------------------------------------- life

int Daemon::run() {
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
    for (HookUnit* unit : all_units()) unit->terminate();
    context_.stop();
    return;
  }
  stop_asked_ = scheduler_.now();
  size_t running = 0;
  Duration hook_grace{};
  for (HookUnit* unit : all_units()) {
    unit->stop();
    running += unit->running();
    hook_grace = std::max(hook_grace, unit->hook().run.grace);
  }
  folders_.reset();
  log::info("stopping", {{"why", why}, {"running", running}, {"grace", format_duration(config_.grace)}});
  stop_deadline_ = scheduler_.now() + config_.grace;
  stop_at_last_ = stop_deadline_ + hook_grace + kLastMoment;
  check_stopped();
}

void Daemon::check_stopped() {
  const SteadyTime now = scheduler_.now();
  size_t running = 0;
  for (HookUnit* unit : all_units()) running += unit->running();
  // Kubernetes Events are sent in the background: they get what is left of the grace period.
  const bool events_sent = applier_.events().waiting() == 0 || now >= stop_deadline_;
  if (running == 0 && events_sent) return context_.stop();
  if (now >= stop_at_last_) {
    log::error("calls still run or apply their answers, not waiting any longer", {{"running", running}});
    return context_.stop();
  }
  if (running > 0 && now >= stop_deadline_ && !std::exchange(terminated_, true)) {
    log::warn("calls still run after the grace period, ending them", {{"running", running}});
    for (HookUnit* unit : all_units()) unit->terminate();
  }
  stop_timer_ = scheduler_.after(kStopPoll, [this] { check_stopped(); });
}

void Daemon::check_idle() {
  if (stopping_) return;
  const auto every = [this](auto predicate) {
    return std::ranges::all_of(units_, [&](const auto& entry) { return predicate(*entry.second); });
  };
  const bool ready = every([](const HookUnit& unit) { return unit.ready(); }) && startups_.empty();
  // What exists was told: what changes from here on is for the next run, or a busy collection would never let this one
  // end.
  if (ready && !std::exchange(watching_stopped_, true))
    for (const auto& [name, unit] : units_) unit->stop_watching();
  const bool idle = ready && every([](const HookUnit& unit) { return unit.idle(); });
  const bool given_up = !ready && scheduler_.now() - started_ > kOnceUnready &&
                        every([](const HookUnit& unit) { return !unit.ready() || unit.idle(); });
  if (!idle && !given_up) {
    idle_timer_ = scheduler_.after(kStopPoll, [this] { check_idle(); });
    return;
  }
  if (given_up) {
    exit_code_ = 1;
    for (const auto& [name, unit] : units_)
      for (const auto& [binding, error] : unit->troubles())
        log::error("not everything could be watched", {{"hook", name}, {"binding", binding}, {"error", error.what}});
  }
  if (!load_errors_.empty() || !every([](const HookUnit& unit) { return !unit.failed(); })) exit_code_ = 1;
  begin_stop(given_up ? "nothing more can be done (--once)" : "everything is done (--once)");
}

void Daemon::beat() {
  const SteadyTime now = scheduler_.now();
  metrics_.observe("hookd_loop_lag_seconds", {}, std::max(0.0, std::chrono::duration<double>(now - beat_due_).count()));
  if (credentials_.tls() != written_tls_ || (!kubeconfig_problem_.empty() && now >= kubeconfig_retry_))
    write_hook_kubeconfig();
  if (!was_ready_ && health().ready) {
    was_ready_ = true;
    log::info("ready", {{"hooks", units_.size()}, {"after", format_duration(now - started_)}});
  }
  beat_due_ = now + kHeartbeat;
  heartbeat_ = scheduler_.at(beat_due_, [this] { beat(); });
}

}  // namespace hookd::app
