#include "base/time.h"

#include <array>
#include <charconv>
#include <cmath>

namespace hookd {
namespace {

using namespace std::chrono;

struct Unit {
  std::string_view name;
  double nanoseconds;
};
// Longer names first, so that "ms" is not read as "m".
constexpr std::array<Unit, 9> kUnits{{{"ns", 1},
                                      {"us", 1e3},
                                      {"\xC2\xB5s", 1e3},
                                      {"\xCE\xBCs", 1e3},
                                      {"ms", 1e6},
                                      {"s", 1e9},
                                      {"m", 60e9},
                                      {"h", 3600e9},
                                      {"d", 86400e9}}};

bool read_digits(std::string_view& text, size_t count, int& value) {
  if (text.size() < count) return false;
  value = 0;
  for (size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return true;
}

bool eat(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return fail(Errc::kConfig, "\"{}\" is not a duration: {}; write it like 30s, 5m, 1h30m or 250ms", text, why);
  };
  if (text == "0") return Duration{0};
  if (text.empty()) return bad("it is empty");
  std::string_view rest = text;
  double total = 0;
  while (!rest.empty()) {
    const size_t length = std::min(rest.find_first_not_of("0123456789."), rest.size());
    double number = 0;
    const auto parsed = std::from_chars(rest.data(), rest.data() + length, number);
    if (length == 0 || parsed.ec != std::errc{} || parsed.ptr != rest.data() + length)
      return bad("a number was expected");
    rest.remove_prefix(length);
    const auto unit =
        std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) { return rest.starts_with(u.name); });
    if (unit == kUnits.end()) return bad(rest.empty() ? "the unit is missing" : "the unit is unknown");
    rest.remove_prefix(unit->name.size());
    total += number * unit->nanoseconds;
  }
  if (total > 9.2e18) return bad("it is over 292 years");
  return Duration(std::llround(total));
}

std::string format_duration(Duration duration) {
  if (duration == Duration::zero()) return "0s";
  if (duration < Duration::zero()) return "-" + format_duration(-duration);
  if (duration < seconds(1)) {
    if (duration >= milliseconds(1)) return fmt::format("{:g}ms", static_cast<double>(duration.count()) / 1e6);
    return fmt::format("{:g}us", static_cast<double>(duration.count()) / 1e3);
  }
  std::string text;
  const auto whole = duration_cast<minutes>(duration).count();
  if (whole >= 60) text += fmt::format("{}h", whole / 60);
  if (whole % 60) text += fmt::format("{}m", whole % 60);
  const double rest = static_cast<double>((duration - minutes(whole)).count()) / 1e9;
  if (rest > 0) text += fmt::format("{:g}s", rest);
  return text;
}

Result<WallTime> parse_rfc3339(std::string_view text) {
  const auto bad = [&] {
    return fail(Errc::kDecode, "\"{}\" is not an RFC 3339 time such as 2026-01-31T12:00:00Z", text);
  };
  std::string_view rest = text;
  int y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0;
  if (!read_digits(rest, 4, y) || !eat(rest, '-') || !read_digits(rest, 2, mo) || !eat(rest, '-') ||
      !read_digits(rest, 2, d))
    return bad();
  if (!eat(rest, 'T') && !eat(rest, 't') && !eat(rest, ' ')) return bad();
  if (!read_digits(rest, 2, h) || !eat(rest, ':') || !read_digits(rest, 2, mi) || !eat(rest, ':') ||
      !read_digits(rest, 2, s))
    return bad();
  int64_t fraction = 0;
  if (eat(rest, '.')) {
    int64_t scale = 100'000'000;
    if (rest.empty() || rest[0] < '0' || rest[0] > '9') return bad();
    while (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') {
      fraction += (rest[0] - '0') * scale;
      scale /= 10;
      rest.remove_prefix(1);
    }
  }
  seconds offset{0};
  if (!eat(rest, 'Z') && !eat(rest, 'z')) {
    const bool minus = eat(rest, '-');
    int oh = 0, om = 0;
    if ((!minus && !eat(rest, '+')) || !read_digits(rest, 2, oh) || !eat(rest, ':') || !read_digits(rest, 2, om))
      return bad();
    if (oh > 23 || om > 59) return bad();
    offset = hours(oh) + minutes(om);
    if (minus) offset = -offset;
  }
  const year_month_day date{year(y), month(static_cast<unsigned>(mo)), day(static_cast<unsigned>(d))};
  if (!rest.empty() || !date.ok() || h > 23 || mi > 59 || s > 60) return bad();
  // Nanoseconds in 64 bits reach from 1677 to 2262; Go's zero time, the year 1, is the one that is met in practice.
  if (y < 1678 || y > 2261) return fail(Errc::kDecode, "{} is outside of the years 1678 to 2261", text);
  return WallTime(sys_days(date) + hours(h) + minutes(mi) + seconds(s) - offset + nanoseconds(fraction));
}

std::string format_rfc3339(WallTime time, int fraction_digits) {
  const auto day_point = floor<days>(time);
  const year_month_day date(day_point);
  const hh_mm_ss clock(time - day_point);
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", int(date.year()), unsigned(date.month()), unsigned(date.day()),
                  clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  if (fraction_digits > 0) {
    const std::string nanos = fmt::format("{:09}", clock.subseconds().count());
    text += '.';
    text += nanos.substr(0, static_cast<size_t>(fraction_digits));
  }
  return text + 'Z';
}

}  // namespace hookd
