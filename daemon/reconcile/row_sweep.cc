#include "reconcile/row_sweep.h"

namespace hookd::reconcile {

void RowSweep::start(state::Store& store, Scheduler& scheduler, std::string table, std::string prefix,
                     std::function<bool(const std::string&)> keep) {
  table_ = std::move(table);
  prefix_ = std::move(prefix);
  keep_ = std::move(keep);
  page(store, scheduler, "");
}

void RowSweep::page(state::Store& store, Scheduler& scheduler, std::string after) {
  const auto rows = store.page(table_, prefix_, after, kPage);
  for (const auto& [key, value] : rows)
    if (!keep_(key.substr(prefix_.size()))) store.erase(table_, key);
  if (rows.size() < kPage) {
    keep_ = nullptr;
    return;
  }
  timer_ = scheduler.after(Duration::zero(),
                           [this, &store, &scheduler, last = rows.back().first] { page(store, scheduler, last); });
}

}  // namespace hookd::reconcile
