#include "trigger/cron_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace hookd::trigger {
namespace {

using namespace std::chrono;

constexpr int kSearchYears = 50;  // 29 February on one weekday can be 40 years away (over 2100)

constexpr std::array<std::string_view, 12> kMonths{"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                   "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> kWeekdays{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};

struct FieldKind {
  std::string_view name;
  unsigned low, high;
  std::span<const std::string_view> names;
  unsigned name_base;  // the number of the first name
};
const std::array<FieldKind, 6> kFields{{{"second", 0, 59, {}, 0},
                                        {"minute", 0, 59, {}, 0},
                                        {"hour", 0, 23, {}, 0},
                                        {"day of month", 1, 31, {}, 0},
                                        {"month", 1, 12, kMonths, 1},
                                        {"day of week", 0, 6, kWeekdays, 0}}};

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return result;
}

class FieldParser {
 public:
  FieldParser(const FieldKind& kind, std::string_view text) : kind_(kind), text_(text) {}

  Result<void> parse(uint64_t& bits, bool& any) {
    std::string_view rest = text_;
    bits = 0;
    for (;;) {
      const size_t comma = rest.find(',');
      HOOKD_CHECK(part(rest.substr(0, comma), bits, any));
      if (comma == std::string_view::npos) return {};
      rest.remove_prefix(comma + 1);
    }
  }

 private:
  bool weekday() const { return kind_.names.data() == kWeekdays.data(); }

  Failure bad(std::string_view why) const { return fail(Errc::kConfig, "{} \"{}\": {}", kind_.name, text_, why); }

  static bool last_day(std::string_view big) {  // L, 5L, FRIL
    if (!big.ends_with('L')) return false;
    big.remove_suffix(1);
    return big.find_first_not_of("0123456789") == std::string_view::npos ||
           std::find(kWeekdays.begin(), kWeekdays.end(), big) != kWeekdays.end();
  }

  Failure bad_value(std::string_view text) const {
    if (text.empty()) return bad("a value is missing");
    const std::string big = upper(text);
    if (text.find('#') != std::string_view::npos)
      return bad(
          "# (the n-th weekday of the month) is not supported; name the days of the month and let the hook check the "
          "weekday");
    if (last_day(big))
      return bad("L (the last day) is not supported; name 28-31 and let the hook check, or the 1st of the next month");
    if (big == "W" || big == "LW" || (big.ends_with("W") && big.find_first_not_of("0123456789W") == std::string::npos))
      return bad("W (the nearest working day) is not supported; name the weekdays MON-FRI instead");
    if (big.starts_with("H")) return bad("H is not supported; name a value and use jitter to spread the load");
    if (!kind_.names.empty())
      return bad(
          fmt::format("\"{}\" is neither a number nor a name ({}-{})", text, kind_.names.front(), kind_.names.back()));
    return bad(fmt::format("\"{}\" is not a number", text));
  }

  Result<unsigned> number(std::string_view text) const {
    unsigned value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec == std::errc::invalid_argument || parsed.ptr != text.data() + text.size()) return bad_value(text);
    return parsed.ec == std::errc{} ? value : UINT32_MAX;
  }

  Result<unsigned> value(std::string_view text) const {
    const std::string big = upper(text);
    for (size_t i = 0; i < kind_.names.size(); ++i)
      if (big == kind_.names[i]) return kind_.name_base + static_cast<unsigned>(i);
    HOOKD_TRY(const unsigned result, number(text));
    const unsigned high = weekday() ? 7 : kind_.high;  // Sunday is 0 and 7
    if (result < kind_.low || result > high) return bad(fmt::format("{} is not in {}-{}", text, kind_.low, high));
    return result;
  }

