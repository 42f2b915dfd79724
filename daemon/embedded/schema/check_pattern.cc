#include <boost/regex.hpp>
#include <map>
#include <utility>

#include "embedded/schema/check_format.h"

namespace hookd::embedded {

namespace {

// One wchar_t (32 bits here) a code point, so that "." and lengths count characters. Bytes that are no UTF-8 count one.
std::wstring wide(std::string_view text) {
  std::wstring out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t length = byte < 0x80 ? 1 : byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    if (length == 1 || i + length > text.size()) {
      out.push_back(static_cast<wchar_t>(byte));
      ++i;
      continue;
    }
    uint32_t code = byte & (0xFFu >> (length + 1));
    for (size_t k = 1; k < length; ++k) code = (code << 6) | (static_cast<unsigned char>(text[i + k]) & 0x3Fu);
    out.push_back(static_cast<wchar_t>(code));
    i += length;
  }
  return out;
}

// The spellings of RE2 that Boost.Regex knows under another name. Classes of letters outside ASCII come out narrower.
std::string translated(std::string_view pattern) {
  static constexpr std::pair<std::string_view, std::string_view> kSame[] = {
      {"(?P<", "(?<"},    {"\\p{L}", "\\w"}, {"\\pL", "\\w"}, {"\\p{Lu}", "\\u"},
      {"\\p{Ll}", "\\l"}, {"\\p{N}", "\\d"}, {"\\pN", "\\d"}, {"\\p{Nd}", "\\d"}};
  std::string out;
  for (size_t i = 0; i < pattern.size();) {
    bool found = false;
    for (const auto& [re2, boost] : kSame) {
      if (!pattern.substr(i).starts_with(re2)) continue;
      out += boost;
      i += re2.size();
      found = true;
      break;
    }
    if (found) continue;
    if (pattern[i] == '\\' && i + 1 < pattern.size()) out += pattern[i++];
    out += pattern[i++];
  }
  return out;
}

// Perl syntax that RE2 leaves out on purpose: look-around and back references.
std::string not_in_re2(std::string_view pattern) {
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      if (i + 1 < pattern.size() && pattern[i + 1] >= '1' && pattern[i + 1] <= '9')
        return "invalid escape sequence: `" + std::string(pattern.substr(i, 2)) + "`";
      ++i;
    } else if (pattern[i] == '[') {
      in_class = true;
    } else if (pattern[i] == ']') {
      in_class = false;
    } else if (!in_class) {
      for (std::string_view look : {"(?=", "(?!", "(?<=", "(?<!"})
        if (pattern.substr(i).starts_with(look))
          return "invalid or unsupported Perl syntax: `" + std::string(look.substr(0, look[2] == '<' ? 4 : 3)) + "`";
    }
  }
  return "";
}

std::string reason(const boost::regex_error& error, const std::string& pattern) {
  switch (error.code()) {
    case boost::regex_constants::error_paren:
      return (pattern.find('(') == std::string::npos ? "unexpected ): `" : "missing closing ): `") + pattern + "`";
    case boost::regex_constants::error_brack: {
      const size_t open = pattern.rfind('[');
      return "missing closing ]: `" + (open == std::string::npos ? pattern : pattern.substr(open)) + "`";
    }
    case boost::regex_constants::error_badrepeat:
      return "missing argument to repetition operator: `" +
             pattern.substr(std::min<size_t>(static_cast<size_t>(error.position()), pattern.size()), 1) + "`";
    case boost::regex_constants::error_range:
      return "invalid character class range: `" + pattern + "`";
    default:
      return "invalid pattern: `" + pattern + "`";
  }
}

struct Compiled {
  std::optional<boost::wregex> regex;  // nothing: not checkable here
  std::string problem;
};

const Compiled& compiled(const std::string& pattern) {
  constexpr size_t kKept = 1000;
  thread_local std::map<std::string, Compiled, std::less<>> cache;
  if (auto found = cache.find(pattern); found != cache.end()) return found->second;
  if (cache.size() >= kKept) cache.clear();
  Compiled& out = cache[pattern];
  out.problem = not_in_re2(pattern);
  if (!out.problem.empty()) return out;
  try {
    out.regex.emplace(wide(translated(pattern)), boost::wregex::perl);
  } catch (const boost::regex_error& error) {
    // Named classes of Unicode are right in RE2 and unknown here: such a pattern is not checked.
    if (pattern.find("\\p") == std::string::npos && pattern.find("\\P") == std::string::npos)
      out.problem = reason(error, pattern);
  }
  return out;
}

}  // namespace

std::string pattern_problem(const std::string& pattern) {
  const std::string& problem = compiled(pattern).problem;
  return problem.empty() ? "" : "error parsing regexp: " + problem;
}

std::optional<bool> matches_pattern(const std::string& pattern, std::string_view text) {
  const Compiled& to_match = compiled(pattern);
  if (!to_match.problem.empty()) return std::nullopt;
  if (!to_match.regex) return true;
  try {
    // As RE2 without flags: ^ and $ are the ends of the text, "." is no line break.
    return boost::regex_search(wide(text), *to_match.regex,
                               boost::match_single_line | boost::match_not_dot_newline | boost::match_any);
  } catch (const std::runtime_error&) {
    return true;  // too much backtracking, which RE2 does not know: nothing is held against the value
  }
}

}  // namespace hookd::embedded
