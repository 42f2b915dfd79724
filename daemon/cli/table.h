// Columns for people: as wide as their widest cell, the last one to the end of the line. A cell has kCellLetters at
// most, whoever reads it (an error of RBAC may have 4 KiB); the whole text stands in `hookd runs ID`. Thread: any.
#pragma once

#include <string>
#include <vector>

namespace hookd::cli {

class Table {
 public:
  explicit Table(std::vector<std::string> titles) : rows_{std::move(titles)} {}
  static constexpr size_t kCellLetters = 500;

  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.size() == 1; }
  // On a terminal `width` columns wide lines are cut to it; 0 = they are not.
  std::string text(size_t width) const;
  void print() const;  // to stdout, cut to its terminal

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace hookd::cli
