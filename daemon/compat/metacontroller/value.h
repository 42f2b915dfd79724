// JSON as a tree that keeps every digit: numbers stay the text that they were written as. For objects of a few
// kilobytes that are merged and compared. Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hookd::metacontroller {

class Value {
 public:
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };
  using Member = std::pair<std::string, Value>;

  Value() = default;
  static Value string(std::string_view text);
  static Value object() { return Value(Kind::kObject); }
  static Value array() { return Value(Kind::kArray); }
  // Errors: kDecode: no JSON, a key twice in one object, deeper than kMaxDepth.
  static Result<Value> parse(std::string_view json);

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_object() const { return kind_ == Kind::kObject; }
  bool is_array() const { return kind_ == Kind::kArray; }
  bool is_string() const { return kind_ == Kind::kString; }
  const std::string& text() const { return text_; }  // of a string: decoded; of numbers and booleans: as written

  // Objects. Members keep their order.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  Value& at(std::string_view key);  // made null if it is missing
  void set(std::string_view key, Value value) { at(key) = std::move(value); }
  void erase(std::string_view key);
  const std::vector<Member>& members() const { return members_; }
  std::vector<Member>& members() { return members_; }
  // Arrays.
  const std::vector<Value>& items() const { return items_; }
  std::vector<Value>& items() { return items_; }

  // A value at a path of object keys; null if there is none.
  const Value* at_path(std::initializer_list<std::string_view> path) const;
  std::string text_at(std::initializer_list<std::string_view> path) const;  // "" if there is no string

  // Does it mean the same? Members in any order; numbers by value (1 and 1.0, 1e3 and 1000).
  bool operator==(const Value& other) const;

  // `sorted`: members by key, so that equal values are equal text.
  std::string to_json(bool sorted = false) const;

  static constexpr size_t kMaxDepth = 256;

 private:
  explicit Value(Kind kind) : kind_(kind) {}
  static Result<Value> parse_checked(std::string_view json, size_t depth);
  void write(std::string& out, bool sorted) const;

  Kind kind_ = Kind::kNull;
  std::string text_;
  std::vector<Member> members_;
  std::vector<Value> items_;
};

std::string_view to_string(Value::Kind kind);  // "object"

}  // namespace hookd::metacontroller
