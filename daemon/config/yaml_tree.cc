#include "config/yaml_tree.h"

#include <numeric>
#include <set>

#include "config/yaml_scalar.h"

namespace hookd::config {
namespace {

struct Weight {
  size_t values = 0;
  size_t bytes = 0;
};

void weigh(const Node& node, Weight& weight) {
  ++weight.values;
  weight.bytes += sizeof(Node) + node.text.size();
  for (const Node& item : node.items) weigh(item, weight);
  for (const Entry& entry : node.entries) {
    weight.bytes += sizeof(Entry) - sizeof(Node) + entry.key.size();
    weigh(entry.value, weight);
  }
}

Node::Kind kind_of(Position at, const std::string& tag, const std::string& value) {
  using Kind = Node::Kind;
  if (tag == "?") return resolve_plain(value);
  if (tag == "!" || tag == "tag:yaml.org,2002:str") return Kind::kString;
  const Kind kind = resolve_plain(value);
  if ((tag == "tag:yaml.org,2002:int" && kind == Kind::kInt) ||
      (tag == "tag:yaml.org,2002:bool" && kind == Kind::kBool) ||
      (tag == "tag:yaml.org,2002:null" && kind == Kind::kNull) ||
      (tag == "tag:yaml.org,2002:float" && (kind == Kind::kFloat || kind == Kind::kInt)))
    return kind;
  throw Stop{at, fmt::format("the tag {} does not fit here; leave it out, or put text in quotes", tag)};
}

void stop_if(Position at, std::string_view wrong) {
  if (!wrong.empty()) throw Stop{at, std::string(wrong)};
}

}  // namespace

Position position(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

std::optional<Position> TreeBuilder::innermost(bool map) const {
  for (auto frame = open_.rbegin(); frame != open_.rend(); ++frame)
    if ((frame->node.kind == Node::Kind::kMap) == map) return frame->node.at;
  return std::nullopt;
}

void TreeBuilder::OnDocumentStart(const YAML::Mark& mark) {
  started_at_ = position(mark);
  root_ = Node{};
  open_.clear();
  anchors_.clear();
}

void TreeBuilder::OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) {
  Node node;
  node.plain = true;
  node.at = position(mark);
  if (!open_.empty() && open_.back().node.kind == Node::Kind::kList && open_.back().flow)
    stop_if(node.at, source_.check_null_in_flow_list(node.at));
  finished(std::move(node), anchor);
}

void TreeBuilder::OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                           const std::string& value) {
  Node node;
  node.at = position(mark);
  node.text = value;
  node.plain = tag == "?";
  if (!node.plain) stop_if(node.at, source_.check_scalar(node.at));
  node.kind = kind_of(node.at, tag, value);
  finished(std::move(node), anchor);
}

void TreeBuilder::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
  const auto found = anchors_.find(anchor);
  if (found == anchors_.end()) throw Stop{position(mark), "this alias stands inside the value that it repeats"};
  charge(found->second, position(mark));
  Node copy = found->second;
  copy.at = position(mark);
  finished(std::move(copy), 0);
}

void TreeBuilder::OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                                  YAML::EmitterStyle::value style) {
  begin(Node::Kind::kList, mark, tag, anchor, style);
}

void TreeBuilder::OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                             YAML::EmitterStyle::value style) {
  begin(Node::Kind::kMap, mark, tag, anchor, style);
}

void TreeBuilder::OnMapEnd() {
  check_duplicates(open_.back().node);
  merge(open_.back());
  end();
}

void TreeBuilder::begin(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                        YAML::EmitterStyle::value style) {
  const std::string_view own = kind == Node::Kind::kMap ? "tag:yaml.org,2002:map" : "tag:yaml.org,2002:seq";
  if (tag != "?" && tag != "!" && tag != own)
    throw Stop{position(mark), fmt::format("the tag {} does not fit here; leave it out", tag)};
  if (open_.size() == limits_.depth)
    throw Stop{position(mark), fmt::format("nested deeper than {} levels", limits_.depth)};
  Frame frame;
  frame.node.kind = kind;
  frame.node.at = position(mark);
  frame.anchor = anchor;
  frame.flow = style == YAML::EmitterStyle::Flow;
  open_.push_back(std::move(frame));
}

void TreeBuilder::end() {
  Frame frame = std::move(open_.back());
  open_.pop_back();
  finished(std::move(frame.node), frame.anchor);
}

