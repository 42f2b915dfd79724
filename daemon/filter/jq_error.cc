#include "filter/jq_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace hookd::filter {
namespace {

bool space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool word(char c) { return letter(c) || digit(c); }

constexpr size_t kOpen = std::string_view::npos;

size_t string_end(std::string_view text, size_t at);

// Where "\( … )" ends; `at` is behind the bracket. kOpen if it does not.
size_t interpolation_end(std::string_view text, size_t at) {
  for (int depth = 1; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at = string_end(text, at);
      continue;
    }
    ++at;
    if (c == '(') ++depth;
    if (c == ')' && --depth == 0) return at;
  }
  return kOpen;
}

// Where the string that begins at `at` ends; kOpen if it does not. Nesting is as deep as the text says; it is short
// (see kMaxExpressionBytes).
size_t string_end(std::string_view text, size_t at) {
  for (++at; at < text.size();) {
    if (text[at] == '"') return at + 1;
    if (text[at] != '\\') {
      ++at;
    } else {
      const bool interpolation = at + 1 < text.size() && text[at + 1] == '(';
      at += 2;
      if (interpolation) at = interpolation_end(text, at);
    }
  }
  return kOpen;
}

size_t word_end(std::string_view text, size_t at) {
  while (at < text.size() &&
         (word(text[at]) || (text.substr(at, 2) == "::" && at + 2 < text.size() && letter(text[at + 2]))))
    at += text[at] == ':' ? 2 : 1;
  return at;
}

size_t number_end(std::string_view text, size_t at) {
  while (at < text.size() && (digit(text[at]) || text[at] == '.')) ++at;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    size_t end = at + 1;
    if (end < text.size() && (text[end] == '+' || text[end] == '-')) ++end;
    if (end < text.size() && digit(text[end])) {
      at = end;
      while (at < text.size() && digit(text[at])) ++at;
    }
  }
  return at;
}

size_t token_end(std::string_view text, size_t at) {
  static constexpr std::array<std::string_view, 15> kOperators{
      "?//=", "?//", "//=", "!=", "==", "//", "|=", "+=", "-=", "*=", "/=", "%=", "<=", ">=", ".."};
  const char c = text[at];
  const char next = at + 1 < text.size() ? text[at + 1] : '\0';
  if (c == '"') return string_end(text, at);
  if (letter(c)) return word_end(text, at);
  if (digit(c) || (c == '.' && digit(next))) return number_end(text, at);
  if ((c == '.' || c == '$' || c == '@') && letter(next)) return word_end(text, at + 1);
  for (const auto op : kOperators)
    if (text.substr(at).starts_with(op)) return at + op.size();
  return at + 1;
}

void drop_part(std::string& text, std::string_view part) {
  if (const size_t at = text.find(part); at != std::string::npos) text.erase(at, part.size());
}

}  // namespace

std::vector<JqToken> jq_tokens(std::string_view expression) {
  std::vector<JqToken> tokens;
  for (size_t at = 0; at < expression.size();) {
    if (space(expression[at])) {
      ++at;
    } else if (expression[at] == '#') {
      at = std::min(expression.find('\n', at), expression.size());
    } else {
      const size_t found = token_end(expression, at);
      const size_t end = std::min(found, expression.size());
      tokens.push_back({at, expression.substr(at, end - at), found != kOpen});
      at = end;
    }
  }
  return tokens;
}

std::string one_token_a_line(const std::vector<JqToken>& tokens) {
  std::string text;
  for (const auto& token : tokens) {
    text += token.text;
    text += '\n';
  }
  return text;
}

JqFault read_jq_report(std::string_view report) {
  constexpr std::string_view kStart = "jq: error: ", kPlace = " at <top-level>, line ";
  JqFault fault;
  if (!report.starts_with(kStart)) return fault;
  report.remove_prefix(kStart.size());
  const size_t place = report.find(kPlace);
  fault.message = report.substr(0, place);
  if (place != std::string_view::npos) {
    const std::string_view number = report.substr(place + kPlace.size());
    std::from_chars(number.data(), number.data() + number.size(), fault.line);
  }
  drop_part(fault.message, "\n<unknown location>");
  while (!fault.message.empty() && space(fault.message.back())) fault.message.pop_back();
  drop_part(fault.message, " (Unix shell quoting issues?)");
  if (const size_t end = fault.message.find("$end"); end != std::string::npos)
    fault.message.replace(end, 4, "end of the text");
  return fault;
}

std::string describe_place(std::string_view expression, size_t at) {
  const std::string_view before = expression.substr(0, at);
  const size_t line_start = before.rfind('\n');
  const size_t column = at - (line_start == std::string_view::npos ? 0 : line_start + 1) + 1;
  if (expression.find('\n') == std::string_view::npos) return fmt::format("column {}", column);
  return fmt::format("line {}, column {}", std::count(before.begin(), before.end(), '\n') + 1, column);
}

}  // namespace hookd::filter
