// Sets of fields of an object, as managedFields keep them: a sorted tree. Thread: any.
// Source: API docs "Server-Side Apply" (FieldsV1); KEP-555.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "embedded/merge/path_element.h"
#include "embedded/schema/schema.h"

namespace hookd::embedded {

struct FieldNode;

// A value. Nodes are sorted by element, each element once; a node is there only if it is a member or has members below.
struct FieldSet {
  std::vector<FieldNode> nodes;

  bool empty() const { return nodes.empty(); }
  size_t size() const;  // members
  bool has(const std::vector<PathElement>& path) const;
  void insert(const std::vector<PathElement>& path);
  const FieldNode* find(const PathElement& element) const;
  // For builders: appends in any order; then sort() once. Elements must differ.
  void append(PathElement element, bool member, FieldSet below);
  void sort();

  // Every member with its path, members of a level before what is below it.
  void visit(const std::function<void(const std::vector<PathElement>&)>& each) const;

  bool operator==(const FieldSet&) const = default;
};

struct FieldNode {
  PathElement element;
  bool member = false;  // the path itself is in the set
  FieldSet below;

  bool operator==(const FieldNode&) const = default;
};

FieldSet set_union(const FieldSet& a, const FieldSet& b);
FieldSet set_intersection(const FieldSet& a, const FieldSet& b);
// Removes from `set` the members of `what`; true if there were any.
bool subtract(FieldSet& set, const FieldSet& what);
// The same, and a member of `what` takes everything below it along.
bool subtract_recursively(FieldSet& set, const FieldSet& what);
// Keeps of `set` what the patterns name: FieldsV1 in which {} means everything below, and "*" any element.
FieldSet keep_matching(const FieldSet& set, const json::object& patterns);

// Fields that the schema declares and that have members below become members too.
FieldSet with_named_fields(const FieldSet& set, const Schema& schema);

// Elements that only a later version knows are skipped. Nothing = malformed, or deeper than 256.
std::optional<FieldSet> parse_field_set(const json::value& fields_v1);
json::object to_fields_v1(const FieldSet& set);

std::string path_text(const std::vector<PathElement>& path);

}  // namespace hookd::embedded
