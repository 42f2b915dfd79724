// Rows that are not on disk yet: the newest value of each, or that it is to go. Plain value. Thread: loop only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace hookd::state {

class WaitingRows {
 public:
  using Place = std::pair<std::string, std::string>;                      // table, key
  using Rows = std::map<Place, std::optional<std::string>, std::less<>>;  // nullopt = erase it

  void set(std::string_view table, std::string_view key, std::optional<std::string> value) {
    rows_.insert_or_assign(Place(table, key), std::move(value));
  }
  // Null: nothing waits for that row.
  const std::optional<std::string>* find(std::string_view table, std::string_view key) const {
    const auto row = rows_.find(Place(table, key));
    return row == rows_.end() ? nullptr : &row->second;
  }
  Rows& rows() { return rows_; }
  const Rows& rows() const { return rows_; }
  bool empty() const { return rows_.empty(); }
  size_t size() const { return rows_.size(); }

 private:
  Rows rows_;
};

}  // namespace hookd::state
