#include "hook/answer.h"

#include <array>
#include <set>

#include "apply/json_text.h"
#include "base/json_read.h"
#include "base/json_scanner.h"
#include "base/time.h"
#include "config/nearest.h"
#include "config/yaml_source.h"

namespace hookd::hook {
namespace {

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

constexpr std::array<std::string_view, 8> kYamlBeginnings{
    "apiVersion:", "kind:", "operation:", "operations:", "status:", "requeueAfter:", "metadata:", "state:"};

// Only in answers of hooks that reconcile.
constexpr std::array<std::string_view, 2> kReconcileBeginnings{"children:", "finalized:"};

// The keys of a result. A hook that reconciles has no state: what is to be kept stands in its objects.
const std::set<std::string, std::less<>>& result_keys(AnswerOf of) {
  static const std::set<std::string, std::less<>> kEvents{"operations", "status", "state", "requeueAfter", "message"};
  static const std::set<std::string, std::less<>> kReconcile{"children",     "status",    "operations",
                                                             "requeueAfter", "finalized", "message"};
  return of == AnswerOf::kReconcile ? kReconcile : kEvents;
}

// For messages, which come into logs and Events: a value may hold a secret.
std::string_view named(std::string_view value) {
  const char first = value.empty() ? ' ' : value.front();
  if (first == '{') return "an object";
  if (first == '[') return "a list";
  if (first == '"') return "a text";
  return value.substr(0, 20);  // a number, true, false, null
}

constexpr int64_t kMaxLinesBefore = 100'000;
// What Windows tools put before UTF-8; without taking it away the first document would pass for text.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

class Parser {
 public:
  Parser(std::string_view output, AnswerOf of) : rest_(output), of_(of) {
    if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  }

  Result<Answer> run() {
    while (!rest_.empty()) HOOKD_CHECK(next());
    return std::move(answer_);
  }

 private:
  Result<void> next() {
    const std::string_view line = current_line();
    const std::string_view text = trim(line);
    if (text.empty()) return advance(line.size() + 1);
    if (begins_json(text)) return json_document();
    if (trim_end(line) == "---" || begins_yaml(line)) return yaml_document();
    if (is_json_rest(text))
      return fail(Errc::kInvalid, "line {}: a piece of a JSON document without its beginning: {}", line_,
                  text.substr(0, 80));
    answer_.text.emplace_back(text);
    return advance(line.size() + 1);
  }

  // Text that begins with a brace is taken for a document: better an error than half of an answer lost.
  static bool begins_json(std::string_view text) {
    if (text.front() == '{') return true;
    if (text.front() != '[') return false;
    const std::string_view inner = trim(text.substr(1));
    return inner.empty() || inner.front() == '{' || inner.front() == ']';
  }

  // An ending or a comma between documents: something of the answer went astray.
  static bool is_json_rest(std::string_view text) {
    if (text.front() == '}' || text == "]" || text.starts_with("],")) return true;
    if (text.front() != ',') return false;
    const std::string_view next = trim(text.substr(1));
    return next.empty() || next.front() == '{' || next.front() == '"';
  }

  bool begins_yaml(std::string_view line) const {
    if (line.starts_with("- ")) line = trim(line.substr(2));  // a list of them
    const auto begins = [&](std::string_view key) { return line.starts_with(key); };
    return std::ranges::any_of(kYamlBeginnings, begins) ||
           (of_ == AnswerOf::kReconcile && std::ranges::any_of(kReconcileBeginnings, begins));
  }

  static std::string_view trim_end(std::string_view line) {
    const size_t last = line.find_last_not_of(" \t\r");
    return last == std::string_view::npos ? std::string_view() : line.substr(0, last + 1);
  }

  // A marker stands at the beginning of its line: the same text further in is content of a block ("data: |").
  static bool is_marker(std::string_view line, std::string_view marker) {
    return line.starts_with(marker) && (line.size() == 3 || line[3] == ' ' || line[3] == '\t' || line[3] == '\r');
  }

  std::string_view current_line() const { return rest_.substr(0, rest_.find('\n')); }