void TreeBuilder::finished(Node node, YAML::anchor_t anchor) {
  if (++values_ > limits_.values) throw Stop{node.at, fmt::format("more than {} values in one file", limits_.values)};
  if (anchor != 0) {
    charge(node, node.at);
    anchors_[anchor] = node;
  }
  if (open_.empty()) {
    root_ = std::move(node);
    return;
  }
  Frame& frame = open_.back();
  if (frame.node.kind == Node::Kind::kList) {
    frame.node.items.push_back(std::move(node));
  } else if (!frame.has_key) {
    begin_entry(frame, std::move(node));
  } else {
    frame.has_key = false;
    if (frame.merge_key) {
      frame.merges.push_back(std::move(node));
    } else {
      frame.key.value = std::move(node);
      frame.node.entries.push_back(std::move(frame.key));
    }
  }
}

void TreeBuilder::begin_entry(Frame& frame, Node key) const {
  if (key.kind == Node::Kind::kList || key.kind == Node::Kind::kMap)
    throw Stop{key.at, "a key must be text, not a list or map"};
  if (key.kind == Node::Kind::kNull) throw Stop{key.at, "a key is missing here"};
  if (const std::string_view wrong = source_.check_key(key); !wrong.empty()) {
    if (source_.nothing_after(key)) stop_at_open_bracket();  // the scanner takes the last word in an open [ for a key
    stop_if(key.at, wrong);
  }
  frame.has_key = true;
  frame.merge_key = key.plain && key.text == "<<";
  frame.key = Entry{std::move(key.text), key.at, {}};
}

void TreeBuilder::stop_at_open_bracket() const {
  for (auto frame = open_.rbegin(); frame != open_.rend(); ++frame) {
    const char bracket = source_.at(frame->node.at);
    if (bracket == '[' || bracket == '{')
      throw Stop{frame->node.at, fmt::format("this {} is not closed by a {}", bracket, bracket == '[' ? ']' : '}')};
  }
}

// Copies made for anchors and aliases are what a bomb multiplies.
void TreeBuilder::charge(const Node& node, Position at) {
  Weight weight;
  weigh(node, weight);
  expanded_ += weight.bytes;
  values_ += weight.values;
  if (expanded_ > limits_.expanded_bytes || values_ > limits_.values)
    throw Stop{
        at, fmt::format("the aliases repeat more than {} bytes or {} values", limits_.expanded_bytes, limits_.values)};
}

// The first of equal keys stays, so that reading can go on and find more.
void TreeBuilder::check_duplicates(Node& map) {
  std::vector<size_t> order(map.entries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) -> const std::string& { return map.entries[i].key; });
  std::set<size_t> doubled;
  size_t first = 0;
  for (size_t i = 1; i < order.size(); ++i) {
    const Entry& original = map.entries[order[first]];
    const Entry& entry = map.entries[order[i]];
    if (entry.key != original.key) {
      first = i;
      continue;
    }
    problems_.add(entry.at, "", "the key \"{}\" stands here twice, first in line {}; remove one", entry.key,
                  original.at.line);
    doubled.insert(order[i]);
  }
  if (doubled.empty()) return;
  std::vector<Entry> unique;
  for (size_t i = 0; i < map.entries.size(); ++i)
    if (!doubled.contains(i)) unique.push_back(std::move(map.entries[i]));
  map.entries = std::move(unique);
}

// Own keys win over merged ones, earlier merged ones over later ones (yaml.org/type/merge.html).
void TreeBuilder::merge(Frame& frame) {
  std::vector<Node> sources;
  for (Node& value : frame.merges) {
    if (value.kind == Node::Kind::kList) {
      std::ranges::move(value.items, std::back_inserter(sources));
    } else {
      sources.push_back(std::move(value));
    }
  }
  if (sources.empty()) return;
  std::set<std::string, std::less<>> known;
  for (const Entry& entry : frame.node.entries) known.insert(entry.key);
  for (Node& source : sources) {
    if (source.kind != Node::Kind::kMap) {
      problems_.add(source.at, "", "<< takes a map or a list of maps, not {}", source.describe());
      continue;
    }
    for (Entry& entry : source.entries)
      if (known.insert(entry.key).second) frame.node.entries.push_back(std::move(entry));
  }
}

}  // namespace hookd::config
