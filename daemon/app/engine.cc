#include "app/engine.h"

#include "base/log.h"
#include "metrics/hook_series.h"

namespace hookd::app {
namespace {

constexpr Duration kReplacePoll = std::chrono::milliseconds(50);

void log_load_errors(const std::vector<hook::LoadError>& errors) {
  for (const auto& error : errors) log::error("broken hook: " + error.text());
}

}  // namespace

Engine::Engine(EngineServices services, kube::ConnectionConfig connection, EngineOptions options)
    : services_(services),
      options_(std::move(options)),
      credentials_(connection, services_.scheduler),
      client_(services_.transport, credentials_, connection, services_.scheduler,
              {options_.kube.qps, options_.kube.burst}),
      discovery_(client_, services_.scheduler),
      pool_({client_, discovery_, services_.scheduler, services_.random, options_.kube.page_size}, [] {}),
      applier_(
          client_,
          [this](std::string_view api_version, std::string_view kind, kube::Discovery::Callback callback) {
            discovery_.resolve(api_version, kind, std::move(callback));
          },
          services_.scheduler, services_.random, [this] { discovery_.invalidate(); }),
      left_finalizers_({client_, discovery_, services_.scheduler, applier_, services_.store, options_.dry_run}),
      left_rows_(services_.scheduler, services_.store,
                 {[this] { return all_known(); }, [this](const std::string& hook) { return may_come(hook); }}),
      own_writes_(services_.scheduler),
      slots_(options_.concurrency),
      url_slots_(options_.concurrency * kUrlCalls, true),
      breakers_(services_.scheduler, services_.random, services_.metrics),
      kubeconfig_(options_.runtime_dir, credentials_, services_.scheduler) {
  runner_options_.dry_run = options_.dry_run;
  runner_options_.answer_limit_bytes = options_.answer_limit_bytes;
  runner_options_.runtime_dir = options_.runtime_dir;
  runner_options_.kubeconfig = kubeconfig_.path();
  runner_options_.default_namespace = connection.default_namespace;
  runner_options_.environment = options_.environment;
  runner_options_.observer = options_.observer;
  runner_options_.faults = options_.faults;
  started_ = services_.scheduler.now();
}

Engine::~Engine() {
  controllers_.reset();
  // Slots that a unit gives back when it goes must not start a call of another one.
  for (HookUnit* unit : all_units()) unit->stop();
}

Result<void> Engine::load() {
  auto loaded = options_.load();
  load_errors_ = std::move(loaded.errors);
  loaded_ = std::move(loaded.hooks);
  log_load_errors(load_errors_);
  if (!load_errors_.empty() && options_.strict)
    return fail(Errc::kConfig, "{} broken hook(s), and `strict` is set: see `hookd check`", load_errors_.size());
  return {};
}

void Engine::start() {
  begun_ = true;
  kubeconfig_.refresh();
  for (auto& hook : std::exchange(loaded_, {})) start_unit(std::move(hook), {});
  std::ranges::stable_sort(startups_, [this](const std::string& a, const std::string& b) {
    return std::pair(units_.at(a)->hook().startup->order, a) < std::pair(units_.at(b)->hook().startup->order, b);
  });
  next_startup();
  start_controllers();
  left_rows_.start();
}

void Engine::start_unit(std::shared_ptr<const hook::Hook> hook, Inheritance inherited) {
  const std::string name = hook->name;
  const bool startup = hook->startup.has_value();
  UnitServices services{
      {services_.scheduler, services_.random, services_.launcher, applier_, services_.metrics, runner_options_,
       services_.hook_transport ? services_.hook_transport : &services_.transport, &services_.store, &breakers_},
      pool_,
      hook::starts_processes(*hook) ? slots_ : url_slots_,
      services_.routes,
      options_.once};
  services.cluster = client_.server();
  services.runner.own_writes = &own_writes_;
  services.paths = services_.paths;
  services.api = &client_;
  services.discovery = &discovery_;
  services.sources = options_.sources;
  left_finalizers_.used(*hook);
  auto& unit = units_[name] = std::make_unique<HookUnit>(std::move(hook), services);
  log::info("hook loaded", {{"hook", name},
                            {"file", unit->hook().path},
                            {"watches", unit->hook().watches.size()},
                            {"schedules", unit->hook().schedules.size()}});
  unit->start(std::move(inherited));
  if (startup) startups_.push_back(name);
}

// One after another in their order; a failing one is tried again by itself and does not hold up the next.
void Engine::next_startup() {
  if (startups_.empty() || stopping_) return;
  const std::string name = startups_.front();
  startups_.erase(startups_.begin());
  const auto unit = units_.find(name);
  if (unit == units_.end()) return next_startup();
  unit->second->run_startup([this, alive = std::weak_ptr(alive_)] {
    services_.scheduler.post([this, alive] {
      if (alive.lock()) next_startup();
    });
  });
}

void Engine::stop() {
  stopping_ = true;
  if (controllers_) controllers_->stop();
  for (HookUnit* unit : all_units()) unit->stop();
}

void Engine::set_concurrency(int calls) {
  slots_.resize(calls);
  url_slots_.resize(calls * kUrlCalls);
}

void Engine::terminate() {
  for (HookUnit* unit : all_units()) unit->terminate();
}

// ---------------------------------------------------------------- changes

void Engine::reload(std::string_view why) {
  if (stopping_) return;
  if (!begun_) {  // the hooks of this moment are what start() will start
    if (const auto loaded = load(); !loaded) log::error("hooks are broken", {{"error", loaded.error().what}});
    return;
  }
  auto loaded = options_.load();
  std::map<std::string, std::shared_ptr<const hook::Hook>> present;
  for (const auto& hook : loaded.hooks) present.emplace(hook->name, hook);
  // An error about a folder (gone for a moment, unreadable) speaks of all the hooks in it.
  const auto broken = [&](const std::string& path) {
    return std::ranges::any_of(
        loaded.errors, [&](const auto& error) { return path == error.file || path.starts_with(error.file + "/"); });
  };
  // Old versions that go on because the new one is broken: the others of this load were not held against them.
  std::vector<const hook::Hook*> kept;
  for (const auto& [name, unit] : units_)
    if (!from_elsewhere_.contains(name) && !present.contains(name) && broken(unit->hook().path))
      kept.push_back(&unit->hook());
  shut_out_.clear();
  std::erase_if(present, [&](const auto& entry) {
    const bool taken = from_elsewhere_.contains(entry.first);
    if (taken) shut_out_.insert(entry.first);
    const std::string wrong =
        taken ? fmt::format("{} of the cluster is run as a hook of the name {} already; give this one another name",
                            path_of(entry.first), entry.first)
              : hook::clash(kept, *entry.second);
    if (!wrong.empty()) loaded.errors.push_back({entry.second->path, entry.second->line, entry.second->column, wrong});
    return !wrong.empty();
  });
  size_t changed = 0;
  for (auto it = units_.begin(); it != units_.end();) {
    const auto current = it++;
    const std::string name = current->first;
    if (from_elsewhere_.contains(name)) continue;
    const hook::Hook& hook = current->second->hook();
    const auto next = present.find(name);
    if (next == present.end()) {
      if (broken(hook.path)) {
        log::error("the new version of the hook is broken or cannot be read, the old one goes on",
                   {{"hook", name}, {"file", hook.path}});
        continue;
      }
      log::info("hook removed", {{"hook", name}});
      services_.metrics.of_hooks().remove(name);
      ++changed;
      replace(name, std::move(units_.extract(current).mapped()), nullptr);
      tell_finalizers_left(name);
    } else if (next->second->content_hash != hook.content_hash) {
      log::info("hook changed", {{"hook", name}});
      ++changed;
      replace(name, std::move(units_.extract(current).mapped()), next->second);
      tell_finalizers_left(name);
    }
  }
  for (auto& [name, replacing] : replacing_) {
    if (from_elsewhere_.contains(name)) continue;
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

std::string Engine::path_of(const std::string& hook) const {
  if (const auto unit = units_.find(hook); unit != units_.end()) return unit->second->hook().path;
  const auto replacing = replacing_.find(hook);
  return replacing != replacing_.end() && replacing->second.next ? replacing->second.next->path : hook;
}

Result<void> Engine::put_hook(std::shared_ptr<const hook::Hook> hook) {
  const std::string name = hook->name;
  const bool known = from_elsewhere_.contains(name);
  const auto unit = units_.find(name);
  const auto replacing = replacing_.find(name);
  // One of a folder that is removed but not over yet is followed by this one.
  if (!known && (unit != units_.end() || (replacing != replacing_.end() && replacing->second.next)))
    return fail(Errc::kConfig, "{} would be a hook of the name {}, which {} has already; give that one another name",
                hook->path, name, path_of(name));
  from_elsewhere_.insert(name);
  if (replacing != replacing_.end())
    replacing->second.next = std::move(hook);
  else if (unit != units_.end())
    replace(name, std::move(units_.extract(unit).mapped()), std::move(hook));
  else
    start_unit(std::move(hook), {});
  return {};
}

void Engine::remove_hook(const std::string& name) {
  if (from_elsewhere_.erase(name) == 0) return;
  log::info("hook removed", {{"hook", name}});
  services_.metrics.of_hooks().remove(name);
  if (const auto replacing = replacing_.find(name); replacing != replacing_.end())
    replacing->second.next = nullptr;
  else if (const auto unit = units_.find(name); unit != units_.end())
    replace(name, std::move(units_.extract(unit).mapped()), nullptr);
  if (shut_out_.erase(name) > 0)
    services_.scheduler.post([this, alive = std::weak_ptr(alive_)] {
      if (alive.lock()) reload("a name is free");
    });
}

void Engine::start_controllers() {
  if (!options_.metacontroller) return;
  controllers_ = std::make_unique<metacontroller::Controllers>(
      metacontroller::ControllersServices{services_.scheduler, pool_, discovery_, client_, applier_.events(),
                                          [this](auto hook) { return put_hook(std::move(hook)); },
                                          [this](const std::string& name) { remove_hook(name); }, options_.dry_run},
      *options_.metacontroller);
  controllers_->start();
}

// The new version starts when the calls of the old one are over: one object's calls must not overlap.
// `next` null = the hook is removed.
void Engine::replace(const std::string& name, std::unique_ptr<HookUnit> old, std::shared_ptr<const hook::Hook> next) {
  old->stop(next != nullptr);
  if (old->over()) {
    // The new one subscribes before the old one goes, so that streams that both use stay open.
    if (next) start_unit(std::move(next), old->hand_over());
    return;
  }
  // What waits stays where it is until then: what a call that fails leaves comes before it.
  replacing_[name] = {std::move(old), std::move(next)};
  replace_timer_ = services_.scheduler.after(kReplacePoll, [this] { look_at_replacing(); });
}

void Engine::look_at_replacing() {
  if (stopping_) return;
  for (auto it = replacing_.begin(); it != replacing_.end();) {
    if (!it->second.old->over()) {
      ++it;
      continue;
    }
    Replacing done = std::move(it->second);
    it = replacing_.erase(it);
    if (done.next) start_unit(std::move(done.next), done.old->hand_over());
  }
  next_startup();
  if (!replacing_.empty()) replace_timer_ = services_.scheduler.after(kReplacePoll, [this] { look_at_replacing(); });
}

bool Engine::all_known() const { return !stopping_ && load_errors_.empty() && !units_.empty(); }

bool Engine::may_come(const std::string& hook) const {
  return units_.contains(hook) || replacing_.contains(hook) || (controllers_ && controllers_->may_come(hook));
}

std::vector<HookUnit*> Engine::all_units() const {
  std::vector<HookUnit*> all;
  for (const auto& [name, unit] : units_) all.push_back(unit.get());
  for (const auto& [name, replacing] : replacing_) all.push_back(replacing.old.get());
  return all;
}

}  // namespace hookd::app
