// Round trips of mode worker through the real pool and a real process, a core for each: calls of one event with an
// object of a pod's size go out as lines, answers come back. Aim: 50,000 a second, p99 under 1 ms.
//   bench_worker [CALLS [OBJECT_BYTES]]     a line of JSON for each number of open calls
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/log.h"
#include "hook/worker_pool.h"
#include "process/posix_launcher.h"

namespace {

using namespace hookd;

void stay_on(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  ::sched_setaffinity(0, sizeof cpus, &cpus);
}

struct Bench {
  boost::asio::io_context context{1};
  AsioScheduler scheduler{context};
  process::PosixLauncher launcher{scheduler};
  metrics::Registry metrics;
  SystemRandom random;
  std::unique_ptr<hook::WorkerPool> pool;
  cache::ObjectPtr object;
  std::shared_ptr<const kube::ResourceType> type;
  size_t left = 0, answered = 0, failed = 0, next_id = 0;
  std::vector<double> took_us;
  std::map<size_t, std::unique_ptr<hook::OpenCall>> open;

  void call() {
    if (left == 0) return;
    --left;
    const size_t number = next_id++;
    auto made = std::make_shared<hook::Call>();
    made->hook = "bench";
    made->id = fmt::format("{:016x}", number);
    made->reason = "watch";
    hook::Event event;
    event.binding = "pods";
    event.resource = type;
    event.object = object;
    made->events.push_back(std::move(event));
    hook::CallRequest request;
    request.call = std::move(made);
    request.replied = [this, number, began = std::chrono::steady_clock::now()](hook::Reply reply) {
      took_us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began).count());
      failed += reply.kind != hook::Reply::Kind::kAnswered;
      ++answered;
      // As the runner does: the call goes in a turn of its own, then the next may start.
      scheduler.post([this, number] {
        open.erase(number);
        call();
      });
    };
    open.emplace(number, pool->start(std::move(request)));
  }

  void run(size_t calls, int at_once) {
    auto hook = std::make_shared<hook::Hook>();
    hook->name = "bench";
    hook->run.mode = hook::Run::Mode::kWorker;
    hook->run.command = {(std::filesystem::read_symlink("/proc/self/exe").parent_path() / "echo_worker").string(), "1"};
    hook->run.worker.calls_at_once = at_once;
    hook::CallerServices services{scheduler, random, launcher, nullptr, metrics};
    pool = std::make_unique<hook::WorkerPool>(hook, std::move(services));
    left = calls;
    answered = failed = 0;
    took_us.clear();
    took_us.reserve(calls);
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < at_once; ++i) call();
    while (answered < calls && context.run_one() > 0) {
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    std::ranges::sort(took_us);
    const auto at = [&](double share) { return took_us[static_cast<size_t>(share * static_cast<double>(calls - 1))]; };
    fmt::print(
        R"({{"open":{},"calls":{},"failed":{},"per_second":{:.0f},"p50_us":{:.1f},"p99_us":{:.1f},"max_us":{:.1f}}})"
        "\n",
        at_once, calls, failed, static_cast<double>(calls) / seconds, at(0.5), at(0.99), took_us.back());
    pool->close();
    while (pool->lingering() > 0 && context.run_one() > 0) {
    }
    while (context.poll_one() > 0) {
    }
    context.restart();
  }
};

}  // namespace

int main(int argc, char** argv) {
  const size_t calls = argc > 1 ? std::stoul(argv[1]) : 200'000;
  const size_t bytes = argc > 2 ? std::stoul(argv[2]) : 2'000;
  stay_on(0);
  hookd::log::set_level(hookd::log::Level::kWarn);
  Bench bench;
  auto type = std::make_shared<kube::ResourceType>();
  type->version = "v1";
  type->kind = "Pod";
  bench.type = type;
  auto object = std::make_shared<cache::Object>();
  object->name = "web-0";
  object->ns = "a";
  object->uid = "u";
  object->text = cache::PackedText(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-0"},"pad":")" + std::string(bytes, 'x') + "\"}",
      nullptr);
  bench.object = object;
  for (const int at_once : {1, 8, 64}) bench.run(calls, at_once);
}
