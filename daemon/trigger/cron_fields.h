// The fields of a cron schedule as sets of numbers, and the search for the next local time that they allow; no time
// zones here. Thread: any.
//
// Each field: *, ?, N, N-M, a /STEP behind any of them (N/STEP = N to the field's end), lists with ','; JAN-DEC and
// SUN-SAT in any case; Sunday is 0 or 7. Day of month and day of week: if neither has * or ?, one of them is enough;
// else both must match. Source: cron(5), robfig/cron v2 as in shell-operator.md 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace hookd::trigger {

struct CronFields {
  uint64_t seconds = 1, minutes = 0, hours = 0, days = 0, months = 0, weekdays = 0;  // bit n = the value n fires
  bool any_day = false, any_weekday = false;                                         // written with * or ?
  bool operator==(const CronFields&) const = default;

  bool every_hour() const { return hours == (uint64_t{1} << 24) - 1; }
};

// "0 3 * * *" or, with seconds first, "0 0 3 * * *". Errors: kConfig naming the field.
Result<CronFields> parse_cron_fields(std::string_view text);

// The first allowed local time at or after `local` (seconds since 1970-01-01 00:00 by the local clock); nullopt if
// there is none in the next 50 years.
std::optional<int64_t> next_local(const CronFields& fields, int64_t local);

}  // namespace hookd::trigger
