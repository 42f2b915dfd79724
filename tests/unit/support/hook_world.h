// What a hook's unit or runner stands on, all of it a fake on virtual time: a cluster, processes, what applies answers.
#pragma once

#include "apply/applier.h"
#include "hook/runner.h"
#include "kube/discovery.h"
#include "kube/informer.h"
#include "queue/slots.h"
#include "unit/support/fake_cluster.h"
#include "unit/support/fake_launcher.h"
#include "unit/support/scratch_folder.h"

namespace hookd::test {

struct HookWorld {
  explicit HookWorld(uint64_t seed = 1, int calls_at_once = 16) : random(seed), slots(calls_at_once) {
    options.runtime_dir = runtime.path();
  }

  const ScratchFolder runtime;
  ManualScheduler scheduler;
  SeededRandom random;
  FakeCluster cluster{scheduler};
  FakeLauncher launcher{scheduler};
  kube::Discovery discovery{cluster, scheduler};
  kube::InformerPool pool{{cluster, discovery, scheduler, random, 500}, [] {}};
  apply::Applier applier{cluster,
                         [this](std::string_view version, std::string_view kind,
                                std::function<void(Result<kube::ResourceType>)> callback) {
                           discovery.resolve(version, kind, std::move(callback));
                         },
                         scheduler, random};
  metrics::Registry metrics;
  hook::RunnerOptions options;
  queue::Slots slots;
};

}  // namespace hookd::test