  // One part of the list: *, N, N-M, each with or without /STEP.
  Result<void> part(std::string_view text, uint64_t& bits, bool& any) const {
    const size_t slash = text.find('/');
    const std::string_view range = text.substr(0, slash);
    unsigned low = kind_.low, high = kind_.high, step = 1;
    if (range == "*" || range == "?") {
      any = true;
    } else if (const size_t dash = range.find('-'); dash != std::string_view::npos) {
      HOOKD_TRY(low, value(range.substr(0, dash)));
      HOOKD_TRY(high, value(range.substr(dash + 1)));
      if (weekday() && high == 0 && low > 0 && upper(range.substr(dash + 1)) == "SUN") high = 7;
      if (low > high)
        return bad(fmt::format("the range {} runs backwards; write it as two: {}-{},{}-{}", range, low, kind_.high,
                               kind_.low, high));
    } else {
      HOOKD_TRY(low, value(range));
      high = slash == std::string_view::npos ? low : std::max(low, kind_.high);
    }
    if (slash != std::string_view::npos) {
      HOOKD_TRY(step, number(text.substr(slash + 1)));
      if (step == 0) return bad("a step of 0 would never move on; write 1 or more");
    }
    for (unsigned i = low; i <= high; i += step) {
      bits |= uint64_t{1} << (weekday() ? i % 7 : i);
      if (step > high) break;
    }
    return {};
  }

  const FieldKind& kind_;
  std::string_view text_;
};

bool has(uint64_t bits, unsigned value) { return (bits >> value) & 1; }

// The lowest set bit at or above `from`.
std::optional<unsigned> at_or_after(uint64_t bits, unsigned from) {
  if (from > 63 || (bits >> from) == 0) return std::nullopt;
  return from + static_cast<unsigned>(std::countr_zero(bits >> from));
}

bool day_allowed(const CronFields& fields, year_month_day date) {
  const bool day = has(fields.days, unsigned(date.day()));
  const bool weekday_ok = has(fields.weekdays, weekday(local_days(date)).c_encoding());
  return fields.any_day || fields.any_weekday ? day && weekday_ok : day || weekday_ok;
}

// The first allowed second of the day at or after `from`.
std::optional<unsigned> second_of_day(const CronFields& fields, unsigned from) {
  const unsigned from_hour = from / 3600, from_minute = from / 60 % 60, from_second = from % 60;
  for (auto hour = at_or_after(fields.hours, from_hour); hour; hour = at_or_after(fields.hours, *hour + 1)) {
    const bool same_hour = *hour == from_hour;
    for (auto minute = at_or_after(fields.minutes, same_hour ? from_minute : 0); minute;
         minute = at_or_after(fields.minutes, *minute + 1)) {
      const auto second = at_or_after(fields.seconds, same_hour && *minute == from_minute ? from_second : 0);
      if (second) return *hour * 3600 + *minute * 60 + *second;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<CronFields> parse_cron_fields(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; (at = text.find_first_not_of(" \t", at)) != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(" \t", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  if (words.size() != 5 && words.size() != 6)
    return fail(Errc::kConfig,
                "{} field{}; expected 5 (minute, hour, day of month, month, day of week) or 6 with the second first{}",
                words.size(), words.size() == 1 ? "" : "s", words.size() == 7 ? "; a year is not supported" : "");
  CronFields fields;
  std::array<uint64_t*, 6> sets{&fields.seconds, &fields.minutes, &fields.hours,
                                &fields.days,    &fields.months,  &fields.weekdays};
  const size_t first = 6 - words.size();
  for (size_t i = first; i < 6; ++i) {
    bool any = false;
    HOOKD_CHECK(FieldParser(kFields[i], words[i - first]).parse(*sets[i], any));
    if (i == 3) fields.any_day = any;
    if (i == 5) fields.any_weekday = any;
  }
  return fields;
}

std::optional<int64_t> next_local(const CronFields& fields, int64_t local) {
  const local_seconds start{seconds(local)};
  const auto first_day = floor<days>(start);
  auto from = static_cast<unsigned>((start - first_day).count());
  year_month_day date(first_day);
  const year last = date.year() + years(kSearchYears);
  while (date.year() <= last) {
    if (!has(fields.months, unsigned(date.month()))) {
      date = year_month_day(date.year(), date.month(), day(1)) + months(1);
      from = 0;
      continue;
    }
    if (day_allowed(fields, date)) {
      if (const auto second = second_of_day(fields, from))
        return (local_days(date).time_since_epoch() + seconds(*second)) / seconds(1);
    }
    date = year_month_day(local_days(date) + days(1));
    from = 0;
  }
  return std::nullopt;
}

}  // namespace hookd::trigger
