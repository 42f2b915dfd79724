#include "embedded/wire/selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json_read.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {
namespace {

bool label_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.'; }

constexpr std::string_view kQualifiedName =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kSubdomain =
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
    "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kLabelValue =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

bool name_like(std::string_view text) {
  return !text.empty() && std::isalnum(static_cast<unsigned char>(text.front())) &&
         std::isalnum(static_cast<unsigned char>(text.back())) && std::all_of(text.begin(), text.end(), label_char);
}

std::vector<std::string> key_problems(std::string_view key) {
  std::vector<std::string> out;
  const auto slash = key.find('/');
  auto name = key;
  if (slash != std::string_view::npos) {
    const auto prefix = key.substr(0, slash);
    name = key.substr(slash + 1);
    if (name.find('/') != std::string_view::npos) {
      out.push_back(
          "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
          "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
          "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. "
          "'example.com/MyName')");
      return out;
    }
    if (prefix.empty())
      out.emplace_back("prefix part must be non-empty");
    else if (!name_like(prefix) || std::any_of(prefix.begin(), prefix.end(), [](char c) {
               return c == '_' || std::isupper(static_cast<unsigned char>(c));
             }))
      out.emplace_back(kSubdomain);
  }
  if (name.empty())
    out.emplace_back("name part must be non-empty");
  else if (name.size() > 63)
    out.emplace_back("name part must be no more than 63 bytes");
  if (!name_like(name)) out.emplace_back(kQualifiedName);
  return out;
}

// A field error or several, as an aggregate prints them.
std::string aggregate(const FieldErrors& errors) {
  if (errors.size() == 1) return errors[0].text();
  std::string out = "[";
  for (size_t i = 0; i < errors.size(); ++i) out += (i ? ", " : "") + errors[i].text();
  return out + "]";
}

}  // namespace

class LabelParser {
 public:
  explicit LabelParser(std::string_view text) : text_(text) { next(); }

  Answer<LabelQuery> run() {
    LabelQuery query;
    if (kind_ == kEnd) return query;
    while (true) {
      if (kind_ != kWord && kind_ != kBang)
        return bad(fmt::format("found '{}', expected: !, identifier, or 'end of string'", word_));
      LabelQuery::Requirement requirement;
      if (auto told = one(requirement); !told.empty()) return bad("unable to parse requirement: " + told);
      query.requirements_.push_back(std::move(requirement));
      if (kind_ == kEnd) break;
      if (kind_ != kComma) return bad(fmt::format("found '{}', expected: ',' or 'end of string'", word_));
      next();
      if (kind_ != kWord && kind_ != kBang)
        return bad(fmt::format("found '{}', expected: identifier after ','", word_));
    }
    std::stable_sort(query.requirements_.begin(), query.requirements_.end(),
                     [](auto& a, auto& b) { return a.key < b.key; });
    return query;
  }

 private:
  enum Kind { kEnd, kWord, kBang, kComma, kOpen, kClose, kEqual, kDoubleEqual, kNotEqual, kGreater, kLess };

  static Refusal bad(std::string message) { return refuse(bad_request(std::move(message))); }

  static bool special(char c) { return std::string_view("=!(),><").find(c) != std::string_view::npos; }
  static bool blank(char c) { return std::string_view(" \t\r\n").find(c) != std::string_view::npos; }

  void next() {
    while (at_ < text_.size() && blank(text_[at_])) ++at_;
    const size_t start = at_;
    if (at_ >= text_.size()) {
      kind_ = kEnd;
      word_.clear();
      return;
    }
    if (!special(text_[at_])) {
      while (at_ < text_.size() && !special(text_[at_]) && !blank(text_[at_])) ++at_;
      kind_ = kWord;
    } else {
      const char c = text_[at_++];
      const bool equals = at_ < text_.size() && text_[at_] == '=';
      kind_ = c == '(' ? kOpen : c == ')' ? kClose : c == ',' ? kComma : c == '>' ? kGreater : c == '<' ? kLess : kEnd;
      if (c == '=') {
        kind_ = equals ? kDoubleEqual : kEqual;
        at_ += equals;
      } else if (c == '!') {
        kind_ = equals ? kNotEqual : kBang;
        at_ += equals;
      }
    }
    word_ = std::string(text_.substr(start, at_ - start));
  }

