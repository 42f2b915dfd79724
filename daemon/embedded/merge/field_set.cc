#include "embedded/merge/field_set.h"

#include <algorithm>

#include "embedded/merge/typed.h"

namespace hookd::embedded {

namespace {

constexpr int kMaxDepth = 256;

void visit_nodes(const FieldSet& set, std::vector<PathElement>& path,
                 const std::function<void(const std::vector<PathElement>&)>& each) {
  for (const auto& node : set.nodes) {
    if (!node.member) continue;
    path.push_back(node.element);
    each(path);
    path.pop_back();
  }
  for (const auto& node : set.nodes) {
    if (node.below.empty()) continue;
    path.push_back(node.element);
    visit_nodes(node.below, path, each);
    path.pop_back();
  }
}

bool before(const FieldNode& node, const PathElement& element) { return node.element < element; }

bool subtract_nodes(FieldSet& set, const FieldSet& what, bool recursively) {
  bool changed = false;
  bool emptied = false;
  auto other = what.nodes.begin();
  for (auto& node : set.nodes) {
    while (other != what.nodes.end() && other->element < node.element) ++other;
    if (other == what.nodes.end()) break;
    if (!(other->element == node.element)) continue;
    if (other->member && recursively) {
      node.member = false;
      node.below.nodes.clear();
      changed = emptied = true;
      continue;
    }
    if (other->member && node.member) {
      node.member = false;
      changed = true;
    }
    if (!node.below.empty() && !other->below.empty())
      changed = subtract_nodes(node.below, other->below, recursively) || changed;
    emptied = emptied || (!node.member && node.below.empty());
  }
  if (emptied) std::erase_if(set.nodes, [](const FieldNode& node) { return !node.member && node.below.empty(); });
  return changed;
}

struct ParsedSet {
  FieldSet set;
  bool member = false;
};

std::optional<ParsedSet> parse_level(const json::value& value, int depth) {
  if (depth > kMaxDepth) return std::nullopt;
  ParsedSet out;
  if (value.is_null()) {
    out.member = true;
    return out;
  }
  const auto* object = value.if_object();
  if (object == nullptr) return std::nullopt;
  out.set.nodes.reserve(object->size());
  bool sorted = true;
  for (const auto& [key, below] : *object) {
    if (key == ".") {
      out.member = true;
      continue;
    }
    auto parsed = parse_path_element(key);
    if (!parsed) return std::nullopt;
    if (!parsed->known) continue;
    auto child = parse_level(below, depth + 1);
    if (!child) return std::nullopt;
    auto& nodes = out.set.nodes;
    sorted = sorted && (nodes.empty() || nodes.back().element < parsed->element);
    nodes.push_back({std::move(parsed->element), child->member, std::move(child->set)});
  }
  if (!sorted) {
    std::ranges::stable_sort(out.set.nodes, {}, &FieldNode::element);
    // two spellings of one element
    for (size_t i = 1; i < out.set.nodes.size();) {
      auto& previous = out.set.nodes[i - 1];
      auto& node = out.set.nodes[i];
      if (!(previous.element == node.element)) {
        ++i;
        continue;
      }
      previous.member = previous.member || node.member;
      previous.below = set_union(previous.below, node.below);
      out.set.nodes.erase(out.set.nodes.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  if (out.set.empty()) out.member = true;
  return out;
}

}  // namespace

size_t FieldSet::size() const {
  size_t count = 0;
  for (const auto& node : nodes) count += (node.member ? 1 : 0) + node.below.size();
  return count;
}

const FieldNode* FieldSet::find(const PathElement& element) const {
  const auto at = std::lower_bound(nodes.begin(), nodes.end(), element, before);
  return at != nodes.end() && at->element == element ? &*at : nullptr;
}

bool FieldSet::has(const std::vector<PathElement>& path) const {
  const FieldSet* set = this;
  for (size_t i = 0; i < path.size(); ++i) {
    const FieldNode* node = set->find(path[i]);
    if (node == nullptr) return false;
    if (i + 1 == path.size()) return node->member;
    set = &node->below;
  }
  return false;
}

void FieldSet::insert(const std::vector<PathElement>& path) {
  FieldSet* set = this;
  for (size_t i = 0; i < path.size(); ++i) {
    auto at = std::lower_bound(set->nodes.begin(), set->nodes.end(), path[i], before);
    if (at == set->nodes.end() || !(at->element == path[i])) at = set->nodes.insert(at, {path[i], false, {}});
    if (i + 1 == path.size()) at->member = true;
    set = &at->below;
  }
}

void FieldSet::append(PathElement element, bool member, FieldSet below) {
  if (member || !below.empty()) nodes.push_back({std::move(element), member, std::move(below)});
}

void FieldSet::sort() {
  if (!std::ranges::is_sorted(nodes, {}, &FieldNode::element)) std::ranges::sort(nodes, {}, &FieldNode::element);
}

void FieldSet::visit(const std::function<void(const std::vector<PathElement>&)>& each) const {
  std::vector<PathElement> path;
  visit_nodes(*this, path, each);
}

FieldSet set_union(const FieldSet& a, const FieldSet& b) {
  FieldSet out;
  out.nodes.reserve(a.nodes.size() + b.nodes.size());
  auto left = a.nodes.begin();
  auto right = b.nodes.begin();
  while (left != a.nodes.end() || right != b.nodes.end()) {
    if (right == b.nodes.end() || (left != a.nodes.end() && left->element < right->element)) {
      out.nodes.push_back(*left++);
    } else if (left == a.nodes.end() || !(left->element == right->element)) {
      out.nodes.push_back(*right++);
    } else {
      out.nodes.push_back({left->element, left->member || right->member, set_union(left->below, right->below)});
      ++left;
      ++right;
    }
  }
  return out;
}

FieldSet set_intersection(const FieldSet& a, const FieldSet& b) {
  FieldSet out;
  auto right = b.nodes.begin();
  for (const auto& node : a.nodes) {
    while (right != b.nodes.end() && right->element < node.element) ++right;
    if (right == b.nodes.end()) break;
    if (right->element == node.element)
      out.append(node.element, node.member && right->member, set_intersection(node.below, right->below));
  }
  return out;
}

bool subtract(FieldSet& set, const FieldSet& what) { return subtract_nodes(set, what, false); }

bool subtract_recursively(FieldSet& set, const FieldSet& what) { return subtract_nodes(set, what, true); }

FieldSet keep_matching(const FieldSet& set, const json::object& patterns) {
  if (patterns.empty()) return set;
  FieldSet out;
  for (const auto& node : set.nodes) {
    const json::value* pattern = patterns.if_contains("*");
    if (pattern == nullptr) pattern = patterns.if_contains(node.element.serialised());
    if (pattern == nullptr) continue;
    const auto* below = pattern->if_object();
    out.append(node.element, node.member, below == nullptr ? node.below : keep_matching(node.below, *below));
  }
  return out;
}

FieldSet with_named_fields(const FieldSet& set, const Schema& schema) {
  FieldSet out;
  out.nodes.reserve(set.nodes.size());
  for (const auto& node : set.nodes) {
    const bool is_field = node.element.kind == PathElement::Kind::kField;
    const Child child = is_field ? child_of(schema, node.element.text) : Child{&item_of(schema), false};
    out.nodes.push_back(
        {node.element, node.member || (is_field && child.declared), with_named_fields(node.below, *child.schema)});
  }
  return out;
}

std::optional<FieldSet> parse_field_set(const json::value& fields_v1) {
  auto parsed = parse_level(fields_v1, 0);
  if (!parsed) return std::nullopt;
  return std::move(parsed->set);
}

json::object to_fields_v1(const FieldSet& set) {
  json::object out;
  out.reserve(set.nodes.size() + 1);
  for (const auto& node : set.nodes) {
    json::object below;
    if (!node.below.empty()) {
      if (node.member) below.emplace(".", json::object());
      for (auto& field : to_fields_v1(node.below)) below.emplace(field.key(), std::move(field.value()));
    }
    out.emplace(node.element.serialised(), std::move(below));
  }
  return out;
}

std::string path_text(const std::vector<PathElement>& path) {
  std::string out;
  for (const auto& element : path) out += element.path_text();
  return out;
}

}  // namespace hookd::embedded
