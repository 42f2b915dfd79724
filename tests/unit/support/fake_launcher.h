// A process::Launcher without processes: what was started is kept, and the test (or a script) says what the child does.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/scheduler.h"
#include "process/launcher.h"

namespace hookd::test {

class FakeLauncher final : public process::Launcher {
 public:
  struct Started {
    process::ChildSpec spec;
    process::ChildHandlers handlers;
    bool over = false;        // it exited, or its Child was destroyed
    bool killed = false;      // its Child was destroyed before it exited
    bool terminated = false;  // terminate() was called
    size_t input_offers = 0;  // more_input() calls; read_input() takes what there is
    bool input_closed = false;
    bool paused = false;

    // All of stdin, and how much of it came at once at most.
    std::string read_input() {
      std::string all;
      while (handlers.input) {
        const std::string piece = handlers.input();
        if (piece.empty()) break;
        largest_piece = std::max(largest_piece, piece.size());
        all += piece;
      }
      return all;
    }
    void print(std::string_view text) { handlers.on_stdout(text); }
    void complain(std::string_view text) { handlers.on_stderr(text); }
    void finish(process::ChildExit exit) {
      ASSERT_FALSE(over);
      over = true;
      const auto handler = handlers.on_exit;
      handler(exit);
    }
    void exit(int code) {
      process::ChildExit exit;
      exit.code = code;
      finish(exit);
    }
    std::string environment(std::string_view name) const {
      for (const std::string& entry : spec.environment)
        if (entry.starts_with(name) && entry.size() > name.size() && entry[name.size()] == '=')
          return entry.substr(name.size() + 1);
      return {};
    }
    size_t largest_piece = 0;
  };
  using Script = std::function<void(const std::shared_ptr<Started>&)>;

  explicit FakeLauncher(Scheduler& scheduler) : scheduler_(scheduler) {}

  Result<std::unique_ptr<process::Child>> start(process::ChildSpec spec, process::ChildHandlers handlers) override {
    if (refusal) return Failure(*refusal);
    auto child = std::make_shared<Started>();
    child->spec = std::move(spec);
    child->handlers = std::move(handlers);
    started.push_back(child);
    if (script)
      scheduler_.post([this, child] {
        if (!child->over) script(child);
      });
    return std::make_unique<Handle>(child);
  }

  // The youngest child.
  Started& last() { return *started.back(); }

  std::vector<std::shared_ptr<Started>> started;
  Script script;                 // what each child does; empty: the test does it by hand
  std::optional<Error> refusal;  // nothing can be started

 private:
  struct Handle final : process::Child {
    explicit Handle(std::shared_ptr<Started> c) : child(std::move(c)) {}
    ~Handle() override {
      if (!child->over) child->killed = true;
      child->over = true;
    }
    int pid() const override { return 1; }
    void terminate() override { child->terminated = true; }
    void more_input() override { ++child->input_offers; }
    void close_input() override { child->input_closed = true; }
    void pause_output() override { child->paused = true; }
    void resume_output() override { child->paused = false; }
    std::shared_ptr<Started> child;
  };

  Scheduler& scheduler_;
};

}  // namespace hookd::test
