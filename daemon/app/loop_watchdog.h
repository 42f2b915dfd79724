// Tells when the event loop stands still, and in what: then nothing is watched, called or answered, /healthz neither,
// and without this nobody would know why. A thread of its own, which only reads.
//
// It ends nothing: Kubernetes restarts a pod whose /healthz does not answer, and a stop of a second or two (a large
// file, a slow disk) goes by itself. Once past kStill, then every kAgain.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace hookd::app {

class LoopWatchdog {
 public:
  using Time = std::chrono::milliseconds;
  struct Times {
    Time still{2000};   // without a beat
    Time again{60000};  // told once more
    Time look{250};     // the loop beats every 100 ms
  };
  LoopWatchdog() : LoopWatchdog(Times{}) {}
  explicit LoopWatchdog(Times times) : times_(times) {}

  void start();              // the thread; ends with this
  void beat() { ++beats_; }  // thread: the loop's

 private:
  void watch(const std::stop_token& stop);

  Times times_;
  std::atomic<uint64_t> beats_ = 0;
  std::jthread thread_;
};

}  // namespace hookd::app
