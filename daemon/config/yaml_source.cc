#include "config/yaml_source.h"

#include <simdjson.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>

#include "base/json_writer.h"
#include "config/yaml_text.h"
#include "config/yaml_tree.h"

namespace hookd::config {
namespace {

// yaml-cpp tells what its scanner missed; people want to know what to look at.
Stop explain(const YAML::Exception& error, const TreeBuilder& tree, const YamlText& source) {
  namespace Msg = YAML::ErrorMsg;
  const Position at = position(error.mark);
  const std::string& msg = error.msg;
  const std::string_view line = source.line(at.line);
  const std::string_view indent = line.substr(0, std::min(line.find_first_not_of(" \t"), line.size()));
  if (const size_t tab = indent.find('\t'); tab != std::string_view::npos)
    return {{at.line, static_cast<int>(tab) + 1}, "a tab in the indentation; indent with spaces"};
  if (msg == Msg::MAP_VALUE)
    return {at,
            "a ':' where no key can be; put text that has ': ' in it in quotes, and check the indentation here and in "
            "the line before"};
  if (msg == Msg::END_OF_MAP || msg == Msg::END_OF_SEQ) {
    const bool map = msg == Msg::END_OF_MAP;
    const Position open = tree.innermost(map).value_or(at);
    return {at, fmt::format("this does not belong to the {} that begins at {}:{}; check the indentation and the quotes",
                            map ? "map" : "list", open.line, open.column)};
  }
  if (msg == Msg::END_OF_SEQ_FLOW) return {tree.innermost(false).value_or(at), "this [ is not closed by a ]"};
  if (msg == Msg::END_OF_MAP_FLOW) return {tree.innermost(true).value_or(at), "this { is not closed by a }"};
  if (msg == Msg::FLOW_END) return {at, "a ] or } that closes nothing"};
  if (msg == Msg::EOF_IN_SCALAR) return {at, "the file ends inside quotes"};
  if (msg == Msg::BLOCK_ENTRY) return {at, "a '-' where no list can begin; a list begins on a line of its own"};
  if (msg == Msg::UNKNOWN_TOKEN) return {at, "text cannot begin with this character; put it in quotes"};
  if (msg == Msg::UNKNOWN_ANCHOR || msg.starts_with(Msg::UNKNOWN_ANCHOR))
    return {at, "an alias (*) without an anchor (&) of this name before it; text that begins with * needs quotes"};
  return {at, msg};
}

// yaml-cpp's time grows with the square of the elements of a { } or [ ] within one line: 0.6 s with these, 11 s with 4
// times.
constexpr size_t kMostCommasInLine = 50'000;

// LF for CRLF, no byte order mark; refuses what is no text.
std::optional<std::string> clean(std::string_view text, Problems& problems, const YamlLimits& limits) {
  if (text.size() > limits.bytes) {
    problems.add({}, "", "{} bytes are over the limit of {}", text.size(), limits.bytes);
    return std::nullopt;
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  int line_number = 1;
  std::string out;
  out.reserve(text.size() + 1);
  for (std::string_view rest = text; !rest.empty(); ++line_number) {
    const size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    for (size_t i = 0; i < line.size(); ++i) {
      const unsigned char c = static_cast<unsigned char>(line[i]);
      if ((c >= 0x20 && c != 0x7F) || c == '\t') continue;
      problems.add({line_number, static_cast<int>(i) + 1}, "",
                   "the byte 0x{:02X} is no text; YAML files are UTF-8 text", c);
      return std::nullopt;
    }
    if (!simdjson::validate_utf8(line.data(), line.size())) {
      problems.add({line_number, 1}, "", "this line is not UTF-8");
      return std::nullopt;
    }
    if (static_cast<size_t>(std::ranges::count(line, ',')) > kMostCommasInLine) {
      problems.add({line_number, 1}, "", "more than {} commas in one line; put the elements on lines of their own",
                   kMostCommasInLine);
      return std::nullopt;
    }
    out += line;
    if (end != std::string_view::npos) out += '\n';
  }
  return out;
}

}  // namespace

const Entry* Node::find(std::string_view key) const {
  for (const Entry& entry : entries)
    if (entry.key == key) return &entry;
  return nullptr;
}

bool Node::is_true() const { return kind == Kind::kBool && !text.empty() && (text[0] == 't' || text[0] == 'T'); }

std::string Node::describe() const {
  switch (kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kBool:
      return text;
    case Kind::kInt:
    case Kind::kFloat:
      return fmt::format("the number {}", text);
    case Kind::kString:
      return text.size() > 60 ? fmt::format("text of {} bytes", text.size()) : "text " + json_string(text);
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a map";
  }
  return "";
}

std::vector<Node> parse_yaml(std::string_view text, Problems& problems, const YamlLimits& limits) {
  std::vector<Node> documents;
  const std::optional<std::string> cleaned = clean(text, problems, limits);
  if (!cleaned) return documents;
  const YamlText source(*cleaned);
  TreeBuilder tree(source, problems, limits);
  try {
    std::istringstream stream(*cleaned);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(tree)) {
      // yaml-cpp begins a new document wherever the old one cannot go on ("{a: 1} b"); only --- and ... may do that.
      if (!documents.empty() && !source.separated(tree.started_at()))
        throw Stop{tree.started_at(),
                   "the document before this is complete; check the indentation, or put --- between two documents"};
      documents.push_back(tree.take_root());
    }
  } catch (const YAML::Exception& error) {
    const Stop stop = explain(error, tree, source);
    problems.add_text(stop.at, "", stop.message);
  } catch (const Stop& stop) {
    problems.add_text(stop.at, "", stop.message);
  }
  return documents;
}

Result<void> append_json(std::string& out, const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      out += "null";
      break;
    case Node::Kind::kBool:
      out += node.is_true() ? "true" : "false";
      break;
    case Node::Kind::kString:
      append_json_string(out, node.text);
      break;
    case Node::Kind::kInt:
    case Node::Kind::kFloat: {
      auto number = json_number(node);
      if (!number) return fail(number.error().with(fmt::format("{}:{}", node.at.line, node.at.column)));
      out += *number;
      break;
    }
    case Node::Kind::kList: {
      out += '[';
      for (size_t i = 0; i < node.items.size(); ++i) {
        if (i > 0) out += ',';
        HOOKD_CHECK(append_json(out, node.items[i]));
      }
      out += ']';
      break;
    }
    case Node::Kind::kMap: {
      out += '{';
      for (size_t i = 0; i < node.entries.size(); ++i) {
        if (i > 0) out += ',';
        append_json_string(out, node.entries[i].key);
        out += ':';
        HOOKD_CHECK(append_json(out, node.entries[i].value));
      }
      out += '}';
      break;
    }
  }
  return {};
}

Result<std::vector<std::string>> yaml_to_json(std::string_view text, const std::string& file,
                                              const YamlLimits& limits) {
  if (text.size() > limits.bytes)
    return fail(Errc::kTooLarge, "{}{} bytes of YAML are over the limit of {}; write JSON, which may be longer",
                file.empty() ? "" : file + ": ", text.size(), limits.bytes);
  Problems problems(file);
  const std::vector<Node> documents = parse_yaml(text, problems, limits);
  const auto without_file = [&](std::string message) {
    return file.empty() && message.starts_with(":") ? message.substr(1) : message;
  };
  if (!problems.empty()) {
    std::string message;
    for (const Problem& problem : problems.sorted())
      message += (message.empty() ? "" : "\n") + without_file(problem.text());
    return fail(Errc::kDecode, "{}", message);
  }
  std::vector<std::string> out;
  for (const Node& document : documents) {
    if (document.kind == Node::Kind::kNull) continue;
    std::string json;
    if (auto done = append_json(json, document); !done)
      return fail(Errc::kDecode, "{}", without_file(file + ":" + done.error().what));
    out.push_back(std::move(json));
  }
  return out;
}

}  // namespace hookd::config
