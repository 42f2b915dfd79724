// Columns for people: as wide as their widest cell, the last one to the end of the line. Thread: any.
#pragma once

#include <string>
#include <vector>

namespace hookd::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> titles) : rows_{std::move(titles)} {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.size() == 1; }
  // On a terminal `width` columns wide lines are cut to it; 0 = they are not.
  std::string text(size_t width) const;
  void print() const;  // to stdout, cut to its terminal

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace hookd::cli
