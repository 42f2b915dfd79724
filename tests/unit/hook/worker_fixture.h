// A pool of workers without processes, for the tests of this folder.
#pragma once

#include <gmock/gmock.h>

#include "base/json_read.h"
#include "hook/worker_pool.h"
#include "unit/support/fake_launcher.h"
#include "unit/support/log_tap.h"
#include "unit/support/objects.h"

namespace hookd::hook {

class WorkerPoolTest : public testing::Test {
 protected:
  using Started = test::FakeLauncher::Started;

  struct Called {
    std::string id;
    std::vector<std::string> said;
    std::optional<Reply> reply;
    std::unique_ptr<OpenCall> open;
  };

  WorkerPoolTest() {
    hook->name = "h";
    hook->run.mode = Run::Mode::kWorker;
    hook->run.command = {"/hooks/w"};
    hook->run.directory = "/hooks";
    hook->run.timeout = std::chrono::seconds(30);
    hook->run.grace = std::chrono::seconds(5);
    hook->run.worker.calls_at_once = 2;
  }

  void make() {
    CallerServices services{scheduler, random, launcher, nullptr, metrics};
    services.answer_limit_bytes = 1000;
    services.kubeconfig = "/run/kubeconfig";
    services.environment = {"PATH=/bin"};
    pool = std::make_unique<WorkerPool>(hook, std::move(services), [this](int) { return memory; });
    run();
  }
  void run() { scheduler.advance({}); }

  Called& call(const std::string& id) {
    auto& called = *calls.emplace_back(std::make_unique<Called>());
    called.id = id;
    auto made = std::make_shared<Call>();
    made->hook = "h";
    made->id = id;
    made->reason = "watch";
    CallRequest request;
    request.call = made;
    request.binding = "pods";
    request.said = [&called](std::string_view line) { called.said.emplace_back(line); };
    request.replied = [&called](Reply reply) {
      EXPECT_FALSE(called.reply) << "two replies";
      called.reply = std::move(reply);
    };
    called.open = pool->start(std::move(request));
    EXPECT_FALSE(called.reply) << "from inside start()";
    return called;
  }

  Started& worker(size_t index) { return *launcher.started.at(index); }
  // The ids of the calls that a worker got since it was last asked.
  static std::vector<std::string> taken(Started& worker) {
    std::vector<std::string> ids;
    const std::string input = worker.read_input();
    for (size_t at = 0; at < input.size();) {
      const size_t end = input.find('\n', at);
      EXPECT_NE(end, std::string::npos) << "a line without its end";
      if (end == std::string::npos) break;
      const auto id = json_string_at(input.substr(at, end - at), {"id"});
      EXPECT_TRUE(id) << input;
      ids.push_back(id.value_or(""));
      at = end + 1;
    }
    return ids;
  }
  static void answer(Started& worker, const std::string& id, const std::string& more = "") {
    worker.print(fmt::format("{{\"id\":\"{}\"{}}}\n", id, more));
  }
  static void die(Started& worker, int signal = 9) {
    process::ChildExit exit;
    exit.kind = process::ChildExit::Kind::kSignalled;
    exit.signal = signal;
    worker.finish(exit);
  }

  ManualScheduler scheduler;
  SeededRandom random;
  test::FakeLauncher launcher{scheduler};
  metrics::Registry metrics;
  std::shared_ptr<Hook> hook = std::make_shared<Hook>();
  uint64_t memory = 0;
  std::unique_ptr<WorkerPool> pool;
  std::vector<std::unique_ptr<Called>> calls;
  test::LogTap log;
};

}  // namespace hookd::hook
