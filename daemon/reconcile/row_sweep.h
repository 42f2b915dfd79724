// Takes rows out of a table of the store that are of nothing any more, page by page. Thread: loop only.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/scheduler.h"
#include "state/store.h"

namespace hookd::reconcile {

class RowSweep {
 public:
  // `keep` is asked of each row, by what of its key stands behind `prefix`. What is under way is replaced.
  void start(state::Store& store, Scheduler& scheduler, std::string table, std::string prefix,
             std::function<bool(const std::string& rest)> keep);
  bool under_way() const { return timer_.pending(); }

  static constexpr size_t kPage = 200;  // rows of one slice

 private:
  void page(state::Store& store, Scheduler& scheduler, std::string after);

  std::string table_, prefix_;
  std::function<bool(const std::string&)> keep_;
  Timer timer_;
};

}  // namespace hookd::reconcile
