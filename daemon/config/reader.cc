#include "config/reader.h"

#include <charconv>

#include "base/json_writer.h"
#include "base/time.h"
#include "config/nearest.h"
#include "config/quantity.h"

namespace hookd::config {
namespace {

using Kind = Node::Kind;

// What a person may have meant who wrote this where text is wanted.
std::string quote_hint(const Node& node) {
  const bool scalar = node.kind == Kind::kBool || node.kind == Kind::kInt || node.kind == Kind::kFloat;
  return scalar ? fmt::format("; write {} in quotes", json_string(node.text)) : "";
}

bool is_yaml11_boolean(std::string_view text) {
  static const std::set<std::string, std::less<>> kWords{"y",  "Y",  "n",  "N",  "yes", "Yes", "YES", "no",
                                                         "No", "NO", "on", "On", "ON",  "off", "Off", "OFF"};
  return kWords.contains(text);
}

}  // namespace

Reader::Reader(const Node& node, std::string path, Problems& problems)
    : node_(node), path_(std::move(path)), problems_(problems) {
  if (node.kind != Kind::kMap) problems_.add(node.at, path_, "expected a map of keys, found {}", node.describe());
}

std::string Reader::path_of(std::string_view key) const {
  if (path_.empty()) return std::string(key);
  return key.empty() ? path_ : fmt::format("{}.{}", path_, key);
}

Position Reader::at(std::string_view key) const {
  const Entry* entry = node_.find(key);
  if (entry == nullptr) return node_.at;
  return entry->value.kind == Kind::kNull ? entry->at : entry->value.at;
}

const Node* Reader::take(std::string_view key) {
  known_.emplace(key);
  const Entry* entry = node_.find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

const Node* Reader::raw(std::string_view key) { return take(key); }

void Reader::problem(std::string_view key, std::string_view message) {
  problems_.add_text(at(key), path_of(key), message);
}
void Reader::problem(std::string_view key, size_t index, std::string_view message) {
  const Entry* entry = node_.find(key);
  const Position position =
      entry != nullptr && index < entry->value.items.size() ? entry->value.items[index].at : at(key);
  problems_.add_text(position, fmt::format("{}[{}]", path_of(key), index), message);
}
void Reader::problem_here(std::string_view message) { problems_.add_text(node_.at, path_, message); }

bool Reader::wrong(std::string_view key, const Node& node, std::string_view expected) {
  if (node.kind == Kind::kNull) {
    problem(key, fmt::format("expected {}, found nothing; leave the key out to get the default", expected));
  } else {
    problem(key, fmt::format("expected {}, found {}{}", expected, node.describe(),
                             expected == "text" ? quote_hint(node) : ""));
  }
  return false;
}

void Reader::require(std::string_view key) {
  if (is_map() && !has(key)) problems_.add(node_.at, path_, "the key \"{}\" is missing", key);
}

void Reader::unsupported(std::string_view key) {
  unsupported_.emplace(key);
  if (const Entry* entry = node_.find(key); entry != nullptr)
    problems_.add(entry->at, path_of(key), "not supported by this version of hookd");
}

bool Reader::string(std::string_view key, std::string& out) {
  const Node* node = take(key);
  if (node == nullptr) return false;
  if (node->kind != Kind::kString) return wrong(key, *node, "text");
  if (node->text.empty()) {
    problem(key, "is empty");
    return false;
  }
  if (node->text.find('\0') != std::string::npos) {
    problem(key, "has a NUL byte in it");
    return false;
  }
  out = node->text;
  return true;
}

bool Reader::required_string(std::string_view key, std::string& out) {
  require(key);
  return string(key, out);
}

bool Reader::boolean(std::string_view key, bool& out) {
  const Node* node = take(key);
  if (node == nullptr) return false;
  if (node->kind == Kind::kBool) {
    out = node->is_true();
    return true;
  }
  if (node->kind == Kind::kString && is_yaml11_boolean(node->text)) {
    problem(key, fmt::format("\"{}\" is text in YAML 1.2; write true or false", node->text));
    return false;
  }
  return wrong(key, *node, "true or false");
}

bool Reader::whole_number(std::string_view key, int64_t& out, int64_t min, int64_t max) {
  const Node* node = take(key);
  if (node == nullptr) return false;
  const std::string expected = max == std::numeric_limits<int64_t>::max()
                                   ? fmt::format("a whole number from {} up", min)
                                   : fmt::format("a whole number from {} to {}", min, max);
  if (node->kind != Kind::kInt) return wrong(key, *node, expected);
  const auto digits = json_number(*node);
  if (!digits) {
    problem(key, digits.error().what);
    return false;
  }
  int64_t value = 0;
  const auto parsed = std::from_chars(digits->data(), digits->data() + digits->size(), value);
  if (parsed.ec != std::errc{} || value < min || value > max) return wrong(key, *node, expected);
  out = value;
  return true;
}

bool Reader::number(std::string_view key, double& out, double min, double max) {
  const Node* node = take(key);
  if (node == nullptr) return false;
  const std::string expected = fmt::format("a number from {} to {}", min, max);
  if (node->kind != Kind::kInt && node->kind != Kind::kFloat) return wrong(key, *node, expected);
  const auto digits = json_number(*node);
  if (!digits) {
    problem(key, digits.error().what);
    return false;
  }
  double value = 0;
  const auto parsed = std::from_chars(digits->data(), digits->data() + digits->size(), value);
  if (parsed.ec != std::errc{} || !(value >= min && value <= max)) return wrong(key, *node, expected);
  out = value;
  return true;
}

bool Reader::duration(std::string_view key, Duration& out, Duration min, Duration max) {
  const Node* node = take(key);
  if (node == nullptr) return false;
  if (node->kind != Kind::kString && node->kind != Kind::kInt && node->kind != Kind::kFloat)
    return wrong(key, *node, "a duration such as 30s or 1h30m");
  const auto value = parse_duration(node->text);
  if (!value) {
    problem(key, value.error().what);
    return false;
  }
  if (*value < min || *value > max) {
    problem(key, fmt::format("expected a duration from {} to {}, found {}", format_duration(min), format_duration(max),
                             node->text));
    return false;
  }
  out = *value;
  return true;
}

bool Reader::quantity(std::string_view key, uint64_t& out, uint64_t min, uint64_t max) {
  const Node* node = take(key);
  if (node == nullptr) return false;
  if (node->kind != Kind::kString && node->kind != Kind::kInt) return wrong(key, *node, "a size such as 256Mi");
  const auto value = parse_quantity(node->text);
  if (!value) {
    problem(key, value.error().what);
    return false;
  }
  if (*value < min || *value > max) {
    problem(key, fmt::format("expected a size from {} to {}, found {}", format_quantity(min), format_quantity(max),
                             node->text));
    return false;
  }
  out = *value;
  return true;
}

bool Reader::choice_name(std::string_view key, std::string& out, const std::set<std::string, std::less<>>& names) {
  const Node* node = take(key);
  if (node == nullptr) return false;
  if (node->kind == Kind::kString && names.contains(node->text)) {
    out = node->text;
    return true;
  }
  if (node->kind != Kind::kString) return wrong(key, *node, fmt::format("one of {}", fmt::join(names, ", ")));
  const std::string near = nearest(node->text, names);
  problem(key, fmt::format("expected one of {}, found \"{}\"{}", fmt::join(names, ", "), node->text,
                           near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
  return false;
}

bool Reader::texts(std::string_view key, std::vector<std::string>& out, bool is_set) {
  const Node* node = take(key);
  if (node == nullptr) return false;
  if (node->kind != Kind::kList) {
    const std::string hint = node->kind == Kind::kString ? fmt::format(" such as [{}]", json_string(node->text)) : "";
    return wrong(key, *node, "a list of texts" + hint);
  }
  std::vector<std::string> list;
  bool good = true;
  for (size_t i = 0; i < node->items.size(); ++i) {
    const Node& item = node->items[i];
    const auto bad = [&](std::string_view message) {
      problems_.add(item.at, fmt::format("{}[{}]", path_of(key), i), "{}", message);
      good = false;
    };
    if (item.kind != Kind::kString)
      bad(fmt::format("expected text, found {}{}", item.describe(), quote_hint(item)));
    else if (item.text.find('\0') != std::string::npos)
      bad("has a NUL byte in it");
    else if (is_set && item.text.empty())
      bad("is empty");
    else if (is_set && std::ranges::find(list, item.text) != list.end())
      bad(fmt::format("\"{}\" stands here twice", item.text));
    else
      list.push_back(item.text);
  }
  if (good) out = std::move(list);
  return good;
}

bool Reader::string_list(std::string_view key, std::vector<std::string>& out) { return texts(key, out, true); }
bool Reader::words(std::string_view key, std::vector<std::string>& out) { return texts(key, out, false); }

bool Reader::string_map(std::string_view key, std::map<std::string, std::string>& out) {
  const Node* node = take(key);
  if (node == nullptr) return false;
  if (node->kind != Kind::kMap) return wrong(key, *node, "a map of texts");
  std::map<std::string, std::string> map;
  bool good = true;
  for (const Entry& entry : node->entries) {
    if (entry.value.kind == Kind::kString && entry.value.text.find('\0') == std::string::npos) {
      map.emplace(entry.key, entry.value.text);
      continue;
    }
    problems_.add(entry.value.kind == Kind::kNull ? entry.at : entry.value.at,
                  fmt::format("{}.{}", path_of(key), entry.key), "expected text, found {}{}", entry.value.describe(),
                  quote_hint(entry.value));
    good = false;
  }
  if (good) out = std::move(map);
  return good;
}

std::optional<Reader> Reader::map(std::string_view key) {
  const Node* node = take(key);
  if (node == nullptr) return std::nullopt;
  if (node->kind != Kind::kMap) {
    wrong(key, *node, "a map of keys");
    return std::nullopt;
  }
  return Reader(*node, path_of(key), problems_);
}

std::vector<Reader> Reader::maps(std::string_view key) {
  std::vector<Reader> out;
  const Node* node = take(key);
  if (node == nullptr) return out;
  if (node->kind != Kind::kList) {
    wrong(key, *node, "a list (each element begins with '-')");
    return out;
  }
  for (size_t i = 0; i < node->items.size(); ++i)
    out.emplace_back(node->items[i], fmt::format("{}[{}]", path_of(key), i), problems_);
  return out;
}

void Reader::finish() {
  problems_.known_keys(path_, known_);
  for (const Entry& entry : node_.entries) {
    if (known_.contains(entry.key) || unsupported_.contains(entry.key)) continue;
    problems_.add(entry.at, path_, "unknown key \"{}\"{}", entry.key, hint(entry.key, known_));
  }
}

}  // namespace hookd::config
