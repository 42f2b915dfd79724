// Runs real children on a real loop, for the tests of this folder.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <fstream>
#include <string>

#include "process/posix_launcher.h"
#include "process/reaper.h"
#include "unit/support/scratch_folder.h"

namespace hookd::process {

struct Ran {
  ChildExit exit;
  std::string out;
  std::string err;
};

class ChildTest : public testing::Test {
 protected:
  static ChildSpec shell(std::string script) {
    ChildSpec spec;
    spec.command = {"/bin/sh", "-c", std::move(script)};
    spec.environment = {"PATH=/usr/bin:/bin"};
    return spec;
  }

  // Runs the loop until `done`; a test that would hang fails after a minute.
  template <class Condition>
  bool run_until(Condition done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    context_.restart();
    auto work = boost::asio::make_work_guard(context_);
    while (!done() && std::chrono::steady_clock::now() < deadline) context_.run_one_for(std::chrono::milliseconds(10));
    return done();
  }

  Ran run(ChildSpec spec, InputSource input = {}) {
    Ran ran;
    bool ended = false;
    ChildHandlers handlers;
    handlers.input = std::move(input);
    handlers.on_stdout = [&](std::string_view piece) { ran.out += piece; };
    handlers.on_stderr = [&](std::string_view piece) { ran.err += piece; };
    handlers.on_exit = [&](ChildExit exit) {
      EXPECT_FALSE(ended);
      ended = true;
      ran.exit = std::move(exit);
    };
    auto child = launcher_.start(std::move(spec), std::move(handlers));
    EXPECT_TRUE(child) << child.error().what;
    if (!child) return ran;
    EXPECT_TRUE(run_until([&] { return ended; })) << "no exit within a minute";
    EXPECT_EQ(launcher_.running(), 0u);
    return ran;
  }

  std::string start_error(ChildSpec spec) {
    auto child = launcher_.start(std::move(spec), {});
    EXPECT_FALSE(child);
    if (child) return "started";
    EXPECT_EQ(child.error().code, Errc::kHookFailed);
    return child.error().what;
  }

  // Before the launcher, whose thread may still empty folders in it. 0755: some children are another user.
  const test::ScratchFolder folder_{0755};
  boost::asio::io_context context_;
  AsioScheduler scheduler_{context_};
  PosixLauncher launcher_{scheduler_};
};

// This test process stands for PID 1: orphans come to it, and none of them is left to other tests of the same program.
class SubreaperTest : public ChildTest {
 protected:
  void SetUp() override { ASSERT_TRUE(become_subreaper()); }
  void TearDown() override {
    EXPECT_TRUE(run_until([&] {
      if (launcher_.running() > 0) return false;
      while (::waitpid(-1, nullptr, WNOHANG) > 0) {
      }
      return errno == ECHILD;
    }));
    ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
  }
};

// Prints the open descriptors of the shell itself, "0 1 2 ", without opening one.
inline constexpr const char* kShowDescriptors =
    "i=0; while [ $i -lt 200 ]; do [ -e /proc/$$/fd/$i ] && printf '%s ' $i; i=$((i+1)); done";

inline InputSource once(std::string text) {
  return [text = std::move(text)]() mutable { return std::exchange(text, {}); };
}

// Gone, or a zombie that only its new parent has to wait for.
inline bool is_dead(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(") ");
  return name_end == std::string::npos || text[name_end + 2] == 'Z' || text[name_end + 2] == 'X';
}

}  // namespace hookd::process
