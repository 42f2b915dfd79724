// *.test.yaml: one or several documents, each a test of hooks. Thread: any.
//
//   apiVersion: hookd/v1
//   kind: HookTest
//   metadata: {name: a pod stuck on a lost node is replaced}
//   hooks: [../sweep]            # folders and files; default: the folder of the test, recursively
//   now: 2026-01-01T00:00:00Z    # virtual time at the start
//   timeout: 60s                 # real time
//   given: [cluster.yaml]        # there before hookd starts
//   steps: […]                   # steps.h
#pragma once

#include <string>
#include <vector>

#include "base/scheduler.h"
#include "rehearsal/steps.h"

namespace hookd::rehearsal {

struct TestDocument {
  std::string file;    // absolute
  std::string folder;  // of the file
  std::string name;
  config::Position at;             // of the name
  size_t index = 0;                // in the file
  std::vector<std::string> hooks;  // absolute
  WallTime now = ManualScheduler::kStart;
  Duration timeout = std::chrono::seconds(60);
  std::vector<apply::Operation> given;
  config::Position given_at;
  std::vector<Step> steps;
};

// What is wrong goes to `problems`; `update`: steps may have an `expect` that is still empty.
std::vector<TestDocument> read_tests(std::string_view text, const std::string& file, bool update,
                                     config::Problems& problems);

// A scenario: kind Scenario, one document, with `steps`; and `sources: false` if the steps tell what comes from outside
// and the hooks' own sources are not to run.
struct Scenario {
  std::vector<Step> steps;
  bool sources = true;
};
Scenario read_scenario(std::string_view text, const std::string& file, config::Problems& problems);

}  // namespace hookd::rehearsal
