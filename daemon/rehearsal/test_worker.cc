// The child of `hookd test`: one test, its result on stdout.
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>

#include "base/fd.h"
#include "rehearsal/test_suite.h"

namespace hookd::rehearsal {

int run_worker(const WorkerOptions& options) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // also where the parent was killed
  auto text = read_file(options.file, 4u << 20);
  config::Problems problems(options.file);
  std::vector<TestDocument> tests;
  if (text) tests = read_tests(*text, options.file, options.update, problems);
  TestResult result;
  if (!text || !problems.empty() || options.index >= tests.size()) {
    result.status = TestResult::Status::kBroken;
    result.failures.push_back({{}, text ? "the file changed: " + problems.text() : text.error().what});
  } else {
    result = run_test(tests[options.index], {.update = options.update, .runtime_dir = options.runtime_dir});
  }
  fmt::print("{}\n", to_json(result));
  return 0;
}

}  // namespace hookd::rehearsal
