#include "filter/fast_parse.h"

#include <simdjson.h>

#include <algorithm>
#include <array>

#include "filter/compact_json.h"

namespace hookd::filter {
namespace {

using Node = FastPath::Node;
using Step = FastPath::Step;
using Op = Node::Op;

constexpr int kMaxNesting = 32;
constexpr size_t kMaxExpressionBytes = 4096;
constexpr size_t kMaxIntegerDigits = 15;  // exact in a double, printed without an exponent

// Words that are no plain function name or object key in jq's grammar.
constexpr std::array<std::string_view, 20> kKeywords{
    "and", "or",    "not",    "def",     "if",    "then",   "elif",    "else",   "end",     "as",
    "try", "catch", "reduce", "foreach", "label", "import", "include", "module", "__loc__", "break"};

bool space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool word(char c) { return letter(c) || digit(c); }

// Recursive descent; each method gives false for whatever it does not know. In jq's order of binding, loosest first:
// | , // or and ==.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  bool whole(Node& out) {
    skip_space();
    if (at_ == text_.size()) return true;  // an empty expression is `.`
    return pipe(out) && (skip_space(), at_ == text_.size());
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && space(text_[at_])) ++at_;
  }
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  bool eat(std::string_view symbol) {
    skip_space();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }
  bool eat_word(std::string_view name) {
    skip_space();
    const auto rest = text_.substr(at_);
    if (!rest.starts_with(name) || (rest.size() > name.size() && (word(rest[name.size()]) || rest[name.size()] == ':')))
      return false;
    at_ += name.size();
    return true;
  }

  static Node join(Op op, Node left, Node right) {
    Node node;
    node.op = op;
    node.children.push_back(std::move(left));
    node.children.push_back(std::move(right));
    return node;
  }

  // A decimal is only for comparing: jq may print it in another way.
  static bool printable(const Node& node) {
    return node.op != Op::kLiteral || node.literal.find('.') == std::string::npos || node.literal[0] == '"';
  }

  bool pipe(Node& out) {
    if (!alternative(out)) return false;
    while (eat("|")) {
      if (peek() == '=' || !eat_word("not")) return false;
      Node node;
      node.op = Op::kNot;
      node.children.push_back(std::move(out));
      out = std::move(node);
    }
    return true;
  }

  bool alternative(Node& out) {
    if (++nesting_ > kMaxNesting || !or_chain(out)) return false;
    if (eat("//")) {
      Node right;
      if (peek() == '=' || !alternative(right)) return false;
      out = join(Op::kAlternative, std::move(out), std::move(right));
    }
    --nesting_;
    return true;
  }

  bool or_chain(Node& out) {
    if (!and_chain(out)) return false;
    while (eat_word("or")) {
      Node right;
      if (!and_chain(right)) return false;
      out = join(Op::kOr, std::move(out), std::move(right));
    }
    return true;
  }

  bool and_chain(Node& out) {
    if (!comparison(out)) return false;
    while (eat_word("and")) {
      Node right;
      if (!comparison(right)) return false;
      out = join(Op::kAnd, std::move(out), std::move(right));
    }
    return true;
  }

  bool comparison(Node& out) {
    if (!term(out)) return false;
    const Op op = eat("==") ? Op::kEqual : eat("!=") ? Op::kNotEqual : Op::kPath;
    if (op == Op::kPath) return printable(out);
    Node right;
    if (!term(right)) return false;
    if (out.op == Op::kLiteral) std::swap(out, right);
    if (out.op != Op::kPath || right.op != Op::kLiteral) return false;
    out = join(op, std::move(out), std::move(right));
    return true;
  }

  bool term(Node& out) {
    skip_space();
    switch (peek()) {
      case '.':
        return path(out);
      case '(':
        return bracket(out);
      case '{':
        return object(out);
      case '[':
        return array(out);
      case '"':
        return out.op = Op::kLiteral, string(out.literal);
      default:
        return digit(peek()) ? number(out) : constant(out);
    }
  }

  bool bracket(Node& out) {
    ++at_;
    return pipe(out) && eat(")");
  }

  bool constant(Node& out) {
    for (const std::string_view name : {"null", "true", "false"}) {
      if (!eat_word(name)) continue;
      out.op = Op::kLiteral;
      out.literal = name;
      return true;
    }
    return false;
  }

  bool number(Node& out) {
    const size_t start = at_;
    while (digit(peek()) || peek() == '.') ++at_;
    const auto token = text_.substr(start, at_ - start);
    out.op = Op::kLiteral;
    out.literal = token;
    return is_json_number(token) && token.size() <= kMaxIntegerDigits && !word(peek());
  }

  // A string without escapes and interpolation; as JSON.
  bool string(std::string& out) {
    const size_t end = text_.find('"', at_ + 1);
    if (end == std::string_view::npos) return false;
    const auto token = text_.substr(at_, end + 1 - at_);
    at_ = end + 1;
    const auto inner = token.substr(1, token.size() - 2);
    if (std::any_of(inner.begin(), inner.end(), [](char c) { return c == '\\' || c == 0x7f || (c >= 0 && c < 0x20); }))
      return false;
    out = token;
    return true;
  }

  std::string_view name() {
    const size_t start = at_;
    while (word(peek())) ++at_;
    return text_.substr(start, at_ - start);
  }

  // jq 1.6 reads .e1 as a (broken) number.
  static bool number_for_jq(std::string_view name) {
    return name.size() > 1 && (name[0] == 'e' || name[0] == 'E') &&
           name.find_first_not_of("0123456789", 1) == std::string_view::npos;
  }

  // Steps stand without white space between them.
  bool path(Node& out) {
    out.op = Op::kPath;
    ++at_;
    if (letter(peek()) || peek() == '"') {
      if (!key(out)) return false;
    } else if (peek() != '[') {
      return peek() != '.' && peek() != '?' && !digit(peek());  // `.`
    }
    for (;;) {
      if (peek() == '[') {
        if (!subscript(out)) return false;
      } else if (peek() == '.' && (letter(peek(1)) || peek(1) == '"')) {
        ++at_;
        if (!key(out)) return false;
      } else {
        return peek() != '.' && peek() != ':';
      }
    }
  }

  void optional_mark() {
    if (peek() == '?' && peek(1) != '/') ++at_;  // on an error jq says what comes out, so the mark means nothing here
  }

  bool key(Node& out) {
    Step step;
    if (peek() == '"') {
      if (!string(step.key)) return false;
    } else {
      const auto plain = name();
      if (number_for_jq(plain)) return false;
      step.key = '"' + std::string(plain) + '"';
    }
    out.path.push_back(std::move(step));
    optional_mark();
    return true;
  }

  bool subscript(Node& out) {
    ++at_;
    Step step;
    if (peek() == '"') {
      if (!string(step.key)) return false;
    } else {
      const bool negative = peek() == '-';
      if (negative) ++at_;
      const size_t start = at_;
      while (digit(peek()) && at_ - start < 10) step.index = step.index * 10 + (text_[at_++] - '0');
      if (at_ == start || at_ - start > 9) return false;
      if (negative) step.index = -step.index;
    }
    if (peek() != ']') return false;
    ++at_;
    out.path.push_back(std::move(step));
    optional_mark();
    return true;
  }

  // Values are terms: a looser expression stands in brackets.
  bool object(Node& out) {
    ++at_;
    out.op = Op::kObject;
    if (eat("}")) return true;
    do {
      skip_space();
      std::string key;
      Node value;
      if (peek() == '"') {
        if (!string(key) || !eat(":")) return false;
        if (++nesting_ > kMaxNesting || !term(value)) return false;
        --nesting_;
      } else {
        if (!letter(peek())) return false;
        const auto plain = name();
        if (std::find(kKeywords.begin(), kKeywords.end(), plain) != kKeywords.end()) return false;
        key = '"' + std::string(plain) + '"';
        if (eat(":")) {
          if (++nesting_ > kMaxNesting || !term(value)) return false;
          --nesting_;
        } else {
          value.path.push_back({key, 0});  // {a} is {a: .a}
        }
      }
      if (!printable(value) || std::find(out.keys.begin(), out.keys.end(), key) != out.keys.end()) return false;
      out.keys.push_back(std::move(key));
      out.children.push_back(std::move(value));
    } while (eat(","));
    return eat("}");
  }

  bool array(Node& out) {
    ++at_;
    out.op = Op::kArray;
    if (eat("]")) return true;
    do {
      Node value;
      if (!alternative(value)) return false;
      out.children.push_back(std::move(value));
    } while (eat(","));
    return eat("]");
  }

  std::string_view text_;
  size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace

std::optional<FastPath::Node> parse_fast(std::string_view expression) {
  if (expression.size() > kMaxExpressionBytes || !simdjson::validate_utf8(expression.data(), expression.size()))
    return std::nullopt;
  Node root;
  if (!Parser(expression).whole(root)) return std::nullopt;
  return root;
}

}  // namespace hookd::filter
