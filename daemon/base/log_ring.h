// The last lines of the log, in memory: bounded in lines and bytes, the oldest go first. Thread: any.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace hookd::log {

class Ring {
 public:
  struct Line {
    uint64_t number = 0;  // 1, 2, 3, …: a gap tells how many were lost
    std::string json;
    std::string hook;  // field `hook`, "" = none
  };
  struct Limits {
    size_t lines = 2000;
    size_t bytes = size_t{1} << 20;
    size_t line_bytes = size_t{16} << 10;  // a longer one is replaced by a mark of its length
  };
  Ring() = default;
  explicit Ring(Limits limits) : limits_(limits) {}

  void add(std::string json, std::string_view hook);
  // Those with a number above `number`, the oldest first, at most `most`.
  std::vector<Line> after(uint64_t number, size_t most = SIZE_MAX) const;
  // The last `count`, of one hook where `hook` is not "".
  std::vector<Line> last(size_t count, std::string_view hook = {}) const;
  uint64_t newest() const;

 private:
  mutable std::mutex mutex_;
  Limits limits_;
  std::deque<Line> lines_;
  size_t bytes_ = 0;
  uint64_t number_ = 0;
};

}  // namespace hookd::log
