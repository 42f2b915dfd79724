#include "apply/json_text.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <set>

#include "base/json_read.h"
#include "base/json_writer.h"

namespace hookd::apply {
namespace {

// Walks over JSON that validate_json() has passed; a loop, so that depth costs no stack.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) { skip_space(); }

  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    skip_space();
    return true;
  }

  std::string_view value() {
    const size_t start = at_;
    size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        skip_string();
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at_;
      } else if (c == '}' || c == ']') {
        if (depth == 0) break;
        --depth;
        ++at_;
      } else if (depth == 0 && (c == ',' || c == ':' || is_space(c))) {
        break;
      } else {
        ++at_;
        continue;
      }
      if (depth == 0) break;
    }
    const auto raw = text_.substr(start, at_ - start);
    skip_space();
    return raw;
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  void skip_string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_)
      if (text_[at_] == '\\') ++at_;
    if (at_ < text_.size()) ++at_;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<std::vector<Member>> json_members(std::string_view object) {
  HOOKD_CHECK(validate_json(object));
  Walker walker(object);
  if (!walker.take('{')) return fail(Errc::kDecode, "a JSON object was expected");
  std::vector<Member> members;
  std::set<std::string> seen;
  while (!walker.take('}')) {
    const auto key = json_text_of(walker.value());
    if (!key) return fail(Errc::kDecode, "a key that is not text that can be read");
    if (!seen.insert(*key).second) return fail(Errc::kDecode, "`{}` stands twice in one object", *key);
    walker.take(':');
    members.push_back({*key, walker.value()});
    walker.take(',');
  }
  return members;
}

Result<std::vector<Member>> json_members_lenient(std::string_view object, std::vector<std::string>& twice) {
  HOOKD_CHECK(validate_json(object));
  Walker walker(object);
  if (!walker.take('{')) return fail(Errc::kDecode, "a JSON object was expected");
  std::vector<Member> members;
  std::map<std::string, size_t> places;
  while (!walker.take('}')) {
    const auto key = json_text_of(walker.value());
    if (!key) return fail(Errc::kDecode, "a key that is not text that can be read");
    walker.take(':');
    const std::string_view value = walker.value();
    walker.take(',');
    if (const auto [place, fresh] = places.try_emplace(*key, members.size()); fresh) {
      members.push_back({*key, value});
    } else {
      members[place->second].value = value;
      twice.push_back(*key);
    }
  }
  return members;
}

Result<std::vector<std::string_view>> json_elements(std::string_view array) {
  HOOKD_CHECK(validate_json(array));
  Walker walker(array);
  if (!walker.take('[')) return fail(Errc::kDecode, "a JSON list was expected");
  std::vector<std::string_view> elements;
  while (!walker.take(']')) {
    elements.push_back(walker.value());
    walker.take(',');
  }
  return elements;
}

const Member* find_member(const std::vector<Member>& members, std::string_view key) {
  const auto found = std::ranges::find(members, key, &Member::key);
  return found == members.end() ? nullptr : &*found;
}

std::string with_members(std::string_view object, const Changes& changes) {
  const auto members = json_members(object);
  if (!members) return std::string(object);
  JsonWriter out;
  out.begin_object();
  for (const auto& member : *members) {
    const auto change = std::ranges::find(changes, member.key, &Changes::value_type::first);
    if (change == changes.end())
      out.key(member.key).raw(member.value);
    else if (change->second)
      out.key(member.key).raw(*change->second);
  }
  for (const auto& [key, value] : changes)
    if (value && !find_member(*members, key)) out.key(key).raw(*value);
  out.end_object();
  return std::move(out).take();
}

std::string with_metadata(std::string_view object, const Changes& changes) {
  const auto members = json_members(object);
  if (!members) return std::string(object);
  const Member* metadata = find_member(*members, "metadata");
  const bool sets = std::ranges::any_of(changes, [](const auto& change) { return change.second.has_value(); });
  if (!metadata && !sets) return std::string(object);
  return with_members(object, {{"metadata", with_members(metadata ? metadata->value : "{}", changes)}});
}

bool is_json_object(std::string_view raw) { return raw.starts_with('{'); }
bool is_json_array(std::string_view raw) { return raw.starts_with('['); }

std::optional<std::string> json_text_of(std::string_view raw) {
  if (!raw.starts_with('"')) return std::nullopt;
  boost::system::error_code error;
  const auto value = boost::json::parse(raw, error);
  if (error || !value.is_string()) return std::nullopt;
  return std::string(value.get_string());
}

}  // namespace hookd::apply