  std::string one(LabelQuery::Requirement& out) {
    using Op = LabelQuery::Op;
    out.op = Op::kExists;
    if (kind_ == kBang) {
      out.op = Op::kAbsent;
      next();
    }
    if (kind_ != kWord) return fmt::format("found '{}', expected: identifier", word_);
    out.key = word_;
    FieldErrors errors;
    for (auto& text : key_problems(out.key))
      errors.push_back({FieldError::Type::kInvalid, "<nil>", text, out.key.c_str()});
    if (!errors.empty()) return aggregate(errors);
    next();
    if (kind_ == kEnd || kind_ == kComma) return {};
    if (out.op == Op::kAbsent) return {};  // what follows is told by the caller
    if (kind_ == kWord && (word_ == "in" || word_ == "notin")) {
      out.op = word_ == "in" ? Op::kIn : Op::kNotIn;
      next();
      if (auto told = values(out.values); !told.empty()) return told;
    } else {
      switch (kind_) {
        case kEqual:
        case kDoubleEqual:
          out.op = Op::kIn;
          break;
        case kNotEqual:
          out.op = Op::kNotIn;
          break;
        case kGreater:
          out.op = Op::kGreater;
          break;
        case kLess:
          out.op = Op::kLess;
          break;
        default:
          return fmt::format("found '{}', expected: in, notin, =, ==, !=, gt, lt", word_);
      }
      next();
      if (kind_ == kEnd || kind_ == kComma) {
        out.values.emplace_back();
      } else if (kind_ == kWord) {
        out.values.push_back(word_);
        next();
      } else {
        return fmt::format("found '{}', expected: identifier", word_);
      }
    }
    return check_values(out);
  }

  std::string values(std::vector<std::string>& out) {
    if (kind_ != kOpen) return fmt::format("found '{}' expected: '('", word_);
    next();
    if (kind_ != kWord && kind_ != kComma && kind_ != kClose)
      return fmt::format("found '{}', expected: ',', ')' or identifier", word_);
    bool want = true;  // a value or an empty one
    while (true) {
      if (kind_ == kWord) {
        out.push_back(word_);
        next();
        want = false;
        if (kind_ != kComma && kind_ != kClose) return fmt::format("found '{}', expected: ',' or ')'", word_);
      } else if (kind_ == kComma) {
        if (want) out.emplace_back();
        want = true;
        next();
      } else if (kind_ == kClose) {
        if (want) out.emplace_back();
        next();
        break;
      } else {
        return fmt::format("found '{}', expected: ',', or identifier", word_);
      }
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return {};
  }

  static std::string check_values(const LabelQuery::Requirement& requirement) {
    using Op = LabelQuery::Op;
    FieldErrors errors;
    for (size_t i = 0; i < requirement.values.size(); ++i) {
      const auto& value = requirement.values[i];
      const auto field = fmt::format("values[{}][{}]", i, requirement.key);
      if (requirement.op == Op::kGreater || requirement.op == Op::kLess) {
        int64_t number = 0;
        const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), number);
        if (code != std::errc{} || end != value.data() + value.size())
          errors.push_back({FieldError::Type::kInvalid, fmt::format("values[{}]", i),
                            "for 'Gt', 'Lt' operators, the value must be an integer", value.c_str()});
      }
      if (value.size() > 63)
        errors.push_back({FieldError::Type::kInvalid, field, "must be no more than 63 bytes", value.c_str()});
      if (!value.empty() && !name_like(value))
        errors.push_back({FieldError::Type::kInvalid, field, std::string(kLabelValue), value.c_str()});
    }
    return errors.empty() ? std::string{} : aggregate(errors);
  }

  std::string_view text_;
  size_t at_ = 0;
  Kind kind_ = kEnd;
  std::string word_;
};

