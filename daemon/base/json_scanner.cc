#include "base/json_scanner.h"

namespace hookd {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

}  // namespace

void JsonScanner::reset() {
  stack_.clear();
  state_ = State::kValue;
  key_ = started_ = false;
  offset_ = 0;
}

bool JsonScanner::number_complete() const {
  return number_ == Number::kZero || number_ == Number::kInt || number_ == Number::kFraction ||
         number_ == Number::kExpDigits;
}

bool JsonScanner::step_number(char c) {
  const bool digit = is_digit(c);
  switch (number_) {
    case Number::kMinus:
      if (!digit) return false;
      number_ = c == '0' ? Number::kZero : Number::kInt;
      return true;
    case Number::kZero:
    case Number::kInt:
      if (digit && number_ == Number::kInt) return true;
      if (c == '.') return number_ = Number::kDot, true;
      if (c == 'e' || c == 'E') return number_ = Number::kExp, true;
      return false;
    case Number::kDot:
      if (digit) number_ = Number::kFraction;
      return digit;
    case Number::kFraction:
      if (c == 'e' || c == 'E') return number_ = Number::kExp, true;
      return digit;
    case Number::kExp:
      if (c == '+' || c == '-') return number_ = Number::kExpSign, true;
      [[fallthrough]];
    case Number::kExpSign:
    case Number::kExpDigits:
      if (digit) number_ = Number::kExpDigits;
      return digit;
  }
  return false;
}

bool JsonScanner::begin_value(char c) {
  started_ = true;
  if (c == '{' || c == '[') {
    if (stack_.size() >= max_depth_) return false;
    stack_.push_back(c == '{');
    state_ = c == '{' ? State::kKeyOrEnd : State::kValueOrEnd;
  } else if (c == '"') {
    key_ = false;
    state_ = State::kString;
  } else if (c == '-' || is_digit(c)) {
    number_ = c == '-' ? Number::kMinus : c == '0' ? Number::kZero : Number::kInt;
    state_ = State::kNumber;
  } else if (c == 't' || c == 'f' || c == 'n') {
    literal_ = c == 't' ? "true" : c == 'f' ? "false" : "null";
    literal_at_ = 1;
    state_ = State::kLiteral;
  } else {
    return false;
  }
  return true;
}

Result<size_t> JsonScanner::feed(std::string_view bytes) {
  const auto bad = [&](size_t i) {
    return fail(Errc::kDecode, "unexpected byte 0x{:02x} at byte {}", static_cast<unsigned char>(bytes[i]),
                offset_ + i);
  };
  size_t i = 0;
  for (; i < bytes.size() && state_ != State::kDone; ++i) {
    const char c = bytes[i];
    switch (state_) {
      case State::kString: {
        size_t j = i;
        while (j < bytes.size() && bytes[j] != '"' && bytes[j] != '\\' && static_cast<unsigned char>(bytes[j]) >= 0x20)
          ++j;
        if (j == bytes.size()) {
          i = j - 1;
          break;
        }
        i = j;
        if (bytes[j] == '\\')
          state_ = State::kEscape;
        else if (bytes[j] != '"')
          return bad(j);
        else if (key_)
          state_ = State::kColon;
        else
          value_ended();
        break;
      }
      case State::kEscape:
        if (c == 'u') {
          hex_left_ = 4;
          state_ = State::kHex;
        } else if (std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos) {
          state_ = State::kString;
        } else {
          return bad(i);
        }
        break;
      case State::kHex:
        if (!is_hex(c)) return bad(i);
        if (--hex_left_ == 0) state_ = State::kString;
        break;
      case State::kNumber:
        if (step_number(c)) break;
        if (!number_complete()) return bad(i);
        value_ended();
        --i;  // this byte belongs to what follows
        break;
      case State::kLiteral:
        if (c != literal_[literal_at_]) return bad(i);
        if (++literal_at_ == literal_.size()) value_ended();
        break;
      case State::kValue:
      case State::kValueOrEnd:
        if (is_space(c)) break;
        if (state_ == State::kValueOrEnd && c == ']') {
          stack_.pop_back();
          value_ended();
        } else if (!begin_value(c)) {
          return bad(i);
        }
        break;
      case State::kKeyOrEnd:
      case State::kKey:
        if (is_space(c)) break;
        if (state_ == State::kKeyOrEnd && c == '}') {
          stack_.pop_back();
          value_ended();
        } else if (c == '"') {
          key_ = true;
          state_ = State::kString;
        } else {
          return bad(i);
        }
        break;
      case State::kColon:
        if (is_space(c)) break;
        if (c != ':') return bad(i);
        state_ = State::kValue;
        break;
      case State::kCommaOrEnd:
        if (is_space(c)) break;
        if (c == ',') {
          state_ = stack_.back() ? State::kKey : State::kValue;
        } else if (c == (stack_.back() ? '}' : ']')) {
          stack_.pop_back();
          value_ended();
        } else {
          return bad(i);
        }
        break;
      case State::kDone:
        break;
    }
  }
  offset_ += i;
  return i;
}

bool JsonScanner::finish() {
  if (state_ == State::kNumber && stack_.empty() && number_complete()) state_ = State::kDone;
  return state_ == State::kDone;
}

}  // namespace hookd
