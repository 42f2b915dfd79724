// `hookd test`: finds the tests, runs each in a process of its own, several side by side, and tells what came of them.
// Thread: the one that calls.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "rehearsal/test_run.h"

namespace hookd::rehearsal {

struct SuiteOptions {
  std::vector<std::string> paths;  // folders and *.test.yaml files
  std::string pattern;             // --run: part of the file's path or the test's name, with * and ? for any text
  std::string junit_file;          // "" = none
  int jobs = 0;                    // 0 = as many as there are cores
  bool update = false;
  bool verbose = false;  // calls and logs of every test, not only of failed ones
  bool colour = false;
  std::string self = "/proc/self/exe";
};

// Exit code: 0 all passed, 1 some failed, 2 wrong usage, or a test that cannot be read or run.
int run_suite(const SuiteOptions& options);

// In the child: one test of a file; the result as one line on stdout. Exit code 0 also where the test failed.
struct WorkerOptions {
  std::string file;
  size_t index = 0;
  bool update = false;
  std::string runtime_dir;
};
int run_worker(const WorkerOptions& options);

// Is `pattern` in `text`, or, where it has * or ?, the whole of it like that?
bool matches(std::string_view pattern, std::string_view text);

struct Finished {
  TestDocument test;
  std::string shown_file;  // as people know it: relative to where they are
  TestResult result;
};
// JUnit's XML, a testsuite for each file.
std::string junit_xml(const std::vector<Finished>& tests);

}  // namespace hookd::rehearsal
