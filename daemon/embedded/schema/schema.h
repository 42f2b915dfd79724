// What a field may hold and how it merges: one node of a structural schema, the same for built-in kinds and CRDs.
// Nodes are immutable once built, may refer to each other in circles, and live as long as their SchemaSet. Thread: any.
// Source: API docs "Custom Resources: specifying a structural schema", "Server-Side Apply: merge strategy" (KEP-555),
// OpenAPI v2 extensions x-kubernetes-*.
#pragma once

#include <array>
#include <boost/json.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hookd::embedded {

namespace json = boost::json;

struct Schema;

struct Field {
  // What the real server prints where an object of a built-in kind has no such field: nothing, null, or the type's zero
  // (0, false, "", {} with the zeros of its own fields). CRDs' objects are printed as they are.
  enum class Absent : uint8_t { kAsItIs, kNothing, kNull, kZero };

  std::string name;
  const Schema* schema = nullptr;
  std::optional<json::value> default_value{};
  bool required = false;
  Absent absent = Absent::kAsItIs;
  bool drop_empty = false;    // "", 0, false, [] and {} count as absent
  std::string_view inside{};  // "VolumeSource": the embedded Go struct that brings it, named in messages about types
  // Its number in protobuf, after those of the messages that stand for the structs of `inside`: {2, 1} = field 1 of the
  // message in field 2. Zeros fill up; {0} = it is not in protobuf.
  std::array<uint8_t, 3> protobuf{};
};

// Checks of values, for CRDs (OpenAPI v3 keywords); null for most nodes.
struct Checks {
  std::vector<json::value> enumeration;
  std::string pattern, format;
  std::optional<double> minimum, maximum, multiple_of;
  bool exclusive_minimum = false, exclusive_maximum = false, unique_items = false;
  std::optional<int64_t> min_length, max_length, min_items, max_items, min_properties, max_properties;
  // allOf, anyOf, oneOf, not: value checks only, as in a structural schema
  std::vector<const Schema*> all_of, any_of, one_of;
  const Schema* not_schema = nullptr;
  std::vector<std::string> required;  // in the order of the schema, also of fields that it does not describe
  // Of a CRD's root or an embedded resource: what is asked of metadata beyond its being ObjectMeta (name,
  // generateName).
  const Schema* metadata = nullptr;
};

struct Schema {
  enum class Type : uint8_t {
    kAny,      // anything goes: untyped JSON (RawExtension, JSON, x-kubernetes-preserve-unknown-fields without a type)
    kString,   // also times, quantities written as strings, []byte
    kInteger,  // format int32, int64
    kNumber,
    kBoolean,
    kObject,  // fields
    kMap,     // additionalProperties: `items`
    kList,    // `items`
    kIntOrString,
    kQuantity,  // resource.Quantity: string or number in, canonical string out
    kTime,      // metav1.Time / MicroTime (format "date-time" / "micro-time")
  };
  enum class ListType : uint8_t { kAtomic, kSet, kMap };

  Type type = Type::kAny;
  std::string name;           // "io.k8s.api.core.v1.Pod", "" = anonymous
  std::string go_name;        // "v1.RestartPolicy" where messages about wrong types call it so; "" = by its type
  std::string description;    // of CRDs, for `kubectl explain`; "" = none
  std::string format;         // "int32", "int64", "byte", "date-time", "micro-time", ...
  std::vector<Field> fields;  // kObject, sorted by name
  const Schema* items =
      nullptr;  // kList and kMap; null = anything. kAny: of an object or a list of objects, if it is one
  bool nullable = false;
  bool preserve_unknown = false;           // unknown fields stay (CRDs; kAny by itself)
  bool embedded_resource = false;          // x-kubernetes-embedded-resource: apiVersion, kind, metadata inside
  bool atomic = false;                     // x-kubernetes-map-type: atomic, of kObject and kMap
  ListType list_type = ListType::kAtomic;  // x-kubernetes-list-type
  std::vector<std::string> list_keys;      // x-kubernetes-list-map-keys
  // Strategic merge patch (built-in kinds only): of the field that holds this list or map.
  bool patch_merge = false;        // x-kubernetes-patch-strategy has "merge"
  bool patch_retain_keys = false;  // ... has "retainKeys"
  bool patch_replace = false;      // ... has "replace", of an object: it is not merged
  std::string patch_merge_key;     // x-kubernetes-patch-merge-key; "" with patch_merge = a set of scalars
  std::unique_ptr<Checks> checks;
  json::value default_value;  // of CRDs' nodes when they stand as items; null = none

  const Field* field(std::string_view key) const;
};

}  // namespace hookd::embedded