Answer<LabelQuery> LabelQuery::parse(std::string_view text) { return LabelParser(text).run(); }

bool LabelQuery::Requirement::holds(const std::string* value) const {
  const auto listed = [&] { return std::find(values.begin(), values.end(), *value) != values.end(); };
  switch (op) {
    case Op::kExists:
      return value != nullptr;
    case Op::kAbsent:
      return value == nullptr;
    case Op::kIn:
      return value && listed();
    case Op::kNotIn:
      return !value || !listed();
    case Op::kGreater:
    case Op::kLess: {
      if (!value) return false;
      int64_t has = 0, bound = 0;
      const auto read = [](const std::string& text, int64_t& out) {
        const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
        return code == std::errc{} && end == text.data() + text.size();
      };
      if (!read(*value, has) || values.empty() || !read(values[0], bound)) return false;
      return op == Op::kGreater ? has > bound : has < bound;
    }
  }
  return false;
}

bool LabelQuery::matches(const json::object* labels) const {
  for (const auto& requirement : requirements_) {
    std::string text;
    const std::string* value = nullptr;
    if (labels)
      if (const auto* found = labels->if_contains(requirement.key); found && found->is_string()) {
        text = std::string(found->get_string());
        value = &text;
      }
    if (!requirement.holds(value)) return false;
  }
  return true;
}

bool LabelQuery::matches_text(std::string_view object) const {
  if (requirements_.empty()) return true;
  const auto raw = json_raw_at(object, {"metadata", "labels"});
  if (!raw) return matches(nullptr);
  const auto labels = parse_text(*raw);
  return matches(labels && labels->is_object() ? &labels->get_object() : nullptr);
}

Answer<FieldSelector> FieldSelector::parse(std::string_view text) {
  // Terms are split at commas that no backslash escapes; in values \, \= \\ stand for the character.
  FieldSelector out;
  const auto term = [&](std::string_view part) -> Answer<void> {
    if (part.empty()) return {};
    const auto misread = [&] {
      return refuse(bad_request(fmt::format("invalid selector: '{}'; can't understand '{}'", text, part)));
    };
    // The first unescaped operator: "!=", "==" or "=".
    Term found;
    size_t value_at = 0;
    for (size_t i = 0; i < part.size(); ++i) {
      if (part[i] == '\\') {
        ++i;
        continue;
      }
      if (part.substr(i, 2) == "!=" || part.substr(i, 2) == "==") {
        found.equal = part[i] == '=';
        found.field = std::string(part.substr(0, i));
        value_at = i + 2;
        break;
      }
      if (part[i] == '=') {
        found.field = std::string(part.substr(0, i));
        value_at = i + 1;
        break;
      }
    }
    if (value_at == 0) return misread();
    const auto raw = part.substr(value_at);
    for (size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] == '\\') {
        if (i + 1 >= raw.size() || std::string_view(",=\\").find(raw[i + 1]) == std::string_view::npos)
          return refuse(bad_request(fmt::format("invalid field selector: invalid escape sequence: {}",
                                                i + 1 < raw.size() ? raw.substr(i, 2) : raw.substr(i))));
        found.value += raw[++i];
      } else if (raw[i] == '=' || raw[i] == ',') {
        return refuse(bad_request(fmt::format("invalid field selector: unescaped {} in value: {}", raw[i], raw)));
      } else {
        found.value += raw[i];
      }
    }
    out.terms_.push_back(std::move(found));
    return {};
  };
  size_t start = 0;
  bool escaped = false;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && escaped) {
      escaped = false;
      continue;
    }
    if (i < text.size() && text[i] == '\\') escaped = true;
    if (i == text.size() || text[i] == ',') {
      if (auto done = term(text.substr(start, i - start)); !done) return refuse(done.error());
      start = i + 1;
    }
  }
  return out;
}

const std::string* FieldSelector::exact(std::string_view field) const {
  for (const auto& term : terms_)
    if (term.equal && term.field == field) return &term.value;
  return nullptr;
}

}  // namespace hookd::embedded
