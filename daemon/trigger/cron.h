// A cron schedule: when does it fire next? Pure, on wall time. Thread: any.
//
//   5 fields  minute hour day-of-month month day-of-week        "0 3 * * *"
//   6 fields  second first                                      "*/10 * * * * *"
//   @yearly @annually @monthly @weekly @daily @midnight @hourly, @every 1h30m
//   a prefix TZ=Europe/Berlin or CRON_TZ=Europe/Berlin
//
// What stands in a field: cron_fields.h.
//
// Clock changes: with all 24 hours allowed, the schedule fires by the real clock, in each hour that passes. Otherwise
// a time that the clock skips fires once, at the first moment after the gap, and a time that comes twice fires once,
// the first time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/scheduler.h"
#include "trigger/cron_fields.h"

namespace date {
class time_zone;
}

namespace hookd::trigger {

class Cron {
 public:
  // `time_zone`: a name of the tz database; "" = UTC; "Local" = where the daemon is (TZ, /etc/localtime, else UTC). A
  // prefix in the text may not contradict it. Errors: kConfig, with the field and what was expected, for a schedule
  // that never fires, and for an unknown zone (with the nearest name).
  static Result<Cron> parse(std::string_view text, std::string_view time_zone);

  // The first time after `after` at which it fires; nullopt if that would be after the year 2250.
  // @every: `after` plus the interval, cut to whole seconds.
  std::optional<WallTime> next(WallTime after) const;

  const std::string& text() const { return text_; }
  std::string zone_name() const;

 private:
  Cron() = default;

  std::string text_;
  CronFields fields_;
  Duration every_{0};                      // > 0: @every
  const date::time_zone* zone_ = nullptr;  // owned by the tz database, which lives as long as the program; null = UTC
};

// Would Cron::parse take it? As the loader of hooks asks (hook::CronCheck).
Result<void> check_cron(std::string_view text, std::string_view time_zone);

}  // namespace hookd::trigger
