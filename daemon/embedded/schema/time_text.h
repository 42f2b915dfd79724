// Times in objects as Go reads and prints them. Thread: any.
// Source: metav1.Time (RFC 3339, seconds) and MicroTime (exactly six digits of fraction).
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace hookd::embedded {

// UTC, without fraction or (`micro`) with six digits; "" for the zero time, which is printed as null. Errors: Go's
// text, `parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"`.
std::expected<std::string, std::string> canonical_time(std::string_view text, bool micro);

}  // namespace hookd::embedded
