// Strategic merge patch of lists: by merge key, as a set of scalars, and in which order.
#include <algorithm>
#include <functional>
#include <vector>

#include "embedded/merge/go_text.h"
#include "embedded/merge/strategic.h"

namespace hookd::embedded::strategic {

namespace {

bool has_directive(const json::value& item) {
  const auto* object = item.if_object();
  return object != nullptr && object->contains(kPatch);
}

bool deletes_item(const json::value& item) {
  const auto* object = item.if_object();
  const json::value* directive = object == nullptr ? nullptr : object->if_contains(kPatch);
  return directive != nullptr && directive->is_string() && directive->get_string() == "delete";
}

// Of which kind all items are. Errors: they differ, are lists, or there are none.
Answer<json::kind> item_kind(const json::array& a, const json::array& b) {
  const json::value* first = nullptr;
  for (const auto* list : {&a, &b})
    for (const auto& item : *list) {
      if (first == nullptr) {
        first = &item;
        if (item.is_array())
          return refuse({422, "Invalid", "the server rejected our request due to an error in our request", {}, true});
      }
      if (item.is_null() || go_type(item) != go_type(*first))
        return refuse(
            plain("list element types are not identical: [" + go_value_text(a) + " " + go_value_text(b) + "]"));
    }
  if (first == nullptr) return refuse(plain("no elements in any of the given slices"));
  return first->kind();
}

// What an item is known by: its merge key's value, or itself. Null = it has none.
const json::value* identity(const json::value& item, std::string_view key) {
  if (const auto* object = item.if_object()) return object->if_contains(key);
  return &item;
}

constexpr size_t kNowhere = static_cast<size_t>(-1);

size_t index_of(const json::array& list, const json::value& item, std::string_view key) {
  const json::value* wanted = identity(item, key);
  for (size_t i = 0; i < list.size(); ++i) {
    const json::value* here = identity(list[i], key);
    if (here == wanted || (here != nullptr && wanted != nullptr && *here == *wanted)) return i;
  }
  return kNowhere;
}

Answer<void> need_keys(const json::array& list, std::string_view key) {
  for (const auto& item : list) {
    const auto* object = item.if_object();
    if (object == nullptr) return refuse(wrong_type("map[string]interface {}", item));
    if (!object->contains(key)) return refuse(no_merge_key(*object, key));
  }
  return {};
}

struct Partition {
  json::array in_order, others;
};

// Items that `order` names, and the rest.
Partition split_by(const json::array& items, const json::array& order, std::string_view key) {
  Partition out;
  for (const auto& item : items) (index_of(order, item, key) == kNowhere ? out.others : out.in_order).push_back(item);
  return out;
}

json::array sorted_by(const json::array& items, const json::array& order, std::string_view key) {
  std::vector<std::pair<size_t, const json::value*>> places;
  json::array deletions;
  for (const auto& item : items)
    if (deletes_item(item))
      deletions.push_back(item);
    else
      places.emplace_back(index_of(order, item, key), &item);
  std::ranges::stable_sort(places, {}, [](const auto& place) { return place.first; });
  json::array out;
  out.reserve(items.size());
  for (const auto& [place, item] : places) out.push_back(*item);
  for (auto& item : deletions) out.push_back(std::move(item));
  return out;
}

// Items of the patch in the patch's order; what only the server has goes before the first of them that followed it on
// the server.
Answer<json::array> in_order(Partition items, const json::array& order, const json::array& server_order,
                             std::string_view key, json::kind kind) {
  if (kind == json::kind::object)
    for (const auto& list :
         {std::cref(items.in_order), std::cref(order), std::cref(items.others), std::cref(server_order)})
      if (auto ok = need_keys(list, key); !ok) return refuse(ok.error());
  const json::array right = sorted_by(items.in_order, order, key);
  const json::array left = sorted_by(items.others, server_order, key);
  json::array out;
  out.reserve(left.size() + right.size());
  size_t l = 0;
  size_t r = 0;
  while (l < left.size() && r < right.size()) {
    const size_t here = index_of(server_order, left[l], key);
    const size_t there = index_of(server_order, right[r], key);
    const bool first = here != kNowhere && there != kNowhere && here < there;
    out.push_back(first ? left[l++] : right[r++]);
  }
  for (; l < left.size(); ++l) out.push_back(left[l]);
  for (; r < right.size(); ++r) out.push_back(right[r]);
  return out;
}

// Each scalar once; the last one fills the gap that a second one leaves, as in the real server.
json::array without_doubles(json::array list) {
  for (size_t i = 0; i + 1 < list.size(); ++i)
    for (size_t j = i + 1; j < list.size();) {
      if (!(list[i] == list[j])) {
        ++j;
        continue;
      }
      if (j + 1 != list.size()) list[j] = list.back();
      list.pop_back();
    }
  return list;
}

// Directives among the items of a patch: deletes from `original`, or clears it; they are gone from `patch` then.
Answer<void> obey_directives(json::array& original, json::array& patch, std::string_view key) {
  json::array rest;
  bool replace = false;
  for (auto& item : patch) {
    const auto& object = item.get_object();
    const json::value* directive = object.if_contains(kPatch);
    if (directive == nullptr) {
      rest.push_back(std::move(item));
      continue;
    }
    const std::string_view name = directive->is_string() ? std::string_view(directive->get_string()) : "";
    if (name == "replace") {
      replace = true;
    } else if (name == "delete") {
      const json::value* wanted = object.if_contains(key);
      if (wanted == nullptr) return refuse(no_merge_key(object, key));
      json::array kept;
      for (auto& old : original) {
        const json::value* here = identity(old, key);
        if (here == nullptr || !(*here == *wanted)) kept.push_back(std::move(old));
      }
      original = std::move(kept);
    } else if (name == "merge") {
      return refuse(plain("merging lists cannot yet be specified in the patch"));
    } else {
      return refuse(unknown_directive(*directive, object));
    }
  }
  patch = std::move(rest);
  if (replace) {
    original = std::move(patch);
    patch.clear();
  }
  return {};
}

Answer<json::array> merge_by_key(json::array original, const json::array& patch, const Schema& list) {
  for (const auto& item : patch) {
    const auto& object = item.get_object();
    if (!object.contains(list.patch_merge_key)) return refuse(no_merge_key(object, list.patch_merge_key));
    const size_t at = index_of(original, item, list.patch_merge_key);
    if (at == kNowhere) {
      original.push_back(item);
      continue;
    }
    auto merged = merge_maps(std::move(original[at].get_object()), object, list.items);
    if (!merged) return refuse(merged.error());
    original[at] = *std::move(merged);
  }
  return original;
}

// The items of a patch stand in the same order as in $setElementOrder, which names them all. (A directive after the
// last of them is an error too, though it names nothing.)
Answer<void> check_order(const json::array& patch, const json::array& order, std::string_view key) {
  if (patch.empty() || order.empty()) return {};
  std::vector<const json::value*> items;
  for (const auto& item : patch) {
    if (!key.empty() && !item.is_object()) return refuse(wrong_type("map[string]interface {}", item));
    if (key.empty() || !deletes_item(item)) items.push_back(&item);
  }
  size_t at = 0;
  for (size_t place = 0; at < items.size() && place < order.size();) {
    const json::value& item = *items[at];
    if (has_directive(item)) {
      ++at;
      continue;
    }
    const json::value& named = order[place++];
    if (!key.empty()) {
      if (!named.is_object()) return refuse(wrong_type("map[string]interface {}", named));
      for (const auto* object : {&item.get_object(), &named.get_object()})
        if (!object->contains(key)) return refuse(no_merge_key(*object, key));
    }
    if (*identity(item, key) == *identity(named, key)) ++at;
  }
  if (at < items.size())
    return refuse(plain("The order in patch list:\n" + go_value_text(patch) +
                        "\n doesn't match $setElementOrder list:\n" + go_value_text(order) + "\n"));
  return {};
}

}  // namespace

Answer<json::array> merge_lists(json::array original, json::array patch, const Schema& list, bool deletes) {
  if (original.empty() && patch.empty()) return original;
  const auto kind = item_kind(original, patch);
  if (!kind) return refuse(kind.error());
  json::array merged;
  const std::string_view key = list.patch_merge_key;
  if (*kind != json::kind::object) {
    if (deletes) {
      json::array kept;
      for (auto& item : original)
        if (index_of(patch, item, {}) == kNowhere) kept.push_back(std::move(item));
      return kept;
    }
    merged = original;
    merged.insert(merged.end(), patch.begin(), patch.end());
    merged = without_doubles(std::move(merged));
  } else {
    if (key.empty()) return refuse(plain("cannot merge lists without merge key for struct"));
    if (auto ok = obey_directives(original, patch, key); !ok) return refuse(ok.error());
    auto by_key = merge_by_key(original, patch, list);
    if (!by_key) return by_key;
    merged = *std::move(by_key);
  }
  if (merged.empty()) return merged;
  return in_order(split_by(merged, patch, key), patch, original, key, *kind);
}

Answer<std::optional<json::array>> merge_ordered(const json::array* original, const json::array* patch,
                                                 const json::array& order, const Schema& list) {
  static const json::array kNone;
  const std::string_view key = list.patch_merge_key;
  if (auto ok = check_order(patch == nullptr ? kNone : *patch, order, key); !ok) return refuse(ok.error());
  json::array merged;
  if (original == nullptr && patch == nullptr) return std::nullopt;
  if (original != nullptr && patch == nullptr) {
    merged = *original;
  } else if (original == nullptr) {
    json::value fresh(*patch);
    remove_directives(fresh);
    merged = std::move(fresh.get_array());
  } else if (list.patch_merge) {
    auto both = merge_lists(*original, *patch, list, false);
    if (!both) return refuse(both.error());
    merged = *std::move(both);
  } else {
    merged = *patch;
  }
  const auto kind = item_kind(original == nullptr ? kNone : *original, patch == nullptr ? kNone : *patch);
  if (!kind) return refuse(kind.error());
  if (!key.empty())
    if (auto ok = need_keys(merged, key); !ok) return refuse(ok.error());
  auto out = in_order(split_by(merged, order, key), order, original == nullptr ? kNone : *original, key, *kind);
  if (!out) return refuse(out.error());
  return *std::move(out);
}

}  // namespace hookd::embedded::strategic
