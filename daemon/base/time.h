// Durations and times as people and Kubernetes write them. Thread: any.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/scheduler.h"

namespace hookd {

// "30s", "1h30m", "250ms", "1.5h", "2d" (Go's units ns us µs ms s m h, and d = 24h). "0" needs no unit.
// Negative and bare numbers are refused. Errors: kConfig with what was expected.
Result<Duration> parse_duration(std::string_view text);
std::string format_duration(Duration duration);  // "1m30s", "250ms", "0s"

// RFC 3339 with optional fraction and Z or an offset. Errors: kDecode, also for years before 1678 or after 2261.
Result<WallTime> parse_rfc3339(std::string_view text);
// UTC with `fraction_digits` (0, 3, 6 or 9) digits: metav1.Time has 0, MicroTime 6.
std::string format_rfc3339(WallTime time, int fraction_digits = 0);

}  // namespace hookd
