#include "embedded/wire/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/json_read.h"

namespace hookd::embedded {
namespace {

// Builds the tree; numbers with a fraction are read exactly, which Boost 1.81 itself does not (7e-1 gives
// 0.7000000000000001).
class Handler {
 public:
  static constexpr size_t max_object_size = json::object::max_size();
  static constexpr size_t max_array_size = json::array::max_size();
  static constexpr size_t max_key_size = json::string::max_size();
  static constexpr size_t max_string_size = json::string::max_size();
  using Code = boost::system::error_code;
  using View = json::string_view;

  Handler() { stack_.reset(); }
  json::value release() { return stack_.release(); }
  const std::string& too_large() const { return too_large_; }  // the number that no double holds, "" = none

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) { return true; }
  bool on_object_end(size_t n, Code&) {
    stack_.push_object(n);
    return true;
  }
  bool on_array_begin(Code&) { return true; }
  bool on_array_end(size_t n, Code&) {
    stack_.push_array(n);
    return true;
  }
  bool on_key_part(View s, size_t, Code&) {
    stack_.push_chars(s);
    return true;
  }
  bool on_key(View s, size_t, Code&) {
    stack_.push_key(s);
    return true;
  }
  bool on_string_part(View s, size_t, Code&) {
    stack_.push_chars(s);
    return true;
  }
  bool on_string(View s, size_t, Code&) {
    stack_.push_string(s);
    return true;
  }
  bool on_number_part(View s, Code&) {
    number_.append(s.data(), s.size());
    return true;
  }
  bool on_int64(int64_t i, View, Code&) {
    number_.clear();
    stack_.push_int64(i);
    return true;
  }
  bool on_uint64(uint64_t u, View, Code&) {
    number_.clear();
    stack_.push_uint64(u);
    return true;
  }
  bool on_double(double d, View s, Code& code) {
    number_.append(s.data(), s.size());
    double exact = d;
    std::from_chars(number_.data(), number_.data() + number_.size(), exact);
    if (!std::isfinite(exact)) {
      too_large_ = number_;
      code = json::error::exponent_overflow;
      return false;
    }
    number_.clear();
    stack_.push_double(exact);
    return true;
  }
  bool on_bool(bool b, Code&) {
    stack_.push_bool(b);
    return true;
  }
  bool on_null(Code&) {
    stack_.push_null();
    return true;
  }
  bool on_comment_part(View, Code&) { return true; }
  bool on_comment(View, Code&) { return true; }

 private:
  json::value_stack stack_;
  std::string number_, too_large_;
};

// encoding/json: shortest digits; %e below 1e-6 and from 1e21, with at least two digits of exponent written as one.
void append_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  char buffer[64];
  const double size = std::fabs(value);
  if (size != 0 && (size < 1e-6 || size >= 1e21)) {
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
    std::string text(buffer, end);
    const auto at = text.find("e-0");  // 1e-07 -> 1e-7
    if (at != std::string::npos && at + 4 == text.size()) text.erase(at + 2, 1);
    out += text;
    return;
  }
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr;
  out.append(buffer, end);
}

void append_escaped(std::string& out, char c) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\t':
      out += "\\t";
      break;
    case '\r':
      out += "\\r";
      break;
    default:
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[static_cast<unsigned char>(c) & 15];
  }
}

// Values hold valid UTF-8 only: the parser has seen to it. So nothing is looked at but what JSON escapes.
void append_string(std::string& out, std::string_view text) {
  static constexpr auto kPlain = [] {
    std::array<bool, 256> plain{};
    for (size_t c = 0x20; c < 256; ++c) plain[c] = c != '"' && c != '\\';
    return plain;
  }();
  out += '"';
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const char* run = at;
    while (run != end && kPlain[static_cast<unsigned char>(*run)]) ++run;
    out.append(at, run);
    if (run == end) break;
    append_escaped(out, *run);
    at = run + 1;
  }
  out += '"';
}

template <class T>
void append_int(std::string& out, T value) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

// Length of the UTF-8 sequence at the beginning, 0 if that is none (RFC 3629: no surrogates, nothing overlong).
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  const auto tail = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool in_range = (first != 0xE0 || second >= 0xA0) && (first != 0xED || second < 0xA0);
    return tail(1) && tail(2) && in_range ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool in_range = (first != 0xF0 || second >= 0x90) && (first != 0xF4 || second < 0x90);
    return tail(1) && tail(2) && tail(3) && in_range ? 4 : 0;
  }
  return 0;
}

// The code unit of an escape "\uXXXX" at the beginning; nothing if there is none.
std::optional<unsigned> escaped_unit(std::string_view text) {
  if (text.size() < 6 || !text.starts_with("\\u")) return std::nullopt;
  unsigned unit = 0;
  const auto end = std::from_chars(text.data() + 2, text.data() + 6, unit, 16).ptr;
  return end == text.data() + 6 ? std::optional(unit) : std::nullopt;
}

