// Randomness for jitter and ids, behind a seam so that tests are repeatable. Thread: loop only.
#pragma once

#include <cstdint>
#include <random>

namespace hookd {

class Random {
 public:
  virtual ~Random() = default;
  virtual uint64_t bits() = 0;
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }  // [0, 1)
};

class SystemRandom final : public Random {
 public:
  uint64_t bits() override { return engine_(); }

 private:
  std::mt19937_64 engine_{(uint64_t{std::random_device{}()} << 32) ^ std::random_device{}()};
};

// The same sequence for the same seed.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(uint64_t seed = 1) : engine_(seed) {}
  uint64_t bits() override { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace hookd
