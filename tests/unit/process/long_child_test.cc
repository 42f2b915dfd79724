// Children that stay: stdin that goes on, stdout that is held back.
#include <csignal>

#include "process/posix_launcher.h"
#include "run_child.h"

namespace hookd::process {
namespace {

using namespace std::chrono_literals;

class LongChildTest : public ChildTest {
 protected:
  void start(std::string script) {
    ChildSpec spec = shell(std::move(script));
    spec.keep_stdin = true;
    spec.stdout_limit_bytes = 0;
    spec.grace = 300ms;
    ChildHandlers handlers;
    handlers.input = [this] {
      ++asked_;
      return std::exchange(input_, {});
    };
    handlers.on_input_refused = [this] { ++refused_; };
    handlers.on_stdout = [this](std::string_view piece) {
      received_ += piece.size();
      if (out_.size() < 1u << 20) out_ += piece;
    };
    handlers.on_stdout_end = [this] { ++stdout_ends_; };
    handlers.on_exit = [this](ChildExit exit) { exit_ = std::move(exit); };
    auto child = launcher_.start(std::move(spec), std::move(handlers));
    ASSERT_TRUE(child) << child.error().what;
    child_ = *std::move(child);
  }
  void say(std::string text) {
    input_ += text;
    child_->more_input();
  }
  // Whatever is under way has its turn.
  void settle() {
    const auto until = std::chrono::steady_clock::now() + 100ms;
    run_until([&] { return std::chrono::steady_clock::now() > until; });
  }

  std::string input_, out_;
  size_t received_ = 0, asked_ = 0;
  int refused_ = 0, stdout_ends_ = 0;
  std::optional<ChildExit> exit_;
  std::unique_ptr<Child> child_;
};

TEST_F(LongChildTest, StdinStaysOpenUntilItIsClosed) {
  start("exec cat");
  for (const char* line : {"one\n", "two\n", "three\n"}) {
    const size_t before = out_.size();
    say(line);
    ASSERT_TRUE(run_until([&] { return out_.size() > before; }));
  }
  EXPECT_EQ(out_, "one\ntwo\nthree\n");
  EXPECT_FALSE(exit_);
  child_->close_input();
  ASSERT_TRUE(run_until([&] { return exit_.has_value(); }));
  EXPECT_EQ(exit_->describe(), "exit code 0");
  EXPECT_FALSE(exit_->stdin_closed_early);
  EXPECT_EQ(refused_, 0);
  EXPECT_EQ(stdout_ends_, 1);
}

TEST_F(LongChildTest, ClosingLetsTheRestThroughFirst) {
  start("exec cat");
  settle();
  input_ = std::string(300'000, 'x');
  child_->close_input();
  ASSERT_TRUE(run_until([&] { return exit_.has_value(); }));
  EXPECT_EQ(received_, 300'000u);
}

TEST_F(LongChildTest, AsksForNothingWhileThereIsNothing) {
  start("exec cat");
  settle();
  const size_t asked = asked_;
  settle();
  EXPECT_EQ(asked_, asked);
  EXPECT_EQ(asked, 1u);
}

// stdout_limit_bytes 0: it is not its whole life that is bounded.
TEST_F(LongChildTest, MayPrintWithoutEnd) {
  start("head -c 50000000 /dev/zero");
  ASSERT_TRUE(run_until([&] { return exit_.has_value(); }));
  EXPECT_EQ(received_, 50'000'000u);
}

TEST_F(LongChildTest, ToldWhenItClosesItsStdin) {
  start("exec <&-; echo closed; sleep 1000");
  ASSERT_TRUE(run_until([&] { return out_ == "closed\n"; }));
  say("x\n");
  ASSERT_TRUE(run_until([&] { return refused_ > 0; }));
  say("y\n");
  settle();
  EXPECT_EQ(refused_, 1);
  EXPECT_FALSE(exit_);
  child_->terminate();
  ASSERT_TRUE(run_until([&] { return exit_.has_value(); }));
  EXPECT_EQ(exit_->signal, SIGTERM);
}

TEST_F(LongChildTest, ToldWhenItIsGoneThoughADescendantHoldsItsOutputs) {
  start("sleep 1000 & exit 3");
  ASSERT_TRUE(run_until([&] { return refused_ > 0 || exit_.has_value(); }));
  EXPECT_EQ(refused_, 1);
  EXPECT_FALSE(exit_);
  ASSERT_TRUE(run_until([&] { return exit_.has_value(); }));
  EXPECT_EQ(exit_->code, 3);
  EXPECT_EQ(refused_, 1);
}

TEST_F(LongChildTest, ToldWhenItClosesItsStdout) {
  start("exec >&-; exec sleep 1000");
  ASSERT_TRUE(run_until([&] { return stdout_ends_ > 0; }));
  EXPECT_FALSE(exit_);
}

TEST_F(LongChildTest, APausedOneBlocksAndLosesNothing) {
  start("head -c 1000000 /dev/zero; echo done >&2");
  child_->pause_output();
  settle();
  EXPECT_EQ(received_, 0u);
  EXPECT_FALSE(exit_);
  child_->resume_output();
  ASSERT_TRUE(run_until([&] { return exit_.has_value(); }));
  EXPECT_EQ(received_, 1'000'000u);
}

TEST_F(LongChildTest, MayBePausedFromItsOwnHandler) {
  start("while echo x; do :; done");
  ASSERT_TRUE(run_until([&] { return received_ > 0; }));
  child_->pause_output();
  settle();
  const size_t before = received_;
  settle();
  EXPECT_EQ(received_, before);
  child_->resume_output();
  child_->resume_output();  // twice is once
  ASSERT_TRUE(run_until([&] { return received_ > before; }));
}

TEST_F(LongChildTest, WhatAPausedOneLeftComesBeforeItsExit) {
  start("echo last words");
  child_->pause_output();
  ASSERT_TRUE(run_until([&] { return exit_.has_value(); }));
  EXPECT_EQ(out_, "last words\n");
}

TEST_F(LongChildTest, DestroyedWhileItIsPausedAndIdle) {
  start("exec cat");
  child_->pause_output();
  settle();
  const int pid = child_->pid();
  child_.reset();
  ASSERT_TRUE(run_until([&] { return is_dead(pid); }));
  EXPECT_FALSE(exit_);
}

}  // namespace
}  // namespace hookd::process
