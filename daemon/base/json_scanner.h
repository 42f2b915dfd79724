// Finds where one JSON value ends in bytes that arrive in pieces, and checks its grammar on the way (RFC 8259).
// Keeps one bit per open bracket and copies nothing. Thread: any.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hookd {

class JsonScanner {
 public:
  explicit JsonScanner(size_t max_depth = 10'000) : max_depth_(max_depth) {}

  // Takes bytes up to the end of the value; returns how many were taken. After done(), nothing more is taken.
  // A number or literal at top level is only done when the byte after it is seen, or at finish().
  // Errors: kDecode (the byte offset since the start is in the text).
  Result<size_t> feed(std::string_view bytes);
  bool finish();  // no more bytes will come: is it a whole value?
  bool done() const { return state_ == State::kDone; }
  bool started() const { return offset_ > 0 && started_; }
  size_t depth() const { return stack_.size(); }
  void reset();

 private:
  enum class State : uint8_t {
    kValue,
    kValueOrEnd,
    kKeyOrEnd,
    kKey,
    kColon,
    kCommaOrEnd,
    kString,
    kEscape,
    kHex,
    kNumber,
    kLiteral,
    kDone
  };
  enum class Number : uint8_t { kMinus, kZero, kInt, kDot, kFraction, kExp, kExpSign, kExpDigits };

  void value_ended() { state_ = stack_.empty() ? State::kDone : State::kCommaOrEnd; }
  bool number_complete() const;
  bool step_number(char c);  // false: c does not belong to the number
  bool begin_value(char c);

  size_t max_depth_;
  std::vector<bool> stack_;  // true = object
  State state_ = State::kValue;
  Number number_ = Number::kMinus;
  bool key_ = false;  // the string being read is a key
  bool started_ = false;
  int hex_left_ = 0;
  std::string_view literal_;
  size_t literal_at_ = 0;
  size_t offset_ = 0;
};

}  // namespace hookd
