#include "compat/metacontroller/value.h"

#include <algorithm>
#include <charconv>

#include "apply/json_text.h"
#include "base/json_read.h"
#include "base/json_writer.h"

namespace hookd::metacontroller {
namespace {

bool is_integer(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool same_number(std::string_view one, std::string_view other) {
  if (one == other) return true;
  if (is_integer(one) && is_integer(other)) return (one == "-0" ? "0" : one) == (other == "-0" ? "0" : other);
  double a = 0, b = 0;
  const auto [end_a, error_a] = std::from_chars(one.data(), one.data() + one.size(), a);
  const auto [end_b, error_b] = std::from_chars(other.data(), other.data() + other.size(), b);
  return error_a == std::errc() && error_b == std::errc() && a == b;
}

}  // namespace

std::string_view to_string(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::kNull:
      return "null";
    case Value::Kind::kBool:
      return "boolean";
    case Value::Kind::kNumber:
      return "number";
    case Value::Kind::kString:
      return "string";
    case Value::Kind::kArray:
      return "list";
    case Value::Kind::kObject:
      return "object";
  }
  return "?";
}

Value Value::string(std::string_view text) {
  Value value(Kind::kString);
  value.text_ = text;
  return value;
}

Result<Value> Value::parse(std::string_view json) {
  HOOKD_CHECK(validate_json(json, kMaxDepth));
  const size_t start = json.find_first_not_of(" \t\r\n");
  const size_t end = json.find_last_not_of(" \t\r\n");
  return parse_checked(json.substr(start, end - start + 1), 0);
}

Result<Value> Value::parse_checked(std::string_view json, size_t depth) {
  Value value;
  switch (json.front()) {
    case '{': {
      value.kind_ = Kind::kObject;
      HOOKD_TRY(const auto members, apply::json_members(json));
      value.members_.reserve(members.size());
      for (const auto& member : members) {
        HOOKD_TRY(Value inner, parse_checked(member.value, depth + 1));
        value.members_.emplace_back(member.key, std::move(inner));
      }
      return value;
    }
    case '[': {
      value.kind_ = Kind::kArray;
      HOOKD_TRY(const auto items, apply::json_elements(json));
      value.items_.reserve(items.size());
      for (const auto item : items) {
        HOOKD_TRY(Value inner, parse_checked(item, depth + 1));
        value.items_.push_back(std::move(inner));
      }
      return value;
    }
    case '"': {
      const auto text = apply::json_text_of(json);
      if (!text) return fail(Errc::kDecode, "a text that cannot be read: {}", json.substr(0, 60));
      return string(*text);
    }
    case 't':
    case 'f':
      value.kind_ = Kind::kBool;
      value.text_ = json;
      return value;
    case 'n':
      return value;
    default:
      value.kind_ = Kind::kNumber;
      value.text_ = json;
      return value;
  }
}

const Value* Value::find(std::string_view key) const {
  const auto found = std::ranges::find(members_, key, &Member::first);
  return found == members_.end() ? nullptr : &found->second;
}

Value* Value::find(std::string_view key) { return const_cast<Value*>(std::as_const(*this).find(key)); }

Value& Value::at(std::string_view key) {
  if (kind_ != Kind::kObject) *this = object();
  if (Value* found = find(key)) return *found;
  return members_.emplace_back(std::string(key), Value()).second;
}

void Value::erase(std::string_view key) {
  std::erase_if(members_, [&](const Member& member) { return member.first == key; });
}

const Value* Value::at_path(std::initializer_list<std::string_view> path) const {
  const Value* value = this;
  for (const auto key : path) {
    value = value->find(key);
    if (!value) return nullptr;
  }
  return value;
}

std::string Value::text_at(std::initializer_list<std::string_view> path) const {
  const Value* value = at_path(path);
  return value && value->is_string() ? value->text_ : std::string();
}

bool Value::operator==(const Value& other) const {
  if (kind_ != other.kind_) return false;
  switch (kind_) {
    case Kind::kNull:
      return true;
    case Kind::kNumber:
      return same_number(text_, other.text_);
    case Kind::kBool:
    case Kind::kString:
      return text_ == other.text_;
    case Kind::kArray:
      return items_ == other.items_;
    case Kind::kObject:
      if (members_.size() != other.members_.size()) return false;
      return std::ranges::all_of(members_, [&](const Member& member) {
        const Value* found = other.find(member.first);
        return found && *found == member.second;
      });
  }
  return false;
}

std::string Value::to_json(bool sorted) const {
  std::string out;
  write(out, sorted);
  return out;
}

void Value::write(std::string& out, bool sorted) const {
  switch (kind_) {
    case Kind::kNull:
      out += "null";
      return;
    case Kind::kBool:
    case Kind::kNumber:
      out += text_;
      return;
    case Kind::kString:
      append_json_string(out, text_);
      return;
    case Kind::kArray:
      out += '[';
      for (size_t i = 0; i < items_.size(); ++i) {
        if (i > 0) out += ',';
        items_[i].write(out, sorted);
      }
      out += ']';
      return;
    case Kind::kObject: {
      std::vector<const Member*> order;
      order.reserve(members_.size());
      for (const auto& member : members_) order.push_back(&member);
      if (sorted)
        std::ranges::sort(order, {}, [](const Member* member) -> const std::string& { return member->first; });
      out += '{';
      for (size_t i = 0; i < order.size(); ++i) {
        if (i > 0) out += ',';
        append_json_string(out, order[i]->first);
        out += ':';
        order[i]->second.write(out, sorted);
      }
      out += '}';
      return;
    }
  }
}

}  // namespace hookd::metacontroller
