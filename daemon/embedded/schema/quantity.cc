#include "embedded/schema/quantity.h"

#include <algorithm>
#include <array>

namespace hookd::embedded {

namespace {

__extension__ typedef unsigned __int128 Wide;

constexpr std::string_view kNoNumber =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
constexpr std::string_view kNoSuffix = "unable to parse quantity's suffix";
constexpr Wide kLargest = ~Wide{0} / 100'000;  // numbers beyond it (7e33 in units of 1n) stay at it
constexpr Wide kNanos = 1'000'000'000;
constexpr Wide kMaxBinary = (Wide{1} << 63) - 1;

enum class Format : uint8_t { kBinary, kDecimal, kExponent };

struct Suffix {
  std::string_view text;
  int exponent;  // of 2 for kBinary, else of 10
};
constexpr std::array<Suffix, 6> kBinary{{{"Ki", 10}, {"Mi", 20}, {"Gi", 30}, {"Ti", 40}, {"Pi", 50}, {"Ei", 60}}};
constexpr std::array<Suffix, 10> kDecimal{
    {{"n", -9}, {"u", -6}, {"m", -3}, {"", 0}, {"k", 3}, {"M", 6}, {"G", 9}, {"T", 12}, {"P", 15}, {"E", 18}}};

struct Parts {
  bool negative = false;
  std::string digits;  // of the whole part and the fraction
  int fraction = 0;    // how many of them stand behind the point
  int whole = 0;       // how many before it, leading zeros left out
  int exponent = 0;
  Format format = Format::kDecimal;
};

bool digit(char c) { return c >= '0' && c <= '9'; }

std::string_view read_suffix(std::string_view text, Parts& parts) {
  for (const Suffix& suffix : kBinary) {
    if (suffix.text == text) {
      parts.exponent = suffix.exponent;
      parts.format = Format::kBinary;
      return {};
    }
  }
  for (const Suffix& suffix : kDecimal) {
    if (suffix.text == text) {
      parts.exponent = suffix.exponent;
      return {};
    }
  }
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return kNoSuffix;
  const bool negative = text[1] == '-';
  text.remove_prefix(negative || text[1] == '+' ? 2 : 1);
  if (text.empty() || text.size() > 4 || !std::all_of(text.begin(), text.end(), digit)) return kNoSuffix;
  for (const char c : text) parts.exponent = parts.exponent * 10 + (c - '0');
  if (negative) parts.exponent = -parts.exponent;
  parts.format = Format::kExponent;
  return {};
}

// "" = fine, else what is wrong.
std::string_view read(std::string_view text, Parts& parts) {
  if (text.empty()) return kNoNumber;
  size_t at = 0;
  if (text[0] == '-' || text[0] == '+') {
    parts.negative = text[0] == '-';
    at = 1;
  }
  const size_t start = at;
  while (at < text.size() && text[at] == '0') ++at;
  const size_t whole = at;
  while (at < text.size() && digit(text[at])) ++at;
  parts.digits = text.substr(whole, at - whole);
  parts.whole = static_cast<int>(parts.digits.size());
  const bool any = at > start;
  if (at < text.size() && text[at] == '.') {
    const size_t point = ++at;
    while (at < text.size() && digit(text[at])) ++at;
    parts.digits.append(text.substr(point, at - point));
    parts.fraction = static_cast<int>(at - point);
  }
  if (!any && parts.fraction == 0) return kNoNumber;
  const std::string_view suffix = text.substr(at);
  size_t end = std::min(suffix.find_first_not_of("eEinumkKMGTP"), suffix.size());
  if (end < suffix.size() && (suffix[end] == '-' || suffix[end] == '+')) ++end;
  if (!std::all_of(suffix.begin() + static_cast<std::ptrdiff_t>(end), suffix.end(), digit)) return kNoNumber;
  return read_suffix(suffix, parts);
}

Wide times(Wide value, Wide factor) { return value > kLargest / factor ? kLargest : value * factor; }

// In units of 1e-9, rounded up (away from zero).
Wide nanos(const Parts& parts) {
  Wide value = 0;
  int scale = 9 - parts.fraction;
  if (parts.format != Format::kBinary) scale += parts.exponent;
  std::string_view digits = parts.digits;
  bool rest = false;
  // Digits finer than 1n only matter as "there is something".
  while (scale < 0 && !digits.empty() && parts.format != Format::kBinary) {
    rest = rest || digits.back() != '0';
    digits.remove_suffix(1);
    ++scale;
  }
  for (const char c : digits) value = std::min(times(value, 10) + static_cast<unsigned>(c - '0'), kLargest);
  if (parts.format == Format::kBinary) {
    for (int i = 0; i < parts.exponent; ++i) value = times(value, 2);
    for (; scale < 0; ++scale) {
      rest = rest || value % 10 != 0;
      value /= 10;
    }
  }
  for (; scale > 0 && value != 0 && value < kLargest; --scale) value = times(value, 10);
  if (rest) ++value;
  if (parts.format == Format::kBinary) value = std::min(value, kMaxBinary * kNanos);
  return value;
}

std::string digits_of(Wide value) {
  std::string text;
  do {
    text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
    value /= 10;
  } while (value != 0);
  return text;
}

std::string print(Wide value, bool negative, Format format) {
  if (value == 0) return "0";
  const std::string sign = negative ? "-" : "";
  if (format == Format::kBinary && (value < 1024 * kNanos || value % kNanos != 0)) format = Format::kDecimal;
  if (format == Format::kBinary) {
    value /= kNanos;
    size_t power = 0;
    for (; value % 1024 == 0 && power < kBinary.size(); ++power) value /= 1024;
    return sign + digits_of(value) + std::string(power == 0 ? "" : kBinary.at(power - 1).text);
  }
  int exponent = -9;
  while (value % 1000 == 0 && (format == Format::kExponent || exponent < 18)) {
    value /= 1000;
    exponent += 3;
  }
  if (format == Format::kExponent)
    return sign + digits_of(value) + (exponent == 0 ? "" : "e" + std::to_string(exponent));
  return sign + digits_of(value) + std::string(kDecimal.at(static_cast<size_t>((exponent + 9) / 3)).text);
}

// Go keeps the text of what already is canonical by a quick look, sign and "1.500" included.
bool kept_as_written(const Parts& parts) {
  const int places = parts.whole + parts.fraction;
  if (parts.format == Format::kBinary) {
    if (parts.fraction > 0 || parts.whole == 0 || places > 15 - parts.exponent * 3 / 10 - 1) return false;
    unsigned low = 0;  // the number's last three binary digits
    for (const char c : parts.digits) low = (low * 10 + static_cast<unsigned>(c - '0')) & 7U;
    return low != 0;
  }
  const int scale = parts.exponent - parts.fraction;
  return places <= 18 && scale >= -9 && scale % 3 == 0 && parts.whole > 0 && !parts.digits.ends_with("000");
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const size_t begin = std::min(text.find_first_not_of(kBlank), text.size());
  const size_t end = text.find_last_not_of(kBlank);
  return end == std::string_view::npos ? std::string_view() : text.substr(begin, end + 1 - begin);
}

}  // namespace

std::string_view quantity_problem(std::string_view text) {
  Parts parts;
  return read(trim(text), parts);
}

std::optional<std::string> canonical_quantity(std::string_view text) {
  text = trim(text);
  Parts parts;
  if (!read(text, parts).empty()) return std::nullopt;
  if (kept_as_written(parts)) return std::string(text);
  return print(nanos(parts), parts.negative, parts.format);
}

std::optional<std::string> milli_quantity(std::string_view text) {
  text = trim(text);
  Parts parts;
  if (!read(text, parts).empty()) return std::nullopt;
  constexpr Wide kMilli = 1'000'000;
  const Wide value = nanos(parts);
  if (value % kMilli == 0) return canonical_quantity(text);
  return print((value / kMilli + 1) * kMilli, parts.negative, parts.format);
}

std::string add_quantities(std::string_view a, std::string_view b) {
  Parts left, right;
  if (!read(trim(a), left).empty()) left = {};
  if (!read(trim(b), right).empty()) right = {};
  const Wide first = nanos(left), second = nanos(right);
  const Format format = first == 0 ? right.format : left.format;
  if (left.negative == right.negative) return print(first + second, left.negative, format);
  return first >= second ? print(first - second, left.negative, format) : print(second - first, right.negative, format);
}

int compare_quantities(std::string_view a, std::string_view b) {
  Parts left, right;
  if (!read(trim(a), left).empty()) left = {};
  if (!read(trim(b), right).empty()) right = {};
  const Wide first = nanos(left), second = nanos(right);
  if (left.negative != right.negative && (first != 0 || second != 0)) return left.negative ? -1 : 1;
  const int order = first == second ? 0 : first < second ? -1 : 1;
  return left.negative ? -order : order;
}

}  // namespace hookd::embedded
