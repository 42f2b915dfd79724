// RFC 6902 with the habits of the library that the real server uses.
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/merge/patch.h"

namespace hookd::embedded {

namespace {

constexpr size_t kMaxOperations = 10'000;
constexpr size_t kMaxCopiedBytes = 3u << 20;
constexpr size_t kMaxDepth = 1'000;

// The real server keeps to itself what did not fit.
StatusError does_not_fit() {
  return {422, "Invalid", "the server rejected our request due to an error in our request", {}, true};
}

std::string_view go_kind(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "bool";
    case json::kind::string:
      return "string";
    case json::kind::array:
      return "array";
    case json::kind::object:
      return "object";
    default:
      return "number";
  }
}

StatusError cannot_decode(const json::value& value, std::string_view into) {
  return bad_request("error decoding patch: json: cannot unmarshal " + std::string(go_kind(value)) + " into Go " +
                     std::string(into));
}

size_t depth_of(const json::value& value) {
  size_t deepest = 0;
  if (const auto* array = value.if_array())
    for (const auto& item : *array) deepest = std::max(deepest, depth_of(item));
  else if (const auto* object = value.if_object())
    for (const auto& field : *object) deepest = std::max(deepest, depth_of(field.value()));
  else
    return 0;
  return deepest + 1;
}

// "/a~1b/0" ─► {"a/b", "0"}. What stands before the first slash does not matter; without a slash there is no path.
std::optional<std::vector<std::string>> split_pointer(std::string_view text) {
  const size_t first = text.find('/');
  if (first == std::string_view::npos) return std::nullopt;
  std::vector<std::string> out(1);
  for (size_t i = first + 1; i < text.size(); ++i) {
    if (text[i] == '/') {
      out.emplace_back();
    } else if (text.substr(i, 2) == "~1" || text.substr(i, 2) == "~0") {
      out.back() += text[i + 1] == '1' ? '/' : '~';
      ++i;
    } else {
      out.back() += text[i];
    }
  }
  return out;
}

// Where in a list of `size` (for adding: one more) an index points to.
std::optional<size_t> list_index(std::string_view text, size_t size) {
  if (text.starts_with('+')) text.remove_prefix(1);
  int64_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  const auto count = static_cast<int64_t>(size);
  if (index < 0) index += count;
  if (index < 0 || index >= count) return std::nullopt;
  return static_cast<size_t>(index);
}

class Document {
 public:
  explicit Document(json::value root) : root_(std::move(root)) {}
  json::value take() && { return std::move(root_); }
  json::value& root() { return root_; }

  // The container that a path ends in; null = there is none.
  json::value* parent(const std::vector<std::string>& path) {
    json::value* at = &root_;
    for (size_t i = 0; i + 1 < path.size() && at != nullptr; ++i) at = child(*at, path[i]);
    return at != nullptr && (at->is_object() || at->is_array()) ? at : nullptr;
  }

  static json::value* child(json::value& container, std::string_view key) {
    if (auto* object = container.if_object()) return object->if_contains(key);
    auto* array = container.if_array();
    if (array == nullptr) return nullptr;
    const auto index = list_index(key, array->size());
    return index ? &(*array)[*index] : nullptr;
  }

  static bool add(json::value& container, std::string_view key, json::value value) {
    if (auto* object = container.if_object()) {
      object->insert_or_assign(key, std::move(value));
      return true;
    }
    auto& array = container.get_array();
    if (key == "-") {
      array.push_back(std::move(value));
      return true;
    }
    const auto index = list_index(key, array.size() + 1);
    if (!index) return false;
    array.insert(array.begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
    return true;
  }

  static bool remove(json::value& container, std::string_view key) {
    if (auto* object = container.if_object()) {
      const auto at = object->find(key);
      if (at == object->end()) return false;
      object->stable_erase(at);
      return true;
    }
    auto& array = container.get_array();
    const auto index = list_index(key, array.size());
    if (!index) return false;
    array.erase(array.begin() + static_cast<std::ptrdiff_t>(*index));
    return true;
  }

 private:
  json::value root_;
};

struct Operation {
  std::string op, path, from;
  bool has_path = false, has_from = false;
  const json::value* value = nullptr;  // null = none, or JSON null
};

Answer<Operation> read_operation(const json::value& item) {
  Operation out;
  if (item.is_null()) return out;
  const auto* object = item.if_object();
  if (object == nullptr) return refuse(cannot_decode(item, "value of type handlers.jsonPatchOp"));
  const auto text = [object](std::string_view key, std::string& into, bool& there) -> Answer<void> {
    const json::value* value = object->if_contains(key);
    if (value == nullptr || value->is_null()) return {};
    if (!value->is_string())
      return refuse(cannot_decode(*value, "struct field jsonPatchOp." + std::string(key) + " of type string"));
    into = std::string(value->get_string());
    there = true;
    return {};
  };
  bool has_op = false;
  if (auto ok = text("op", out.op, has_op); !ok) return refuse(ok.error());
  if (auto ok = text("path", out.path, out.has_path); !ok) return refuse(ok.error());
  if (auto ok = text("from", out.from, out.has_from); !ok) return refuse(ok.error());
  const json::value* value = object->if_contains("value");
  if (value != nullptr && !value->is_null()) out.value = value;
  return out;
}

class Patcher {
 public:
  explicit Patcher(json::value document) : document_(std::move(document)) {}
  json::value take() && { return std::move(document_).take(); }

  bool apply(const Operation& operation) {
    if (operation.op == "add") return add(operation);
    if (operation.op == "remove") return remove(operation.path, operation.has_path);
    if (operation.op == "replace") return replace(operation);
    if (operation.op == "move") return move(operation);
    if (operation.op == "copy") return copy(operation);
    if (operation.op == "test") return test(operation);
    return false;
  }

