// Bare posix_spawn of a program, some at once: `bench_spawn COUNT AT_ONCE PROGRAM [ARGUMENT...]` prints starts a
// second. What bench_runtime.py holds hookd's calls beside.
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <chrono>

int main(int argc, char** argv) {
  if (argc < 4) return fprintf(stderr, "usage: bench_spawn COUNT AT_ONCE PROGRAM [ARGUMENT...]\n"), 2;
  const int count = atoi(argv[1]);
  const int at_once = atoi(argv[2]);
  const auto began = std::chrono::steady_clock::now();
  int started = 0;
  int running = 0;
  for (int ended = 0; ended < count; ++ended) {
    for (; running < at_once && started < count; ++running, ++started) {
      pid_t pid = 0;
      if (posix_spawn(&pid, argv[3], nullptr, nullptr, argv + 3, environ) != 0) return perror(argv[3]), 1;
    }
    if (wait(nullptr) < 0) return perror("wait"), 1;
    --running;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  printf("%.1f\n", count / took.count());
}
