// What an engine stands on, all of it a fake on virtual time, and hooks that do as they are told.
#pragma once

#include <gtest/gtest.h>

#include "app/engine.h"
#include "state/memory_store.h"
#include "unit/support/fake_cluster_transport.h"
#include "unit/support/fake_launcher.h"
#include "unit/support/log_tap.h"
#include "unit/support/scratch_folder.h"
#include "unit/support/scripted_transport.h"

namespace hookd::test {

struct EngineWorld {
  EngineWorld() {
    options.runtime_dir = runtime.path();
    options.load = [this] { return loaded; };
    connection.server = "http://cluster";
    launcher.script = [this](const std::shared_ptr<FakeLauncher::Started>& child) {
      child->read_input();
      if (hang) return running.push_back(child);
      if (!complaint.empty()) child->complain(complaint);
      if (!output.empty()) child->print(output);
      child->exit(exit_code);
    };
  }

  static std::shared_ptr<hook::Hook> make_hook(std::string name, std::string path, uint64_t version = 1) {
    auto hook = std::make_shared<hook::Hook>();
    hook->name = std::move(name);
    hook->path = std::move(path);
    hook->content_hash = version;
    hook->run.command = {"/h.sh"};
    return hook;
  }
  static void watch_pods(hook::Hook& hook) {
    auto& binding = hook.watches.emplace_back();
    binding.name = "pods";
    binding.kind = "Pod";
  }
  void pod(std::string_view name, std::string_view uid) {
    cluster.put(pods(), object_json(pods(), "a", name, uid));
    scheduler.advance(Duration::zero());
  }
  // It runs what is `loaded`. A fixture has it as its last member: whoever observes it outlives it.
  std::unique_ptr<app::Engine> start_engine() {
    app::EngineServices services{scheduler, random, transport, launcher, metrics, store};
    services.hook_transport = &hook_transport;
    auto engine = std::make_unique<app::Engine>(services, connection, options);
    EXPECT_TRUE(engine->load());
    engine->start();
    scheduler.advance(Duration::zero());
    return engine;
  }

  const ScratchFolder runtime;
  LogTap log;
  ManualScheduler scheduler;
  SeededRandom random;
  FakeCluster cluster{scheduler};
  FakeClusterTransport transport{cluster};
  ScriptedTransport hook_transport;
  FakeLauncher launcher{scheduler};
  metrics::Registry metrics;
  state::MemoryStore store;
  kube::ConnectionConfig connection;
  app::EngineOptions options;
  hook::LoadResult loaded;
  // The hooks: calls that do not end by themselves, or what they leave.
  bool hang = false;
  int exit_code = 0;
  std::string output, complaint;
  std::vector<std::shared_ptr<FakeLauncher::Started>> running;
};

}  // namespace hookd::test
