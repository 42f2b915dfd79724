#include "embedded/schema/time_text.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/time.h"

namespace hookd::embedded {

namespace {

constexpr std::string_view kZeroTime = "0001-01-01T00:00:00Z";

bool digit(char c) { return c >= '0' && c <= '9'; }

// Reads the layout's parts one after the other; the first that does not fit is the message.
class Reader {
 public:
  Reader(std::string_view text, bool micro)
      : text_(text), rest_(text), layout_(micro ? "2006-01-02T15:04:05.000000Z07:00" : "2006-01-02T15:04:05Z07:00") {}

  std::optional<std::string> problem(bool micro) {
    int year = 0, month = 0, day = 0, ignored = 0;
    const bool read = number(4, "2006", year) && literal("-") && number(2, "01", month) &&
                      range(month, 1, 12, "month") && literal("-") && number(2, "02", day) && literal("T") &&
                      number(2, "15", ignored) && range(ignored, 0, 23, "hour") && literal(":") &&
                      number(2, "04", ignored) && range(ignored, 0, 59, "minute") && literal(":") &&
                      number(2, "05", ignored) && range(ignored, 0, 59, "second") &&
                      (micro ? six_digits() : fraction()) && zone();
    if (!read) return error_;
    const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                           std::chrono::day(static_cast<unsigned>(day))};
    if (!date.ok()) return quoted() + ": day out of range";
    if (!rest_.empty()) return quoted() + ": extra text: \"" + std::string(rest_) + "\"";
    return std::nullopt;
  }

 private:
  std::string quoted() const { return "parsing time \"" + std::string(text_) + "\""; }
  bool bad(std::string_view part) {
    error_ = quoted() + " as \"" + std::string(layout_) + "\": cannot parse \"" + std::string(rest_) + "\" as \"" +
             std::string(part) + "\"";
    return false;
  }
  bool literal(std::string_view part) {
    if (!rest_.starts_with(part)) return bad(part);
    rest_.remove_prefix(part.size());
    return true;
  }
  bool number(size_t digits, std::string_view part, int& value) {
    if (rest_.size() < digits || !std::all_of(rest_.begin(), rest_.begin() + digits, digit)) return bad(part);
    value = 0;
    for (const char c : rest_.substr(0, digits)) value = value * 10 + (c - '0');
    rest_.remove_prefix(digits);
    return true;
  }
  bool range(int value, int low, int high, std::string_view what) {
    if (value >= low && value <= high) return true;
    error_ = quoted() + ": " + std::string(what) + " out of range";
    return false;
  }
  bool fraction() {  // may be there, of any length
    if (rest_.size() < 2 || rest_[0] != '.' || !digit(rest_[1])) return true;
    rest_.remove_prefix(std::min(rest_.find_first_not_of("0123456789", 1), rest_.size()));
    return true;
  }
  bool six_digits() {
    constexpr size_t kSize = 7;  // with the point
    if (rest_.size() < kSize || rest_[0] != '.' || !std::all_of(rest_.begin() + 1, rest_.begin() + kSize, digit)) {
      return bad(".000000");
    }
    rest_.remove_prefix(kSize);
    return true;
  }
  bool zone() {
    if (rest_.starts_with('Z')) return literal("Z");
    const auto fits = [this] {
      return rest_.size() >= 6 && (rest_[0] == '+' || rest_[0] == '-') && digit(rest_[1]) && digit(rest_[2]) &&
             rest_[3] == ':' && digit(rest_[4]) && digit(rest_[5]);
    };
    if (!fits()) return bad("Z07:00");
    rest_.remove_prefix(6);
    return true;
  }

  std::string_view text_, rest_, layout_;
  std::string error_;
};

}  // namespace

std::expected<std::string, std::string> canonical_time(std::string_view text, bool micro) {
  if (auto problem = Reader(text, micro).problem(micro)) return std::unexpected(std::move(*problem));
  if (text == kZeroTime) return "";
  const auto parsed = parse_rfc3339(text);
  if (!parsed) return std::string(text);  // a year that our clock cannot hold stays as it was sent
  return format_rfc3339(*parsed, micro ? 6 : 0);
}

}  // namespace hookd::embedded
