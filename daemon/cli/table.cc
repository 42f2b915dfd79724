#include "cli/table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/result.h"
#include "cli/control_commands.h"

namespace hookd::cli {
namespace {

size_t letters(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string cut_to(std::string_view text, size_t width) {
  if (letters(text) <= width) return std::string(text);
  size_t end = 0, seen = 0;
  for (; end < text.size(); ++end)
    if ((static_cast<unsigned char>(text[end]) & 0xc0) != 0x80 && seen++ == width - 1) break;
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  for (auto& cell : cells) cell = cut_to(cell, kCellLetters);
  rows_.push_back(std::move(cells));
}

std::string Table::text(size_t width) const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], letters(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += printable(row[i]);
      if (i + 1 < row.size()) line.append(widths[i] - letters(row[i]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += (width > 0 ? cut_to(line, width) : line) + "\n";
  }
  return out;
}

void Table::print() const {
  winsize size{};
  const bool terminal = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  fmt::print("{}", text(terminal ? size.ws_col : 0));
}

}  // namespace hookd::cli
