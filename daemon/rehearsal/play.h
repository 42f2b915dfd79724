// `hookd play`: the same hookd on an embedded API server, with an account of what happens. Thread: the one that calls.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace hookd::rehearsal {

struct PlayOptions {
  std::string folder;             // hooks, manifests, scenario.yaml
  std::vector<std::string> load;  // manifests instead of those found in the folder
  bool load_given = false;
  std::string scenario;  // "" = scenario.yaml in the folder, if there is one
  bool exit = false;     // end after the scenario
  double speed = 1;
  std::string kubeconfig;  // where it is written; "" = in the runtime folder
  int port = 0;            // 0 = any that is free
  std::string listen;      // where POSTs to sources are taken; "" = 127.0.0.1, at any port that is free
  bool colour = false;
  std::string runtime_dir;
};

// Until stopped, or with `exit` until the scenario is over and nothing runs. Exit code: 0; 1: a step failed, a wait was
// in vain, or a call was given up; 2: something cannot be read or the port is taken.
int play(const PlayOptions& options);

}  // namespace hookd::rehearsal