// Go's decoder takes what is not UTF-8, and halves of surrogate pairs, for U+FFFD.
std::string with_replacements(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    size_t length = utf8_length(text);
    std::string_view piece = text.substr(0, length);
    if (length == 0) {
      length = 1;
      piece = "\xEF\xBF\xBD";
    } else if (const auto unit = escaped_unit(text)) {
      const bool high = *unit >= 0xD800 && *unit < 0xDC00, low = *unit >= 0xDC00 && *unit < 0xE000;
      const auto next = high ? escaped_unit(text.substr(6)) : std::nullopt;
      const bool pair = next && *next >= 0xDC00 && *next < 0xE000;
      length = pair ? 12 : 6;
      piece = (high && !pair) || low ? std::string_view("\\ufffd") : text.substr(0, length);
    } else if (text.front() == '\\') {
      length = std::min<size_t>(2, text.size());  // "\\u" begins no escape at its second character
      piece = text.substr(0, length);
    }
    out += piece;
    text.remove_prefix(length);
  }
  return out;
}

std::expected<json::value, std::string> parse(std::string_view text, bool mended) {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::basic_parser<Handler> parser(options);
  boost::system::error_code code;
  size_t used = 0;
  try {
    used = parser.write_some(false, text.data(), text.size(), code);
  } catch (const std::exception& error) {  // memory, sizes
    return std::unexpected(std::string(error.what()));
  }
  if (!code && (!parser.done() || text.substr(used).find_first_not_of(" \t\r\n") != std::string_view::npos))
    code = json::error::extra_data;
  if (!code) return parser.handler().release();
  if (code == json::error::too_deep) return std::unexpected("exceeded max depth");
  if (const auto& number = parser.handler().too_large(); !number.empty())
    return std::unexpected(fmt::format("{}{} into Go value of type float64", kNumberTooLarge, number));
  auto told = json_syntax_error(text);
  if (!told.empty()) return std::unexpected(std::move(told));
  if (!mended) return parse(with_replacements(text), true);
  return std::unexpected(code.message());
}

}  // namespace

std::string to_utf8(std::string text) {
  if (is_utf8(text)) return text;
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t length = utf8_length(rest);
    out += length == 0 ? std::string_view("\xEF\xBF\xBD") : rest.substr(0, length);
    rest.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

std::expected<json::value, std::string> parse_text(std::string_view text) { return parse(text, false); }

void append_text(std::string& out, const json::value& value) {
  switch (value.kind()) {
    case json::kind::object:
      append_text(out, value.get_object());
      break;
    case json::kind::array: {
      out += '[';
      bool first = true;
      for (const auto& item : value.get_array()) {
        if (!first) out += ',';
        first = false;
        append_text(out, item);
      }
      out += ']';
      break;
    }
    case json::kind::string:
      append_string(out, value.get_string());
      break;
    case json::kind::int64:
      append_int(out, value.get_int64());
      break;
    case json::kind::uint64:
      append_int(out, value.get_uint64());
      break;
    case json::kind::double_:
      append_double(out, value.get_double());
      break;
    case json::kind::bool_:
      out += value.get_bool() ? "true" : "false";
      break;
    case json::kind::null:
      out += "null";
      break;
  }
}

void append_text(std::string& out, const json::object& object) {
  out += '{';
  bool first = true;
  for (const auto& [key, value] : object) {
    if (!first) out += ',';
    first = false;
    append_string(out, key);
    out += ':';
    append_text(out, value);
  }
  out += '}';
}

std::string to_text(const json::value& value) {
  std::string out;
  append_text(out, value);
  return out;
}

std::string to_text(const json::object& object) {
  std::string out;
  append_text(out, object);
  return out;
}

std::string to_pretty(std::string_view text) {
  std::string out;
  out.reserve(text.size() * 2);
  size_t depth = 0;
  bool in_string = false;
  const auto new_line = [&] {
    out += '\n';
    out.append(depth * 2, ' ');
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      out += c;
      if (c == '\\' && i + 1 < text.size())
        out += text[++i];
      else if (c == '"')
        in_string = false;
      continue;
    }
    switch (c) {
      case '"':
        in_string = true;
        out += c;
        break;
      case '{':
      case '[':
        out += c;
        if (i + 1 < text.size() && (text[i + 1] == '}' || text[i + 1] == ']')) {
          out += text[++i];
          break;
        }
        ++depth;
        new_line();
        break;
      case '}':
      case ']':
        if (depth > 0) --depth;
        new_line();
        out += c;
        break;
      case ',':
        out += c;
        new_line();
        break;
      case ':':
        out += ": ";
        break;
      case ' ':
      case '\n':
      case '\r':
      case '\t':
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace hookd::embedded
