// The records that are written while it lives. Do not nest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"

namespace hookd::test {

class LogTap {
 public:
  LogTap() {
    log::set_tap([this](log::Level level, std::string_view line) { records.push_back({level, std::string(line)}); });
  }
  ~LogTap() { log::set_tap({}); }
  LogTap(const LogTap&) = delete;
  LogTap& operator=(const LogTap&) = delete;

  struct Record {
    log::Level level;
    std::string line;
  };
  size_t count(std::string_view part) const {
    size_t found = 0;
    for (const Record& record : records) found += record.line.find(part) != std::string::npos;
    return found;
  }
  // The first record with that text; an empty one if there is none.
  Record first(std::string_view part) const {
    for (const Record& record : records)
      if (record.line.find(part) != std::string::npos) return record;
    return {log::Level::kDebug, ""};
  }
  std::vector<Record> records;
};

}  // namespace hookd::test
