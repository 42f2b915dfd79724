// Runs one test: a fresh server, hookd on it, virtual time, real processes. Thread: the one that calls.
#pragma once

#include <string>
#include <vector>

#include "rehearsal/test_document.h"

namespace hookd::rehearsal {

struct TestFailure {
  config::Position at;
  std::string text;  // several lines
};

// `expect` of a step, written anew.
struct TestUpdate {
  config::Position at;  // of the key `expect`
  std::string block;    // YAML, its lines without indentation
};

struct TestResult {
  enum class Status { kPassed, kFailed, kBroken } status = Status::kPassed;  // kBroken: it could not be run
  Duration real{0};
  std::vector<TestFailure> failures;
  std::string calls;  // for people: every call with its operations
  std::string log;
  std::vector<TestUpdate> updates;
};

struct TestOptions {
  bool update = false;
  std::string runtime_dir;  // private to this process
};

TestResult run_test(const TestDocument& test, const TestOptions& options);

// One line of JSON, as a worker gives it to its parent.
std::string to_json(const TestResult& result);
Result<TestResult> result_from_json(std::string_view json);

}  // namespace hookd::rehearsal
