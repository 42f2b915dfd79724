// What a start costs: PosixLauncher beside a bare posix_spawn of the same program, with a small heap, 1 GB and 4 GB.
// style.md 4.2 'child processes': with fork it would grow with the heap (62 ms at 1 GB), with posix_spawn it must not.
#include <benchmark/benchmark.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>

#include "process/posix_launcher.h"

namespace {

using namespace hookd;
using namespace hookd::process;

// Touched memory of `bytes`, to make the page tables as large as the daemon's may be.
class Heap {
 public:
  explicit Heap(size_t bytes) : memory_(static_cast<char*>(::malloc(bytes + 1)), &::free) {
    ::memset(memory_.get(), 1, bytes + 1);
    benchmark::DoNotOptimize(memory_.get());
  }

 private:
  std::unique_ptr<char, void (*)(void*)> memory_;
};

size_t heap_bytes(const benchmark::State& state) { return static_cast<size_t>(state.range(0)) << 20; }

void bare_posix_spawn(benchmark::State& state) {
  const Heap heap(heap_bytes(state));
  std::string name = "/bin/true";
  char* argv[] = {name.data(), nullptr};
  char* envp[] = {nullptr};
  for (auto _ : state) {
    pid_t pid = 0;
    if (::posix_spawn(&pid, name.c_str(), nullptr, nullptr, argv, envp) != 0) return state.SkipWithError("posix_spawn");
    ::waitpid(pid, nullptr, 0);
  }
}

bool run(boost::asio::io_context& context, PosixLauncher& launcher, ChildSpec spec, InputSource input) {
  std::optional<int> code;
  ChildHandlers handlers;
  handlers.input = std::move(input);
  handlers.on_exit = [&](ChildExit exit) { code = exit.code; };
  const auto child = launcher.start(std::move(spec), std::move(handlers));
  if (!child) return false;
  context.restart();
  while (!code && context.run_one() != 0) {
  }
  return code == 0;
}

void launcher_true(benchmark::State& state) {
  const Heap heap(heap_bytes(state));
  boost::asio::io_context context;
  AsioScheduler scheduler(context);
  PosixLauncher launcher(scheduler);
  ChildSpec spec;
  spec.command = {"/bin/true"};
  for (auto _ : state)
    if (!run(context, launcher, spec, {})) return state.SkipWithError("launch");
}

void launcher_cat_200kb(benchmark::State& state) {
  const Heap heap(heap_bytes(state));
  boost::asio::io_context context;
  AsioScheduler scheduler(context);
  PosixLauncher launcher(scheduler);
  ChildSpec spec;
  spec.command = {"/bin/cat"};
  const std::string input(200'000, 'x');
  for (auto _ : state) {
    bool given = false;
    const auto source = [&] { return std::exchange(given, true) ? std::string() : input; };
    if (!run(context, launcher, spec, source)) return state.SkipWithError("launch");
  }
  state.SetBytesProcessed(state.iterations() * 200'000);
}

BENCHMARK(bare_posix_spawn)
    ->ArgName("heap_mb")
    ->Arg(0)
    ->Arg(1024)
    ->Arg(4096)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(launcher_true)
    ->ArgName("heap_mb")
    ->Arg(0)
    ->Arg(1024)
    ->Arg(4096)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(launcher_cat_200kb)
    ->ArgName("heap_mb")
    ->Arg(0)
    ->Arg(1024)
    ->Arg(4096)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
