#include "cache/label_selector.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <tuple>

namespace hookd::cache {
namespace {

using Operator = LabelSelector::Operator;
using Requirement = LabelSelector::Requirement;

constexpr size_t kMaxNameLength = 63;     // of a label's value, and of its key behind the prefix
constexpr size_t kMaxPrefixLength = 253;  // of a DNS subdomain
constexpr size_t kMaxTextBytes = 64u << 10;

bool alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// What is wrong with a label's value or the name part of its key; nullopt if nothing.
std::optional<std::string> name_fault(std::string_view name) {
  if (name.size() > kMaxNameLength)
    return fmt::format("it has {} characters, at most {} are allowed", name.size(), kMaxNameLength);
  for (const char c : name)
    if (!alnum(c) && c != '-' && c != '_' && c != '.') return "only letters, digits, '-', '_' and '.' are allowed";
  if (!name.empty() && (!alnum(name.front()) || !alnum(name.back())))
    return "it must begin and end with a letter or digit";
  return std::nullopt;
}

// DNS-1123 subdomain, as in the part before '/' of a label key.
std::optional<std::string> prefix_fault(std::string_view prefix) {
  if (prefix.empty()) return "the prefix before '/' is empty";
  if (prefix.size() > kMaxPrefixLength)
    return fmt::format("the prefix before '/' has {} characters, at most {} are allowed", prefix.size(),
                       kMaxPrefixLength);
  char before = '.';
  for (const char c : prefix) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!word && c != '-' && c != '.')
      return "the prefix before '/' may only have lower case letters, digits, '-' and '.'";
    if ((c == '-' && before == '.') || (c == '.' && !alnum(before))) return "the prefix before '/' is no DNS name";
    before = c;
  }
  if (!alnum(before)) return "the prefix before '/' is no DNS name";
  return std::nullopt;
}

std::optional<std::string> key_fault(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash != std::string_view::npos) {
    if (auto fault = prefix_fault(key.substr(0, slash))) return fault;
    key.remove_prefix(slash + 1);
    if (key.find('/') != std::string_view::npos) return "more than one '/'";
  }
  if (key.empty()) return "the name is empty";
  return name_fault(key);
}

