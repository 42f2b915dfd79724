#include "config/yaml_scalar.h"

#include <charconv>

namespace hookd::config {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool all_of(std::string_view text, bool (*predicate)(char)) {
  return !text.empty() && std::ranges::all_of(text, predicate);
}

void eat_sign(std::string_view& text) {
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
}

size_t eat_digits(std::string_view& text) {
  size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  text.remove_prefix(count);
  return count;
}

bool is_int(std::string_view text) {
  if (text.starts_with("0x"))
    return all_of(text.substr(2),
                  [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); });
  if (text.starts_with("0o")) return all_of(text.substr(2), [](char c) { return c >= '0' && c <= '7'; });
  eat_sign(text);
  return all_of(text, is_digit);
}

bool is_float(std::string_view text) {
  if (text == ".nan" || text == ".NaN" || text == ".NAN") return true;
  eat_sign(text);
  if (text == ".inf" || text == ".Inf" || text == ".INF") return true;
  size_t digits = eat_digits(text);
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    digits += eat_digits(text);
  }
  if (digits == 0) return false;
  if (!text.empty() && (text[0] == 'e' || text[0] == 'E')) {
    text.remove_prefix(1);
    eat_sign(text);
    if (eat_digits(text) == 0) return false;
  }
  return text.empty();
}

Result<std::string> radix_number(std::string_view digits, int base, std::string_view whole) {
  uint64_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + digits.size())
    return fail(Errc::kConfig, "the number {} is over 64 bits", whole);
  return std::to_string(value);
}

}  // namespace

Node::Kind resolve_plain(std::string_view text) {
  using Kind = Node::Kind;
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return Kind::kNull;
  if (text == "true" || text == "True" || text == "TRUE" || text == "false" || text == "False" || text == "FALSE")
    return Kind::kBool;
  const char first = text[0];
  if (!is_digit(first) && first != '+' && first != '-' && first != '.') return Kind::kString;
  if (is_int(text)) return Kind::kInt;
  return is_float(text) ? Kind::kFloat : Kind::kString;
}

Result<std::string> json_number(const Node& node) {
  const std::string_view text = node.text;
  if (text.starts_with("0x")) return radix_number(text.substr(2), 16, text);
  if (text.starts_with("0o")) return radix_number(text.substr(2), 8, text);
  std::string_view rest = text;
  std::string out;
  if (!rest.empty() && rest[0] == '-') out = "-";
  eat_sign(rest);
  if (rest.size() > 1 && rest[0] == '0' && is_digit(rest[1])) {
    return fail(Errc::kConfig,
                "{0} has a leading zero, which some read as octal and some as decimal; write 0o{1} for octal, the "
                "number without the zero for decimal, \"{0}\" for text",
                text, rest.substr(std::min(rest.find_first_not_of('0'), rest.size() - 1)));
  }
  if (node.kind == Node::Kind::kInt) return out + std::string(rest);
  if (rest.ends_with("inf") || rest.ends_with("Inf") || rest.ends_with("INF") || text == ".nan" || text == ".NaN" ||
      text == ".NAN")
    return fail(Errc::kConfig, "{} is no number that JSON knows", text);
  const std::string_view mantissa = rest.substr(0, rest.find_first_of("eE"));
  const std::string_view exponent = rest.substr(mantissa.size());
  const size_t dot = mantissa.find('.');
  const std::string_view whole = mantissa.substr(0, dot);
  const std::string_view fraction = dot == std::string_view::npos ? std::string_view{} : mantissa.substr(dot + 1);
  out += whole.empty() ? "0" : whole;
  if (!fraction.empty()) out.append(".").append(fraction);
  out += exponent;
  return out;
}

}  // namespace hookd::config