  Result<void> advance(size_t bytes) {
    bytes = std::min(bytes, rest_.size());
    line_ += std::count(rest_.begin(), rest_.begin() + static_cast<ptrdiff_t>(bytes), '\n');
    rest_.remove_prefix(bytes);
    return {};
  }

  Result<void> json_document() {
    const size_t skip = rest_.find_first_not_of(" \t\r");
    HOOKD_CHECK(advance(skip));
    JsonScanner scanner(1000);
    const auto used = scanner.feed(rest_);
    if (!used)
      return fail(Errc::kInvalid, "line {}: a JSON document begins here but is broken: {}", line_, used.error().what);
    if (!scanner.done())
      return fail(Errc::kInvalid, "line {}: a JSON document begins here but is cut off: its end is missing", line_);
    const std::string_view document = rest_.substr(0, *used);
    if (!is_utf8(document)) return not_utf8(line_);
    HOOKD_CHECK(take(document, line_));
    return advance(*used);
  }

  Result<void> yaml_document() {
    const auto first_line = line_;
    const std::string_view start = rest_;
    size_t length = 0;
    const auto next_line = [&] {
      const size_t bytes = std::min(current_line().size() + 1, rest_.size());
      length += bytes;
      return advance(bytes);
    };
    HOOKD_CHECK(next_line());  // the marker, or the first key
    while (!rest_.empty()) {
      const std::string_view line = current_line();
      if (is_marker(line, "---") || is_marker(line, "...") || line.starts_with("{")) break;
      HOOKD_CHECK(next_line());
    }
    const std::string_view text = start.substr(0, length);
    if (is_marker(current_line(), "...")) HOOKD_CHECK(advance(current_line().size() + 1));
    if (!is_utf8(text)) return not_utf8(first_line);
    // Empty lines before it make the places in messages those of the whole output.
    const auto before = first_line > kMaxLinesBefore ? 0 : static_cast<size_t>(first_line - 1);
    const auto documents = config::yaml_to_json(std::string(before, '\n') + std::string(text), "");
    if (!documents)
      return fail(Errc::kInvalid, "line {}: a YAML document begins here but is broken: {}", first_line,
                  documents.error().what);
    for (const std::string& document : *documents) {
      // Behind a marker plain text is a YAML scalar too; to people it is a line of text.
      if (const auto words = apply::json_text_of(document))
        answer_.text.push_back(*words);
      else
        HOOKD_CHECK(take(document, first_line));
    }
    return {};
  }

  static Failure not_utf8(int64_t line) {
    return fail(Errc::kInvalid, "line {}: a document begins here that is not UTF-8", line);
  }

  Result<void> take(std::string_view document, int64_t line, bool in_list = false) {
    document = trim(document);
    if (document.starts_with('[') && !in_list) {
      auto items = apply::json_elements(document);
      if (!items) return fail(Errc::kInvalid, "line {}: {}", line, items.error().what);
      for (const std::string_view item : *items) HOOKD_CHECK(take(item, line, true));
      return {};
    }
    if (!apply::is_json_object(document))
      return fail(Errc::kInvalid, "line {}: a manifest, an operation or a result was expected, not {}", line,
                  named(document));
    ++answer_.documents;
    auto members = apply::json_members(document);
    if (!members) return fail(Errc::kInvalid, "line {}: {}", line, members.error().what);
    const auto at = [&](const Error& error) { return fail(Errc::kInvalid, "line {}: {}", line, error.what); };
    if (members->empty()) return {};
    if (apply::find_member(*members, "operation")) {
      auto operation = apply::parse_operation(document);
      if (!operation) return at(operation.error());
      answer_.operations.push_back(*std::move(operation));
      return {};
    }
    if (apply::find_member(*members, "apiVersion") && apply::find_member(*members, "kind")) {
      auto operations = apply::manifest_operations(document);
      if (!operations) return at(operations.error());
      for (auto& operation : *operations) answer_.operations.push_back(std::move(operation));
      return {};
    }
    return result(*members, line);
  }

