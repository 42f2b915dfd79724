// A unit whose hook reconciles Widgets into ConfigMaps, as a whole: on a fake cluster that keeps what is written, in
// virtual time.
#pragma once

#include <gmock/gmock.h>

#include "app/hook_unit.h"
#include "base/json_read.h"
#include "state/sqlite_store.h"
#include "unit/support/hook_world.h"
#include "unit/support/log_tap.h"

namespace hookd::app {

using namespace std::chrono_literals;

inline const kube::ResourceType kWidgets = test::make_type("x.io", "Widget", "widgets");
inline const kube::ResourceType kMaps = [] {
  auto type = test::make_type("", "ConfigMap", "configmaps", true, {"cm"});
  type.subresources.clear();
  return type;
}();

class HookUnitReconcileTest : public testing::Test, protected test::HookWorld {
 protected:
  HookUnitReconcileTest() {
    options.default_namespace = "default";
    for (const auto& type : {kWidgets, kMaps, test::pods()}) cluster.serve(type);
    cluster.keeps_writes = true;
    hook->name = "h";
    hook->run.command = {"/h.sh"};
    hook->concurrency = 5;
    hook->retry.initial = 5ms;
    hook->retry.max = 1000s;
    hook::Reconcile rule;
    rule.parent.api_version = "x.io/v1";
    rule.parent.kind = "Widget";
    rule.finalizer_name = "hookd.dev/h";
    rule.children.emplace_back();
    rule.children.back().api_version = "v1";
    rule.children.back().kind = "ConfigMap";
    hook->reconcile = rule;
    launcher.script = [this](const std::shared_ptr<test::FakeLauncher::Started>& child) {
      const auto call = *parse_json(child->read_input());
      calls.push_back(call);
      if (hang) return held.push_back(child);
      if (const std::string text = answer(call.as_object()); !text.empty()) child->print(text);
      child->exit(exit_code);
    };
  }
  void start(Inheritance inherited = {}) {
    UnitServices services{
        {scheduler, random, launcher, applier, metrics, options, nullptr, store}, pool, slots, nullptr, once};
    services.api = &cluster;
    services.discovery = &discovery;
    services.sources = run_sources;
    unit = std::make_unique<HookUnit>(hook, std::move(services));
    unit->start(std::move(inherited));
    go();
  }
  // A store that a later start() finds again.
  void keep() {
    kept.emplace(scheduler, state::SqliteStore::Options{.folder = runtime.path()});
    ASSERT_TRUE(kept->open());
    store = &*kept;
  }
  // The daemon ends.
  void stop() {
    unit->stop();
    unit->stop_watching();
    unit.reset();
  }
  void go(Duration time = 0s) { scheduler.advance(time); }
  void widget(std::string_view name, std::string_view spec = "{}", int generation = 1, std::string_view meta = "") {
    cluster.put(kWidgets,
                test::object_json(kWidgets, "a", name, fmt::format("u-{}", name),
                                  fmt::format("\"generation\":{}{}{}", generation, meta.empty() ? "" : ",", meta),
                                  fmt::format("\"spec\":{}", spec)));
    go();
  }
  static std::string map_json(std::string_view name, std::string_view value = "red") {
    return fmt::format(R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}"}},"data":{{"v":"{}"}}}})",
                       name, value);
  }
  std::string map_value(const std::string& name) const {
    return json_string_at(cluster.object(kMaps, "a", name), {"data", "v"}).value_or("");
  }
  std::string parent_field(const std::string& name, std::initializer_list<std::string_view> path) const {
    return std::string(json_raw_at(cluster.object(kWidgets, "a", name), path).value_or(""));
  }
  // "binding/type" of a call's causes.
  static std::vector<std::string> causes(const boost::json::value& call) {
    std::vector<std::string> all;
    for (const auto& cause : call.at("causes").as_array())
      all.push_back(std::string(cause.at("binding").as_string()) + "/" + std::string(cause.at("type").as_string()));
    return all;
  }
  std::vector<std::string> writes(std::string_view plural) const {
    std::vector<std::string> all;
    for (const std::string& write : cluster.writes())
      if (write.find("/" + std::string(plural)) != std::string::npos) all.push_back(write);
    return all;
  }

  std::shared_ptr<hook::Hook> hook = std::make_shared<hook::Hook>();
  std::optional<state::SqliteStore> kept;
  state::Store* store = nullptr;
  bool once = false, run_sources = true, hang = false;
  int exit_code = 0;
  std::function<std::string(const boost::json::object& call)> answer = [](const auto&) { return std::string(); };
  std::vector<boost::json::value> calls;
  std::vector<std::shared_ptr<test::FakeLauncher::Started>> held;
  std::unique_ptr<HookUnit> unit;
};

inline constexpr char kEnds[] = "\"2026-01-01T00:00:00Z\"";  // a deletionTimestamp

}  // namespace hookd::app
