#include "filter/compact_json.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace hookd::filter {
namespace {

constexpr int kMaxDepth = 250;  // jq's parser stops at 256

bool digit(char c) { return c >= '0' && c <= '9'; }
bool space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Bytes of a string that can be copied as they are.
bool plain(char c) { return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\' && c != 0x7f; }

std::optional<unsigned> hex4(std::string_view text) {
  unsigned value = 0;
  if (text.size() < 4) return std::nullopt;
  const auto parsed = std::from_chars(text.data(), text.data() + 4, value, 16);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + 4) return std::nullopt;
  return value;
}

void append_utf8(std::string& out, unsigned code) {
  const auto byte = [&](unsigned value) { out += static_cast<char>(value); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xC0 | code >> 6);
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3F));
  } else {
    byte(0xF0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3F));
    byte(0x80 | (code >> 6 & 0x3F));
  }
  byte(0x80 | (code & 0x3F));
}

// A decoded character in jq's spelling.
void append_character(std::string& out, unsigned code) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  switch (code) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  if (code >= 0x20 && code != 0x7f) return append_utf8(out, code);
  out += "\\u00";
  out += kHex[code >> 4];
  out += kHex[code & 15];
}

// One escape; `text` is behind the backslash and is moved on.
bool append_escape(std::string& out, std::string_view& text) {
  if (text.empty()) return false;
  const char c = text.front();
  text.remove_prefix(1);
  switch (c) {
    case '"':
    case '\\':
    case '/':
      append_character(out, static_cast<unsigned char>(c));
      return true;
    case 'b':
      append_character(out, '\b');
      return true;
    case 'f':
      append_character(out, '\f');
      return true;
    case 'n':
      append_character(out, '\n');
      return true;
    case 'r':
      append_character(out, '\r');
      return true;
    case 't':
      append_character(out, '\t');
      return true;
    case 'u':
      break;
    default:
      return false;
  }
  const auto first = hex4(text);
  if (!first) return false;
  text.remove_prefix(4);
  if (*first < 0xD800 || *first > 0xDFFF) {
    append_character(out, *first);
    return true;
  }
  if (*first > 0xDBFF || !text.starts_with("\\u")) return false;
  const auto second = hex4(text.substr(2));
  if (!second || *second < 0xDC00 || *second > 0xDFFF) return false;
  text.remove_prefix(6);
  append_character(out, 0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00));
  return true;
}

class Compactor {
 public:
  Compactor(std::string_view text, std::string& out) : text_(text), out_(out) {}

  bool whole() {
    if (!value(0)) return false;
    skip_space();
    return at_ == text_.size();
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && space(text_[at_])) ++at_;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool eat(char c) {
    skip_space();
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  bool value(int depth) {
    skip_space();
    switch (peek()) {
      case '{':
        return depth < kMaxDepth && object(depth);
      case '[':
        return depth < kMaxDepth && array(depth);
      case '"':
        return string();
      case 'n':
        return literal("null");
      case 't':
        return literal("true");
      case 'f':
        return literal("false");
      default:
        return number();
    }
  }

  bool literal(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    out_ += word;
    return true;
  }

  bool number() {
    const size_t start = at_;
    while (at_ < text_.size() &&
           (digit(text_[at_]) || std::string_view("+-.eE").find(text_[at_]) != std::string_view::npos))
      ++at_;
    const auto token = text_.substr(start, at_ - start);
    double ignored = 0;
    if (!is_json_number(token) || std::from_chars(token.data(), token.data() + token.size(), ignored).ec != std::errc{})
      return false;
    out_ += token;
    return true;
  }

  bool string() {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) return false;
    const auto token = text_.substr(at_, end + 1 - at_);
    at_ = end + 1;
    return append_compact_string(out_, token);
  }

  bool array(int depth) {
    ++at_;
    out_ += '[';
    if (!eat(']')) {
      for (;;) {
        if (!value(depth + 1)) return false;
        if (eat(']')) break;
        if (!eat(',')) return false;
        out_ += ',';
      }
    }
    out_ += ']';
    return true;
  }

  bool object(int depth) {
    ++at_;
    out_ += '{';
    const size_t first_key = keys_.size();
    if (!eat('}')) {
      for (;;) {
        skip_space();
        const size_t start = out_.size();
        if (peek() != '"' || !string()) return false;
        keys_.push_back({start, out_.size() - start});
        if (!eat(':')) return false;
        out_ += ':';
        if (!value(depth + 1)) return false;
        if (eat('}')) break;
        if (!eat(',')) return false;
        out_ += ',';
      }
    }
    out_ += '}';
    return unique_keys(first_key);
  }

  bool unique_keys(size_t first) {
    const auto text = [&](const Span& span) { return std::string_view(out_).substr(span.at, span.length); };
    const auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(first);
    std::sort(begin, keys_.end(), [&](const Span& a, const Span& b) { return text(a) < text(b); });
    const bool unique = std::adjacent_find(begin, keys_.end(), [&](const Span& a, const Span& b) {
                          return text(a) == text(b);
                        }) == keys_.end();
    keys_.resize(first);
    return unique;
  }

  struct Span {
    size_t at = 0, length = 0;  // in out_
  };
  std::string_view text_;
  std::string& out_;
  size_t at_ = 0;
  std::vector<Span> keys_;  // of the open objects
};

}  // namespace

bool is_json_number(std::string_view token) {
  const auto digits = [&] {
    const size_t count = std::min(token.find_first_not_of("0123456789"), token.size());
    token.remove_prefix(count);
    return count;
  };
  if (token.starts_with('-')) token.remove_prefix(1);
  if (token.starts_with('0'))
    token.remove_prefix(1);
  else if (digits() == 0)
    return false;
  if (token.starts_with('.')) {
    token.remove_prefix(1);
    if (digits() == 0) return false;
  }
  if (token.starts_with('e') || token.starts_with('E')) {
    token.remove_prefix(1);
    if (token.starts_with('+') || token.starts_with('-')) token.remove_prefix(1);
    if (digits() == 0) return false;
  }
  return token.empty();
}

bool append_compact_string(std::string& out, std::string_view token) {
  if (token.size() < 2 || token.front() != '"' || token.back() != '"') return false;
  token = token.substr(1, token.size() - 2);
  out += '"';
  while (!token.empty()) {
    size_t run = 0;
    while (run < token.size() && plain(token[run])) ++run;
    out += token.substr(0, run);
    token.remove_prefix(run);
    if (token.empty()) break;
    if (token.front() == 0x7f) {
      append_character(out, 0x7f);
      token.remove_prefix(1);
    } else {
      if (token.front() != '\\') return false;
      token.remove_prefix(1);
      if (!append_escape(out, token)) return false;
    }
  }
  out += '"';
  return true;
}

std::optional<std::string> compact_json(std::string_view json) {
  if (!simdjson::validate_utf8(json.data(), json.size())) return std::nullopt;
  std::string out;
  out.reserve(json.size());
  if (!Compactor(json, out).whole()) return std::nullopt;
  return out;
}

}  // namespace hookd::filter
