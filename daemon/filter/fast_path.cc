#include "filter/fast_path.h"

#include <simdjson.h>

#include <charconv>
#include <span>

#include "filter/compact_json.h"
#include "filter/fast_parse.h"

namespace hookd::filter {
namespace {

namespace ondemand = simdjson::ondemand;
using Node = FastPath::Node;
using Step = FastPath::Step;
using Op = Node::Op;

// simdjson reads past the end of the text: it is copied into a buffer with room behind it.
struct Reader {
  ondemand::parser parser;
  std::string buffer;
};

Reader& reader() {
  static thread_local Reader instance;
  return instance;
}

constexpr size_t kKeptBufferBytes = 4u << 20;  // a larger one is given back after use

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

// The raw text of a value; jq's null for what is not there.
constexpr std::string_view kNull = "null";

// One run. Every method gives false where jq must decide.
class Evaluation {
 public:
  explicit Evaluation(std::string_view json) : json_(trimmed(json)) {}

  bool evaluate(const Node& node, std::string& out) {
    switch (node.op) {
      case Op::kPath: {
        std::string_view raw;
        return look_up(node.path, raw) && append(raw, out);
      }
      case Op::kLiteral:
        out += node.literal;
        return true;
      case Op::kAlternative: {
        bool truth = false;
        return truth_of(node.children[0], truth) && evaluate(node.children[truth ? 0 : 1], out);
      }
      case Op::kObject:
      case Op::kArray:
        return construct(node, out);
      default: {
        bool truth = false;
        if (!truth_of(node, truth)) return false;
        out += truth ? "true" : "false";
        return true;
      }
    }
  }

 private:
  bool construct(const Node& node, std::string& out) {
    const bool object = node.op == Op::kObject;
    out += object ? '{' : '[';
    for (size_t i = 0; i < node.children.size(); ++i) {
      if (i > 0) out += ',';
      if (object) out += node.keys[i] + ":";
      inside_ = true;
      if (!evaluate(node.children[i], out)) return false;
    }
    out += object ? '}' : ']';
    return true;
  }

  // All but false and null are true.
  bool truth_of(const Node& node, bool& truth) {
    switch (node.op) {
      case Op::kPath: {
        std::string_view raw;
        if (!look_up(node.path, raw)) return false;
        truth = raw != "null" && raw != "false";
        return true;
      }
      case Op::kLiteral:
        truth = node.literal != "null" && node.literal != "false";
        return true;
      case Op::kEqual:
      case Op::kNotEqual:
        if (!equal(node, truth)) return false;
        if (node.op == Op::kNotEqual) truth = !truth;
        return true;
      case Op::kAnd:
      case Op::kOr:
        if (!truth_of(node.children[0], truth)) return false;
        if (truth != (node.op == Op::kAnd)) return true;
        return truth_of(node.children[1], truth);
      case Op::kNot:
        if (!truth_of(node.children[0], truth)) return false;
        truth = !truth;
        return true;
      case Op::kAlternative:
        return truth_of(node.children[0], truth) && (truth || truth_of(node.children[1], truth));
      case Op::kObject:
      case Op::kArray: {
        std::string ignored;
        truth = true;
        return construct(node, ignored);
      }
    }
    return false;
  }

  bool equal(const Node& node, bool& result) {
    std::string_view raw;
    if (!look_up(node.children[0].path, raw)) return false;
    const std::string_view literal = node.children[1].literal;
    result = false;
    if (raw.front() == '"' && literal.front() == '"') {
      std::string text;
      if (!append_compact_string(text, raw)) return false;
      result = text == literal;
    } else if (raw.front() == 'n' || raw.front() == 't' || raw.front() == 'f') {
      result = raw == literal;
    } else if (raw.front() != '"' && raw.front() != '{' && raw.front() != '[' && literal.front() >= '0' &&
               literal.front() <= '9') {
      double left = 0, right = 0;
      if (!is_json_number(raw) || std::from_chars(raw.data(), raw.data() + raw.size(), left).ec != std::errc{})
        return false;
      if (std::from_chars(literal.data(), literal.data() + literal.size(), right).ec != std::errc{}) return false;
      result = left == right;
    }
    return true;
  }

  // Scalars as jq prints them: a number that it might print in another way is left to it.
  bool append(std::string_view raw, std::string& out) const {
    const char first = raw.front();
    if (first == '"') return append_compact_string(out, raw);
    if (first == '{' || first == '[') {
      const auto compact = compact_json(raw);
      if (!compact) return false;
      out += *compact;
      return true;
    }
    if (first == 'n' || first == 't' || first == 'f') {
      out += raw;
      return true;
    }
    const size_t digits = raw.size() - (first == '-' ? 1 : 0);
    const bool integer = raw.find_first_of(".eE") == std::string_view::npos && raw != "-0";
    if (!is_json_number(raw) || (!inside_ && (!integer || digits > 15))) return false;
    double ignored = 0;
    if (std::from_chars(raw.data(), raw.data() + raw.size(), ignored).ec != std::errc{}) return false;
    out += raw;
    return true;
  }

