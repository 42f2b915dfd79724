// `hookd test`: hooks against the expectations of *.test.yaml, without a cluster.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "app/runtime_dir.h"
#include "base/log.h"
#include "cli/cli.h"
#include "rehearsal/test_suite.h"

namespace hookd::cli {

int run_test(const TestOptions& options) {
  if (!options.worker_file.empty()) {
    // Nothing else may come out of a worker: the log is a part of its result.
    log::set_level(options.verbose ? log::Level::kDebug : log::Level::kInfo);
    auto runtime = app::RuntimeDir::make();
    if (!runtime) {
      fmt::print(stderr, "hookd test: {}\n", runtime.error().what);
      return 2;
    }
    return rehearsal::run_worker({options.worker_file, options.worker_index, options.update, runtime->path()});
  }
  rehearsal::SuiteOptions suite;
  suite.paths = options.paths.empty() ? std::vector<std::string>{"."} : options.paths;
  suite.pattern = options.pattern;
  suite.junit_file = options.junit_file;
  suite.jobs = options.jobs;
  suite.update = options.update;
  suite.verbose = options.verbose;
  suite.colour = colours(STDOUT_FILENO);
  return rehearsal::run_suite(suite);
}

bool colours(int fd) {
  const char* none = std::getenv("NO_COLOR");  // https://no-color.org: set and not empty
  const char* terminal = std::getenv("TERM");
  return ::isatty(fd) && !(none && *none) && !(terminal && std::string_view(terminal) == "dumb");
}

}  // namespace hookd::cli