  Result<void> result(const std::vector<apply::Member>& members, int64_t line) {
    for (const auto& [key, value] : members) {
      if (key == "operations") {
        auto items = apply::json_elements(value);
        if (!items) return fail(Errc::kInvalid, "line {}: \"operations\" must be a list: {}", line, items.error().what);
        for (const std::string_view item : *items) {
          const bool named = json_raw_at(item, {"operation"}).has_value();
          if (!named && !json_raw_at(item, {"apiVersion"}))
            return fail(Errc::kInvalid,
                        "line {}: an entry of \"operations\" is neither an operation nor a manifest: {}", line,
                        item.substr(0, 80));
          HOOKD_CHECK(take(item, line, true));
        }
      } else if (key == "children" && of_ == AnswerOf::kReconcile) {
        HOOKD_CHECK(children(value, line));
      } else if (key == "finalized" && of_ == AnswerOf::kReconcile) {
        if (value != "true" && value != "false")
          return fail(Errc::kInvalid, "line {}: \"finalized\" must be true or false, not {}", line,
                      value.substr(0, 80));
        answer_.finalized = value == "true";
      } else if (key == "state" && of_ == AnswerOf::kEvents) {
        answer_.state = std::string(value);
      } else if (value == "null" && (key == "status" || key == "requeueAfter" || key == "message")) {
        continue;  // what jq makes of a field that is not there
      } else if (key == "status") {
        if (!apply::is_json_object(value)) return fail(Errc::kInvalid, "line {}: \"status\" must be an object", line);
        answer_.status = std::string(value);
      } else if (key == "requeueAfter") {
        const auto text = apply::json_text_of(value);
        const auto after = text ? parse_duration(*text) : fail(Errc::kInvalid, "a text such as \"20s\" was expected");
        if (!after) return fail(Errc::kInvalid, "line {}: \"requeueAfter\": {}", line, after.error().what);
        answer_.requeue_after = *after;
      } else if (key == "message") {
        const auto text = apply::json_text_of(value);
        if (!text) return fail(Errc::kInvalid, "line {}: \"message\" must be a text", line);
        answer_.messages.push_back(*text);
      } else {
        return fail(
            Errc::kInvalid,
            "line {}: this document is neither a manifest (apiVersion, kind, metadata), nor an operation (operation: "
            "Delete, …), nor a result: unknown key \"{}\"{}; a result has {}",
            line, key, hint(key),
            of_ == AnswerOf::kReconcile ? "children, status, operations, requeueAfter, finalized, message"
                                        : "operations, status, state, requeueAfter, message");
      }
    }
    return {};
  }

  std::string hint(std::string_view key) const {
    const std::string near = config::nearest(key, result_keys(of_));
    return near.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", near);
  }

  // In one list: of a script that prints them one by one and breaks off, the others would be taken away. A list that is
  // none must never pass for an empty one, which takes every child away.
  Result<void> children(std::string_view list, int64_t line) {
    if (!apply::is_json_array(list))
      return fail(Errc::kInvalid,
                  "line {}: \"children\" must be a list of manifests, not {}; leave the key out to touch no child, [] "
                  "takes all of them away",
                  line, named(list));
    const auto items = apply::json_elements(list);
    if (!items) return fail(Errc::kInvalid, "line {}: \"children\": {}", line, items.error().what);
    if (answer_.children)
      return fail(
          Errc::kInvalid,
          "line {}: a second \"children\"; give all of them in one list: what a script did not come to print would be "
          "taken away",
          line);
    answer_.children.emplace();
    for (size_t i = 0; i < items->size(); ++i) {
      if (!apply::is_json_object((*items)[i]))
        return fail(Errc::kInvalid, "line {}: \"children[{}]\" must be a manifest (apiVersion, kind, metadata), not {}",
                    line, i, named((*items)[i]));
      answer_.children->emplace_back((*items)[i]);
    }
    return {};
  }

  std::string_view rest_;
  AnswerOf of_;
  int64_t line_ = 1;
  Answer answer_;
};

}  // namespace

Result<Answer> parse_answer(std::string_view output, AnswerOf of) { return Parser(output, of).run(); }

}  // namespace hookd::hook
