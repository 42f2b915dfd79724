// Go's words for broken JSON. Runs only on texts that could not be read.
#include <fmt/format.h>

#include "embedded/wire/json_text.h"

namespace hookd::embedded {
namespace {

std::string quoted_char(std::string_view text, size_t at) {
  const auto c = static_cast<unsigned char>(text[at]);
  if (c == '\'') return "'\\''";
  if (c == '"') return "'\"'";
  if (c == '\n') return "'\\n'";
  if (c == '\r') return "'\\r'";
  if (c == '\t') return "'\\t'";
  if (c == '\\') return "'\\\\'";
  if (c < 0x20 || c == 0x7f) return fmt::format("'\\x{:02x}'", c);
  if (c < 0x80) return fmt::format("'{}'", static_cast<char>(c));
  // Go takes the byte for a code point.
  std::string out = "'";
  out += static_cast<char>(0xC0 | (c >> 6));
  out += static_cast<char>(0x80 | (c & 0x3F));
  return c < 0xA0 ? fmt::format("'\\u{:04x}'", c) : out + "'";
}

class Check {
 public:
  explicit Check(std::string_view text) : text_(text) {}

  std::string run() {
    if (value(0)) {
      space();
      if (at_ < text_.size()) bad("after top-level value");
    }
    return error_;
  }

 private:
  bool end() {
    error_ = "unexpected end of JSON input";
    return false;
  }
  // Go's scanner sees the end as a blank, which does not belong there.
  bool end(std::string_view context) {
    error_ = fmt::format("invalid character ' ' {}", context);
    return false;
  }
  bool bad(std::string_view context) {
    error_ = fmt::format("invalid character {} {}", quoted_char(text_, at_), context);
    return false;
  }
  void space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool more() {
    space();
    return at_ < text_.size() || end();
  }

  bool value(size_t depth) {
    if (depth > kMaxDepth) {
      error_ = "exceeded max depth";
      return false;
    }
    if (!more()) return false;
    switch (text_[at_]) {
      case '{':
        return object(depth);
      case '[':
        return array(depth);
      case '"':
        return string();
      case 't':
        return literal("true");
      case 'f':
        return literal("false");
      case 'n':
        return literal("null");
      default:
        return text_[at_] == '-' || digit() ? number() : bad("looking for beginning of value");
    }
  }

  bool object(size_t depth) {
    ++at_;
    if (!more()) return false;
    if (text_[at_] == '}') return ++at_, true;
    while (true) {
      if (!more()) return false;
      if (text_[at_] != '"') return bad("looking for beginning of object key string");
      if (!string() || !more()) return false;
      if (text_[at_] != ':') return bad("after object key");
      ++at_;
      if (!value(depth + 1) || !more()) return false;
      if (text_[at_] == '}') return ++at_, true;
      if (text_[at_] != ',') return bad("after object key:value pair");
      ++at_;
    }
  }

  bool array(size_t depth) {
    ++at_;
    if (!more()) return false;
    if (text_[at_] == ']') return ++at_, true;
    while (true) {
      if (!value(depth + 1) || !more()) return false;
      if (text_[at_] == ']') return ++at_, true;
      if (text_[at_] != ',') return bad("after array element");
      ++at_;
    }
  }

  bool string() {
    for (++at_; at_ < text_.size(); ++at_) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') return ++at_, true;
      if (c < 0x20) return bad("in string literal");
      if (c != '\\') continue;
      if (++at_ >= text_.size()) return end("in string escape code");
      if (text_[at_] == 'u') {
        for (int i = 0; i < 4; ++i) {
          if (++at_ >= text_.size()) return end("in \\u hexadecimal character escape");
          if (!std::isxdigit(static_cast<unsigned char>(text_[at_]))) return bad("in \\u hexadecimal character escape");
        }
      } else if (std::string_view("\"\\/bfnrt").find(text_[at_]) == std::string_view::npos) {
        return bad("in string escape code");
      }
    }
    return end();
  }

  bool literal(std::string_view word) {
    for (size_t i = 0; i < word.size(); ++i, ++at_) {
      const auto context = fmt::format("in literal {} (expecting '{}')", word, word[i]);
      if (at_ >= text_.size()) return end(context);
      if (text_[at_] != word[i]) return bad(context);
    }
    return true;
  }

  bool digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }
  bool digits(std::string_view context) {
    if (at_ >= text_.size()) return end(context);
    if (!digit()) return bad(context);
    while (digit()) ++at_;
    return true;
  }
  bool number() {
    if (text_[at_] == '-') ++at_;
    if (at_ < text_.size() && text_[at_] == '0')
      ++at_;
    else if (!digits("in numeric literal"))
      return false;
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      if (!digits("after decimal point in numeric literal")) return false;
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (!digits("in exponent of numeric literal")) return false;
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string error_;
};

}  // namespace

std::string json_syntax_error(std::string_view text) { return Check(text).run(); }

}  // namespace hookd::embedded