  bool open() {
    if (opened_) return true;
    const bool object = json_.starts_with('{') && json_.ends_with('}');
    if (!object && !(json_.starts_with('[') && json_.ends_with(']'))) return false;
    Reader& read = reader();
    read.buffer.reserve(json_.size() + simdjson::SIMDJSON_PADDING);
    read.buffer.assign(json_);
    opened_ = !read.parser.iterate(read.buffer.data(), read.buffer.size(), read.buffer.capacity()).get(document_);
    return opened_;
  }

  bool look_up(std::span<const Step> path, std::string_view& raw) {
    if (path.empty()) {
      raw = json_;
      return !raw.empty() && is_token(raw);
    }
    if (!open()) return false;
    document_.rewind();
    ondemand::value root;
    if (document_.get_value().get(root)) return false;
    if (!step(root, path, raw)) return false;
    const char* rest = nullptr;
    return document_.current_location().get(rest) == simdjson::OUT_OF_BOUNDS;  // the root is all there is
  }

  // A scalar that is the whole input is unchecked yet.
  static bool is_token(std::string_view raw) {
    switch (raw.front()) {
      case '{':
      case '[':
        return compact_json(raw).has_value();
      case '"':
        return simdjson::validate_utf8(raw.data(), raw.size()) && raw.size() >= 2 && raw.find('"', 1) == raw.size() - 1;
      default:
        return raw == "null" || raw == "true" || raw == "false" || is_json_number(raw);
    }
  }

  bool step(ondemand::value& value, std::span<const Step> path, std::string_view& raw) {
    if (path.empty()) return capture(value, raw);
    ondemand::json_type type{};
    if (value.type().get(type)) return false;
    if (type == ondemand::json_type::null) {
      raw = kNull;
      return value.is_null();
    }
    const bool by_key = !path[0].key.empty();
    if (by_key && type == ondemand::json_type::object) return member(value, path, raw);
    if (!by_key && type == ondemand::json_type::array) return element(value, path, raw);
    return false;  // "Cannot index …", in jq's words
  }

  // Walks the whole object: with a key twice, jq takes the last, and here it is left to jq.
  bool member(ondemand::value& value, std::span<const Step> path, std::string_view& raw) {
    ondemand::object object;
    if (value.get_object().get(object)) return false;
    const std::string_view wanted = std::string_view(path[0].key).substr(1, path[0].key.size() - 2);
    bool found = false;
    raw = kNull;
    for (auto result : object) {
      ondemand::field field;
      std::string_view key;
      if (std::move(result).get(field) || field.unescaped_key().get(key)) return false;
      if (key != wanted) continue;
      if (found || !step(field.value(), path.subspan(1), raw)) return false;
      found = true;
    }
    return true;
  }

  bool element(ondemand::value& value, std::span<const Step> path, std::string_view& raw) {
    ondemand::array array;
    if (value.get_array().get(array)) return false;
    int64_t index = path[0].index;
    if (index < 0) {
      size_t count = 0;
      if (array.count_elements().get(count)) return false;
      index += static_cast<int64_t>(count);
    }
    raw = kNull;
    int64_t at = 0;
    for (auto result : array) {
      ondemand::value item;
      if (std::move(result).get(item)) return false;
      if (at++ == index && !step(item, path.subspan(1), raw)) return false;
    }
    return true;
  }

  bool capture(ondemand::value& value, std::string_view& raw) {
    ondemand::json_type type{};
    if (value.type().get(type)) return false;
    if (type == ondemand::json_type::object) {
      ondemand::object object;
      if (value.get_object().get(object) || object.raw_json().get(raw)) return false;
    } else if (type == ondemand::json_type::array) {
      ondemand::array array;
      if (value.get_array().get(array) || array.raw_json().get(raw)) return false;
    } else {
      raw = value.raw_json_token();
    }
    raw = trimmed(raw);
    if (raw.empty()) return false;
    switch (type) {
      case ondemand::json_type::null:
        return raw == kNull;
      case ondemand::json_type::boolean:
        return raw == "true" || raw == "false";
      default:
        return true;
    }
  }

  std::string_view json_;
  ondemand::document document_;
  bool opened_ = false;
  bool inside_ = false;  // an object or list is being built
};

}  // namespace

std::optional<FastPath> FastPath::compile(std::string_view expression) {
  auto root = parse_fast(expression);
  if (!root) return std::nullopt;
  return FastPath(std::move(*root));
}

std::optional<std::string> FastPath::run(std::string_view json) const {
  std::string out;
  const bool sure = Evaluation(json).evaluate(root_, out);
  if (reader().buffer.capacity() > kKeptBufferBytes) reader() = Reader();
  if (!sure) return std::nullopt;
  return out;
}

}  // namespace hookd::filter
