// How many deletes and writes a hook may make within a time (what it does: hook/guard.h). Thread: any once loaded.
//
//   guard: {deletes: 20/1m, writes: 600/1m}
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/scheduler.h"

namespace hookd::config {

class Reader;

// Unset = no limit.
struct Guard {
  struct Rate {
    int64_t count = 0;
    Duration per{0};
    bool operator==(const Rate&) const = default;
  };
  std::optional<Rate> deletes;
  std::optional<Rate> writes;  // of every kind, deletes too
  bool operator==(const Guard&) const = default;
};

// COUNT/TIME, 1 to 1,000,000 within 1s to 24h. Errors: kConfig.
Result<Guard::Rate> parse_rate(std::string_view text);

// The map `guard` of `section`; problems are reported there.
void read_guard(Reader& section, Guard& out);

}  // namespace hookd::config