 private:
  static json::value value_of(const Operation& operation) {
    return operation.value == nullptr ? json::value() : *operation.value;
  }

  bool put(std::string_view path, json::value value) {
    const auto steps = split_pointer(path);
    if (!steps || steps->size() + depth_of(value) > kMaxDepth) return false;
    json::value* parent = document_.parent(*steps);
    return parent != nullptr && Document::add(*parent, steps->back(), std::move(value));
  }

  bool add(const Operation& operation) { return operation.has_path && put(operation.path, value_of(operation)); }

  bool remove(std::string_view path, bool has_path) {
    const auto steps = has_path ? split_pointer(path) : std::nullopt;
    json::value* parent = steps ? document_.parent(*steps) : nullptr;
    return parent != nullptr && Document::remove(*parent, steps->back());
  }

  bool replace(const Operation& operation) {
    if (!operation.has_path) return false;
    if (operation.path.empty()) {
      if (operation.value == nullptr || !(operation.value->is_object() || operation.value->is_array())) return false;
      document_.root() = *operation.value;
      return true;
    }
    const auto steps = split_pointer(operation.path);
    json::value* parent = steps ? document_.parent(*steps) : nullptr;
    if (parent == nullptr || steps->size() + depth_of(value_of(operation)) > kMaxDepth) return false;
    if (auto* object = parent->if_object()) {
      object->insert_or_assign(steps->back(), value_of(operation));
      return true;
    }
    json::value* old = Document::child(*parent, steps->back());
    if (old == nullptr) return false;
    *old = value_of(operation);
    return true;
  }

  bool move(const Operation& operation) {
    const auto from = operation.has_from ? split_pointer(operation.from) : std::nullopt;
    json::value* parent = from ? document_.parent(*from) : nullptr;
    json::value* old = parent == nullptr ? nullptr : Document::child(*parent, from->back());
    if (old == nullptr || !operation.has_path) return false;
    json::value value = std::move(*old);
    return Document::remove(*parent, from->back()) && put(operation.path, std::move(value));
  }

  bool copy(const Operation& operation) {
    const auto from = operation.has_from ? split_pointer(operation.from) : std::nullopt;
    json::value* parent = from ? document_.parent(*from) : nullptr;
    if (parent == nullptr || !operation.has_path) return false;
    const json::value* old = Document::child(*parent, from->back());
    if (old == nullptr && parent->is_array()) return false;
    json::value value = old == nullptr ? json::value() : *old;
    copied_bytes_ += json::serialize(value).size();
    return copied_bytes_ <= kMaxCopiedBytes && put(operation.path, std::move(value));
  }

  bool test(const Operation& operation) {
    if (!operation.has_path) return false;
    if (operation.path.empty()) return operation.value != nullptr && document_.root() == *operation.value;
    const auto steps = split_pointer(operation.path);
    json::value* parent = steps ? document_.parent(*steps) : nullptr;
    if (parent == nullptr) return false;
    const json::value* value = Document::child(*parent, steps->back());
    if (value == nullptr && parent->is_array()) return false;
    if (value == nullptr || value->is_null()) return operation.value == nullptr;
    return operation.value != nullptr && *value == *operation.value;
  }

  Document document_;
  size_t copied_bytes_ = 0;
};

}  // namespace

Answer<json::value> json_patch(const json::value& document, const json::value& patch) {
  if (patch.is_null()) return document;
  const auto* list = patch.if_array();
  if (list == nullptr) return refuse(cannot_decode(patch, "value of type []handlers.jsonPatchOp"));
  std::vector<Operation> operations;
  operations.reserve(list->size());
  for (const auto& item : *list) {
    auto operation = read_operation(item);
    if (!operation) return refuse(operation.error());
    operations.push_back(*std::move(operation));
  }
  if (operations.size() > kMaxOperations)
    return refuse(too_large("The allowed maximum operations in a JSON patch is " + std::to_string(kMaxOperations) +
                            ", got " + std::to_string(operations.size())));
  Patcher patcher(document);
  for (const auto& operation : operations)
    if (!patcher.apply(operation)) return refuse(does_not_fit());
  return std::move(patcher).take();
}

namespace {

// Nulls of objects go, also of those in lists; nulls as items stay.
void drop_nulls(json::value& value) {
  if (auto* array = value.if_array()) {
    for (auto& item : *array) drop_nulls(item);
  } else if (auto* object = value.if_object()) {
    for (auto at = object->begin(); at != object->end();) {
      if (at->value().is_null()) {
        at = object->stable_erase(at);
      } else {
        drop_nulls(at->value());
        ++at;
      }
    }
  }
}

void merge_into(json::object& document, const json::object& patch) {
  for (const auto& [key, change] : patch) {
    const auto old = document.find(key);
    const bool there = old != document.end();
    if (change.is_null()) {
      if (there) document.stable_erase(old);
    } else if (there && old->value().is_object()) {
      if (change.is_object())
        merge_into(old->value().get_object(), change.get_object());
      else
        old->value() = change;
    } else {
      json::value fresh = change;
      drop_nulls(fresh);
      document.insert_or_assign(key, std::move(fresh));
    }
  }
}

}  // namespace

json::value merge_patch(const json::value& document, const json::value& patch) {
  const auto* changes = patch.if_object();
  if (changes == nullptr) return patch;
  json::value out = document;
  json::object& object = out.is_object() ? out.get_object() : out.emplace_object();
  merge_into(object, *changes);
  return out;
}

}  // namespace hookd::embedded
