// What changed between two states of an object, and how a configuration is laid over one.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "embedded/merge/typed.h"

namespace hookd::embedded {

namespace {

// The changes at one path: of the path itself, and below it.
struct Change {
  Comparison below;
  bool removed = false, modified = false, added = false;

  bool any() const { return removed || modified || added || !below.empty(); }
};

void attach(Comparison& parent, const PathElement& element, Change child) {
  parent.removed.append(element, child.removed, std::move(child.below.removed));
  parent.modified.append(element, child.modified, std::move(child.below.modified));
  parent.added.append(element, child.added, std::move(child.below.added));
  parent.ok = parent.ok && child.below.ok;
}

void sort_all(Comparison& changes) {
  changes.removed.sort();
  changes.modified.sort();
  changes.added.sort();
}

// A list's items by name, in the order of their first appearance.
struct IndexedItems {
  std::vector<PathElement> elements;
  std::vector<std::vector<const json::value*>> values;
  std::unordered_map<std::string_view, size_t> places;
  bool ok = true;

  IndexedItems(const Schema& schema, const json::array* items) {
    if (items == nullptr) return;
    elements.reserve(items->size());  // places point into it: it must not move
    for (const auto& item : *items) {
      auto element = item_element(schema, item);
      if (!element) {
        ok = false;
        continue;
      }
      if (const auto at = places.find(element->text); at != places.end()) {
        values[at->second].push_back(&item);
        continue;
      }
      elements.push_back(*std::move(element));
      values.push_back({&item});
      places.emplace(elements.back().text, elements.size() - 1);
    }
  }
  const std::vector<const json::value*>* find(const PathElement& element) const {
    const auto at = places.find(element.text);
    return at == places.end() ? nullptr : &values[at->second];
  }
};

bool fits_scalar(const Schema& schema, const json::value& value) {
  if (value.is_null()) return true;
  switch (schema.type) {
    case Schema::Type::kInteger:
    case Schema::Type::kNumber:
      return value.is_number();
    case Schema::Type::kBoolean:
      return value.is_bool();
    case Schema::Type::kString:
      return value.is_string();
    default:
      return !value.is_object() && !value.is_array();
  }
}

Change compare_at(const Schema& schema, const json::value* before, const json::value* after);

Change compare_leaf(const json::value* before, const json::value* after) {
  Change out;
  if (before == nullptr)
    out.added = true;
  else if (after == nullptr)
    out.removed = true;
  else if (!same_value(*before, *after))
    out.modified = true;
  return out;
}

bool same_items(const std::vector<const json::value*>& a, const std::vector<const json::value*>& b) {
  return std::ranges::equal(a, b, [](const json::value* x, const json::value* y) { return same_value(*x, *y); });
}

// One item; an item that stands twice in a list is compared as a whole, and its path alone is in the sets.
Change compare_item(const Schema& item_schema, const std::vector<const json::value*>* before,
                    const std::vector<const json::value*>* after) {
  const size_t old_count = before == nullptr ? 0 : before->size();
  const size_t new_count = after == nullptr ? 0 : after->size();
  if (old_count <= 1 && new_count <= 1)
    return compare_at(item_schema, old_count == 0 ? nullptr : before->front(),
                      new_count == 0 ? nullptr : after->front());
  Change out;
  if (old_count >= 2 && new_count >= 2) {
    out.modified = !same_items(*before, *after);
  } else if (old_count >= 2) {
    if (new_count == 1) out = compare_at(item_schema, nullptr, after->front());
    out.removed = true;
  } else {
    if (old_count == 1) out = compare_at(item_schema, before->front(), nullptr);
    out.added = true;
  }
  return out;
}

void compare_items(const Schema& schema, const json::array* before, const json::array* after, Comparison& out) {
  const IndexedItems old_items(schema, before);
  const IndexedItems new_items(schema, after);
  out.ok = out.ok && new_items.ok;
  for (size_t i = 0; i < old_items.elements.size(); ++i) {
    Change change = compare_item(item_of(schema), &old_items.values[i], new_items.find(old_items.elements[i]));
    if (change.any() || !change.below.ok) attach(out, old_items.elements[i], std::move(change));
  }
  for (size_t i = 0; i < new_items.elements.size(); ++i) {
    if (old_items.find(new_items.elements[i]) != nullptr) continue;
    attach(out, new_items.elements[i], compare_item(item_of(schema), nullptr, &new_items.values[i]));
  }
  sort_all(out);
}

void compare_fields(const Schema& schema, const json::object* before, const json::object* after, Comparison& out) {
  static const json::object kEmpty;
  const json::object& old_fields = before == nullptr ? kEmpty : *before;
  const json::object& new_fields = after == nullptr ? kEmpty : *after;
  for (const auto& [key, value] : new_fields) {
    const json::value* old_value = old_fields.if_contains(key);
    Change change = compare_at(*child_of(schema, key).schema, old_value, &value);
    if (change.any() || !change.below.ok) attach(out, PathElement::of_field(key), std::move(change));
  }
  for (const auto& [key, value] : old_fields)
    if (!new_fields.contains(key))
      attach(out, PathElement::of_field(key), compare_at(*child_of(schema, key).schema, &value, nullptr));
  sort_all(out);
}

// As `shape`. `leaf` tells whether the two were compared as one leaf.
Change compare_as(Shape shape, const Schema& schema, const json::value* before, const json::value* after, bool& leaf) {
  Change out;
  leaf = false;
  if (shape == Shape::kScalar) {
    leaf = true;
    out = compare_leaf(before, after);
    out.below.ok = after == nullptr || !out.any() || fits_scalar(schema, *after);
    return out;
  }
  if (shape == Shape::kList) {
    const auto* old_items = before == nullptr ? nullptr : before->if_array();
    const auto* new_items = after == nullptr ? nullptr : after->if_array();
    const bool empty = (old_items == nullptr || old_items->empty()) && (new_items == nullptr || new_items->empty());
    leaf = empty || atomic_list(schema);
    if (leaf)
      out = compare_leaf(before, after);
    else
      compare_items(schema, old_items, new_items, out.below);
    if (after != nullptr && new_items == nullptr && !after->is_null()) out.below.ok = false;
    return out;
  }
  const auto* old_fields = before == nullptr ? nullptr : before->if_object();
  const auto* new_fields = after == nullptr ? nullptr : after->if_object();
  const bool empty = (old_fields == nullptr || old_fields->empty()) && (new_fields == nullptr || new_fields->empty());
  leaf = empty || atomic_map(schema);
  if (leaf)
    out = compare_leaf(before, after);
  else
    compare_fields(schema, old_fields, new_fields, out.below);
  if (after != nullptr && new_fields == nullptr && !after->is_null()) out.below.ok = schema.type == Schema::Type::kAny;
  return out;
}

Change compare_at(const Schema& schema, const json::value* before, const json::value* after) {
  if (before != nullptr && after != nullptr && *before == *after) return {};
  bool leaf = false;
  const Shape old_shape = shape_of(schema, before);
  const Shape new_shape = shape_of(schema, after);
  if (before == nullptr || after == nullptr || old_shape == new_shape) {
    Change out = compare_as(after == nullptr ? old_shape : new_shape, schema, before, after, leaf);
    if (!leaf) {
      out.added = out.added || before == nullptr;
      out.removed = out.removed || after == nullptr;
    }
    return out;
  }
  // where anything goes, the two may be of different shapes: what each says as its own shape counts
  Change out = compare_as(old_shape, schema, before, after, leaf);
  Change more = compare_as(new_shape, schema, before, after, leaf);
  out.modified = out.modified || more.modified;
  out.below.removed = set_union(out.below.removed, more.below.removed);
  out.below.modified = set_union(out.below.modified, more.below.modified);
  out.below.added = set_union(out.below.added, more.below.added);
  out.below.ok = more.below.ok;
  return out;
}

json::value merge_at(const Schema& schema, const json::value& live, const json::value& config);

// An item of `config` that `live` has too stands where config has it among its own; what only live has keeps its place
// relative to what is shared.
json::array merge_items(const Schema& schema, const json::array& live, const json::array& config) {
  struct Item {
    const json::value* value;
    std::string name;
  };
  const auto names = [&schema](const json::array& items) {
    std::vector<Item> out;
    out.reserve(items.size());
    for (const auto& item : items)
      if (auto element = item_element(schema, item)) out.push_back({&item, std::move(element->text)});
    return out;
  };
  const std::vector<Item> left = names(live);
  const std::vector<Item> right = names(config);
  std::unordered_map<std::string_view, const json::value*> live_items;  // null = stands twice, is not merged
  for (const auto& item : left)
    if (const auto [at, fresh] = live_items.emplace(item.name, item.value); !fresh) at->second = nullptr;
  std::unordered_map<std::string_view, bool> config_items;  // done?
  for (const auto& item : right) config_items.emplace(item.name, false);
  std::vector<std::string_view> shared;
  for (const auto& item : right)
    if (live_items.contains(item.name)) shared.push_back(item.name);
  size_t next_shared = 0;

  json::array out;
  out.reserve(std::max(live.size(), config.size()));
  const auto take = [&](const Item& item) {
    config_items[item.name] = true;
    const auto at = live_items.find(item.name);
    if (at == live_items.end() || at->second == nullptr)
      out.push_back(*item.value);
    else
      out.push_back(merge_at(item_of(schema), *at->second, *item.value));
  };
  for (size_t l = 0, r = 0; l < left.size() || r < right.size();) {
    if (l < left.size() && r < right.size()) {
      if (left[l].name == right[r].name) {
        take(right[r]);
        ++l;
        ++r;
        ++next_shared;
        continue;
      }
      if (config_items.contains(left[l].name) && next_shared < shared.size() && shared[next_shared] != left[l].name) {
        ++l;  // shared, but another one's turn
        continue;
      }
    }
    if (l < left.size()) {
      const auto in_config = config_items.find(left[l].name);
      if (in_config == config_items.end()) {
        out.push_back(*left[l].value);
        ++l;
        continue;
      }
      if (in_config->second) ++l;  // has its place already
    }
    if (r < right.size()) {
      take(right[r]);
      if (next_shared < shared.size() && shared[next_shared] == right[r].name) ++next_shared;
      ++r;
    }
  }
  return out;
}

json::value merge_at(const Schema& schema, const json::value& live, const json::value& config) {
  const Shape shape = shape_of(schema, &config);
  if (shape == Shape::kScalar) return config;
  if (shape == Shape::kList) {
    const auto* live_items = live.if_array();
    const auto* config_items = config.if_array();
    const bool empty =
        (live_items == nullptr || live_items->empty()) && (config_items == nullptr || config_items->empty());
    if (empty || atomic_list(schema)) return config;
    static const json::array kNone;
    return merge_items(schema, live_items == nullptr ? kNone : *live_items,
                       config_items == nullptr ? kNone : *config_items);
  }
  const auto* live_fields = live.if_object();
  const auto* config_fields = config.if_object();
  const bool empty =
      (live_fields == nullptr || live_fields->empty()) && (config_fields == nullptr || config_fields->empty());
  if (empty || atomic_map(schema)) return config;
  if (live_fields == nullptr) return config;
  if (config_fields == nullptr) return live;
  json::object out = *live_fields;
  for (const auto& [key, value] : *config_fields) {
    if (json::value* old = out.if_contains(key))
      *old = merge_at(*child_of(schema, key).schema, *old, value);
    else
      out.emplace(key, value);
  }
  return out;
}

}  // namespace

Comparison compare_typed(const Schema& schema, const json::object& before, const json::object& after) {
  Comparison out;
  if (before.empty() && after.empty()) return out;
  if (atomic_map(schema)) return out;
  compare_fields(schema, &before, &after, out);
  return out;
}

json::value merge_typed(const Schema& schema, const json::value& live, const json::value& config) {
  return merge_at(schema, live, config);
}

}  // namespace hookd::embedded
