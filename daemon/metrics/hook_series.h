// The time series that hooks made: by hook, by group, bounded, and gone with the hook. Thread: loop only.
// Source: product.md section 3 (Metric); shell-operator.md section 5 (`group`, `expire`).
//
// A group that an answer gives replaces the group's former series of that hook: they go first, counters too. A series
// without a group stays and adds up. `expire` takes a group away and gives nothing new.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "metrics/registry.h"

namespace hookd::metrics {

class HookSeries {
 public:
  struct Sample {
    Registry::Kind kind = Registry::Kind::kCounter;  // add, set, observe
    bool expire = false;                             // the group alone counts
    std::string name;
    Labels labels;
    double value = 1;
    std::vector<double> buckets;
    std::string group;  // "" = none
  };

  explicit HookSeries(Registry& registry) : registry_(registry) {}

  // All samples of one answer. Returns what was not taken, for the log: kInvalid, kTooLarge.
  std::vector<Error> take(const std::string& hook, const std::vector<Sample>& samples);
  void remove(const std::string& hook);
  size_t count(const std::string& hook) const;

  static constexpr size_t kMaxSeries = 10'000;  // of one hook; a histogram counts as one

 private:
  using Series = std::tuple<std::string, Registry::Kind, Labels>;
  struct Made {
    std::map<Series, std::string> group_of;  // "" = none
    std::map<std::string, std::set<Series>> groups;
  };
  void expire(Made& made, const std::string& group);

  Registry& registry_;
  std::map<std::string, Made> hooks_;
};

}  // namespace hookd::metrics