std::optional<int64_t> integer(std::string_view text) {
  int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

void sort_unique(std::vector<std::string>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

void canonicalise(std::vector<Requirement>& requirements) {
  for (auto& requirement : requirements) sort_unique(requirement.values);
  std::sort(requirements.begin(), requirements.end(), [](const Requirement& a, const Requirement& b) {
    return std::tie(a.key, a.op, a.values) < std::tie(b.key, b.op, b.values);
  });
  requirements.erase(std::unique(requirements.begin(), requirements.end()), requirements.end());
}

struct Token {
  enum class Kind { kEnd, kWord, kComma, kOpen, kClose, kNot, kEquals, kNotEquals, kGreater, kLess };
  Kind kind = Kind::kEnd;
  std::string_view text;
  size_t at = 0;
};
using Kind = Token::Kind;

// The grammar of labels.Parse. `in` and `notin` are words: they are operators only behind a key.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { advance(); }

  Result<std::vector<Requirement>> parse() {
    std::vector<Requirement> all;
    if (token_.kind == Kind::kEnd) return all;
    for (;;) {
      HOOKD_TRY(Requirement one, requirement());
      all.push_back(std::move(one));
      if (token_.kind == Kind::kEnd) return all;
      if (token_.kind != Kind::kComma) return expected("',' or the end");
      advance();
    }
  }

 private:
  static bool special(char c) { return std::string_view("=!(),<>").find(c) != std::string_view::npos; }
  static bool space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  void advance() {
    while (at_ < text_.size() && space(text_[at_])) ++at_;
    const size_t start = at_;
    const auto take = [&](Kind kind, size_t length) {
      token_ = {kind, text_.substr(start, length), start};
      at_ = start + length;
    };
    if (at_ == text_.size()) return take(Kind::kEnd, 0);
    const bool equals_next = at_ + 1 < text_.size() && text_[at_ + 1] == '=';
    switch (text_[at_]) {
      case ',':
        return take(Kind::kComma, 1);
      case '(':
        return take(Kind::kOpen, 1);
      case ')':
        return take(Kind::kClose, 1);
      case '>':
        return take(Kind::kGreater, 1);
      case '<':
        return take(Kind::kLess, 1);
      case '=':
        return take(Kind::kEquals, equals_next ? 2 : 1);
      case '!':
        return equals_next ? take(Kind::kNotEquals, 2) : take(Kind::kNot, 1);
      default:
        break;
    }
    size_t end = at_;
    while (end < text_.size() && !space(text_[end]) && !special(text_[end])) ++end;
    take(Kind::kWord, end - start);
  }

  Failure fault(size_t at, std::string_view what) const {
    return fail(Errc::kConfig, "label selector \"{}\", column {}: {}", text_, at + 1, what);
  }
  Failure expected(std::string_view what) const {
    const std::string found = token_.kind == Kind::kEnd ? "it ends" : fmt::format("\"{}\" stands", token_.text);
    return fault(token_.at, fmt::format("{} here, expected {}", found, what));
  }

  Result<Requirement> requirement() {
    Requirement result;
    const bool absent = token_.kind == Kind::kNot;
    if (absent) advance();
    if (token_.kind != Kind::kWord)
      return expected(absent ? "a label key after '!'" : "a label key such as app, or !key");
    if (const auto wrong = key_fault(token_.text))
      return fault(token_.at, fmt::format("\"{}\" is no label key: {}", token_.text, *wrong));
    result.key = token_.text;
    advance();
    if (absent) {
      result.op = Operator::kDoesNotExist;
      return result;
    }
    const Token op = token_;
    switch (op.kind) {
      case Kind::kEnd:
      case Kind::kComma:
        result.op = Operator::kExists;
        return result;
      case Kind::kEquals:
        result.op = Operator::kIn;
        break;
      case Kind::kNotEquals:
        result.op = Operator::kNotIn;
        break;
      case Kind::kGreater:
        result.op = Operator::kGreater;
        break;
      case Kind::kLess:
        result.op = Operator::kLess;
        break;
      case Kind::kWord:
        if (op.text == "in" || op.text == "notin") {
          result.op = op.text == "in" ? Operator::kIn : Operator::kNotIn;
          advance();
          HOOKD_CHECK(value_list(result.values));
          return result;
        }
        [[fallthrough]];
      default:
        return expected("one of =, ==, !=, in, notin, <, >, ',' or the end");
    }
    advance();
    HOOKD_TRY(std::string value, exact_value());
    if ((op.kind == Kind::kGreater || op.kind == Kind::kLess) && !integer(value))
      return fault(op.at, fmt::format("'{}' compares with a whole number, \"{}\" is none", op.text, value));
    result.values.push_back(std::move(value));
    return result;
  }

  Result<std::string> value() {
    if (const auto wrong = name_fault(token_.text))
      return fault(token_.at, fmt::format("\"{}\" is no label value: {}", token_.text, *wrong));
    std::string text(token_.text);
    advance();
    return text;
  }

  // "a=" asks for the empty value.
  Result<std::string> exact_value() {
    if (token_.kind == Kind::kEnd || token_.kind == Kind::kComma) return std::string();
    if (token_.kind != Kind::kWord) return expected("a label value");
    return value();
  }

  // "(a, b)"; a missing word between commas is the empty value, as for the server.
  Result<void> value_list(std::vector<std::string>& values) {
    if (token_.kind != Kind::kOpen) return expected("'(' and a list of values such as (a, b)");
    do {
      advance();
      if (token_.kind == Kind::kWord) {
        HOOKD_TRY(std::string one, value());
        values.push_back(std::move(one));
      } else {
        values.emplace_back();
      }
    } while (token_.kind == Kind::kComma);
    if (token_.kind != Kind::kClose) return expected("',' or ')'");
    advance();
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
  Token token_;
};

Failure json_fault(std::string_view where, std::string_view what) {
  return fail(Errc::kConfig, "label selector, {}: {}", where, what);
}

Result<std::string> json_text(const boost::json::value& value, const std::string& where) {
  if (value.is_string()) return std::string(value.get_string());
  if (value.is_null() || value.is_structured()) return json_fault(where, "expected a string");
  const std::string shown = boost::json::serialize(value);
  return json_fault(where, fmt::format("expected a string; put {} in quotes: \"{}\"", shown, shown));
}

Result<std::string> json_value(const boost::json::value& value, const std::string& where) {
  HOOKD_TRY(std::string text, json_text(value, where));
  if (const auto wrong = name_fault(text))
    return json_fault(where, fmt::format("\"{}\" is no label value: {}", text, *wrong));
  return text;
}

Result<void> check_json_key(std::string_view key, const std::string& where) {
  if (const auto wrong = key_fault(key))
    return json_fault(where, fmt::format("\"{}\" is no label key: {}", key, *wrong));
  return {};
}

Result<Operator> json_operator(std::string_view text, const std::string& where) {
  static constexpr std::array<std::pair<std::string_view, Operator>, 4> kNames{
      {{"In", Operator::kIn},
       {"NotIn", Operator::kNotIn},
       {"Exists", Operator::kExists},
       {"DoesNotExist", Operator::kDoesNotExist}}};
  for (const auto& [name, op] : kNames)
    if (text == name) return op;
  return json_fault(where, fmt::format("\"{}\" is no operator; expected In, NotIn, Exists or DoesNotExist", text));
}

Result<Requirement> json_expression(const boost::json::value& value, const std::string& where) {
  if (!value.is_object()) return json_fault(where, "expected a mapping with key, operator and values");
  const auto& object = value.get_object();
  for (const auto& [name, ignored] : object)
    if (name != "key" && name != "operator" && name != "values")
      return json_fault(where,
                        fmt::format("unknown key \"{}\"; expected key, operator, values", std::string_view(name)));
  Requirement result;
  const auto* key = object.if_contains("key");
  if (!key) return json_fault(where, "\"key\" is missing");
  HOOKD_TRY(result.key, json_text(*key, where + ".key"));
  HOOKD_CHECK(check_json_key(result.key, where + ".key"));
  const auto* op = object.if_contains("operator");
  if (!op) return json_fault(where, "\"operator\" is missing; expected In, NotIn, Exists or DoesNotExist");
  HOOKD_TRY(const std::string op_text, json_text(*op, where + ".operator"));
  HOOKD_TRY(result.op, json_operator(op_text, where + ".operator"));
  const auto* values = object.if_contains("values");
  if (values && !values->is_null()) {
    if (!values->is_array()) return json_fault(where + ".values", "expected a list of strings");
    size_t index = 0;
    for (const auto& one : values->get_array()) {
      HOOKD_TRY(std::string text, json_value(one, fmt::format("{}.values[{}]", where, index++)));
      result.values.push_back(std::move(text));
    }
  }
  const bool wants = result.op == Operator::kIn || result.op == Operator::kNotIn;
  if (wants && result.values.empty())
    return json_fault(where + ".values", fmt::format("{} needs at least one value", op_text));
  if (!wants && !result.values.empty())
    return json_fault(where + ".values", fmt::format("{} takes no values", op_text));
  return result;
}

}  // namespace

Result<LabelSelector> LabelSelector::parse(std::string_view text) {
  if (text.size() > kMaxTextBytes)
    return fail(Errc::kConfig, "a label selector of {} bytes; at most {} are taken", text.size(), kMaxTextBytes);
  LabelSelector selector;
  HOOKD_TRY(selector.requirements_, Parser(text).parse());
  canonicalise(selector.requirements_);
  return selector;
}

Result<LabelSelector> LabelSelector::from_json(const boost::json::object& object) {
  LabelSelector selector;
  for (const auto& [name, value] : object) {
    if (name == "matchLabels") {
      if (value.is_null()) continue;
      if (!value.is_object()) return json_fault(name, "expected a mapping of label keys to values");
      for (const auto& [key, label] : value.get_object()) {
        const std::string where = fmt::format("matchLabels[\"{}\"]", std::string_view(key));
        HOOKD_CHECK(check_json_key(key, where));
        HOOKD_TRY(std::string text, json_value(label, where));
        selector.requirements_.push_back({std::string(key), Operator::kIn, {std::move(text)}});
      }
    } else if (name == "matchExpressions") {
      if (value.is_null()) continue;
      if (!value.is_array()) return json_fault(name, "expected a list of {key, operator, values}");
      size_t index = 0;
      for (const auto& one : value.get_array()) {
        HOOKD_TRY(Requirement requirement, json_expression(one, fmt::format("matchExpressions[{}]", index++)));
        selector.requirements_.push_back(std::move(requirement));
      }
    } else {
      return fail(Errc::kConfig, "label selector: unknown key \"{}\"; expected matchLabels or matchExpressions",
                  std::string_view(name));
    }
  }
  canonicalise(selector.requirements_);
  return selector;
}

bool LabelSelector::matches(const Labels& labels) const {
  return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& requirement) {
    const auto label = labels.find(requirement.key);
    const bool has = label != labels.end();
    const auto listed = [&] {
      return std::binary_search(requirement.values.begin(), requirement.values.end(), label->second);
    };
    switch (requirement.op) {
      case Operator::kExists:
        return has;
      case Operator::kDoesNotExist:
        return !has;
      case Operator::kIn:
        return has && listed();
      case Operator::kNotIn:
        return !has || !listed();
      case Operator::kGreater:
      case Operator::kLess:
        break;
    }
    const auto number = has ? integer(label->second) : std::nullopt;
    const auto bound = integer(requirement.values.front());
    if (!number || !bound) return false;
    return requirement.op == Operator::kGreater ? *number > *bound : *number < *bound;
  });
}

std::string LabelSelector::to_string() const {
  std::string text;
  for (const auto& [key, op, values] : requirements_) {
    if (!text.empty()) text += ',';
    switch (op) {
      case Operator::kExists:
        text += key;
        break;
      case Operator::kDoesNotExist:
        text += '!' + key;
        break;
      case Operator::kGreater:
        text += key + '>' + values.front();
        break;
      case Operator::kLess:
        text += key + '<' + values.front();
        break;
      case Operator::kIn:
      case Operator::kNotIn:
        if (values.size() == 1)
          text += fmt::format("{}{}{}", key, op == Operator::kIn ? "=" : "!=", values.front());
        else
          text += fmt::format("{} {} ({})", key, op == Operator::kIn ? "in" : "notin", fmt::join(values, ","));
        break;
    }
  }
  return text;
}

}  // namespace hookd::cache
