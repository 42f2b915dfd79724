// A hook unit on a fake cluster, with a hook that notes what it was called with and answers as told.
#pragma once

#include <gmock/gmock.h>

#include "app/hook_unit.h"
#include "base/json_read.h"
#include "unit/support/hook_world.h"
#include "unit/support/log_tap.h"

namespace hookd::app {

using namespace std::chrono_literals;

class HookUnitTest : public testing::Test, protected test::HookWorld {
 protected:
  HookUnitTest() {
    options.default_namespace = "a";
    for (const auto& type : {test::pods(), test::nodes()}) cluster.serve(type);
    hook->name = "h";
    hook->run.command = {"/h.sh"};
    launcher.script = [this](const std::shared_ptr<test::FakeLauncher::Started>& child) { serve(child); };
  }

  hook::WatchBinding& watch(std::string name, std::string kind, std::vector<std::string> include = {}) {
    auto& binding = hook->watches.emplace_back();
    binding.name = std::move(name);
    binding.kind = std::move(kind);
    binding.include = std::move(include);
    return binding;
  }
  hook::ScheduleBinding& schedule(std::string name, Duration every, std::vector<std::string> include = {}) {
    auto& binding = hook->schedules.emplace_back();
    binding.name = std::move(name);
    binding.every = every;
    binding.include = std::move(include);
    return binding;
  }
  void start(std::vector<std::pair<std::string, hook::Event>> waiting) {
    Inheritance inheritance;
    inheritance.waiting = std::move(waiting);
    start(std::move(inheritance));
  }
  void start(Inheritance inheritance = {}) {
    unit = std::make_unique<HookUnit>(
        hook,
        UnitServices{
            {scheduler, random, launcher, applier, metrics, options, nullptr, store}, pool, slots, nullptr, once});
    unit->start(std::move(inheritance));
    go();
  }
  void go(Duration time = 0s) { scheduler.advance(time); }

  // The hook: notes what it was called with and answers as told.
  void serve(const std::shared_ptr<test::FakeLauncher::Started>& child) {
    const std::string input = child->read_input();
    inputs.push_back(input);
    const auto call = *parse_json(input);
    std::string events;
    for (const auto& event : call.at("events").as_array()) {
      if (!events.empty()) events += ", ";
      events += event.at("type").as_string().c_str();
      if (event.as_object().contains("object"))
        events += fmt::format(" {}:{}", event.at("object").at("metadata").at("name").as_string().c_str(),
                              event.at("object").at("metadata").at("uid").as_string().c_str());
      else
        events += fmt::format(" {}", event.at("binding").as_string().c_str());
    }
    calls.push_back(events);
    if (hang) return;
    const std::string text = answer ? answer(events) : output;
    if (!text.empty()) child->print(text);
    child->exit(exits ? exits(events) : exit_code);
  }
  std::vector<std::string> taken() { return std::exchange(calls, {}); }
  void pod(std::string_view name, std::string_view uid, std::string_view meta = "") {
    cluster.put(test::pods(), test::object_json(test::pods(), "a", name, uid, meta));
    go();
  }

  std::shared_ptr<hook::Hook> hook = std::make_shared<hook::Hook>();
  state::Store* store = nullptr;
  bool once = false;
  bool hang = false;  // calls do not end by themselves
  int exit_code = 0;
  std::string output;
  std::function<int(const std::string& events)> exits;           // instead of exit_code
  std::function<std::string(const std::string& events)> answer;  // instead of output
  std::vector<std::string> inputs, calls;
  std::unique_ptr<HookUnit> unit;
};

}  // namespace hookd::app
