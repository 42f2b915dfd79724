// ControllerRevisions and roll-outs: children move to the parent's newest revision one by one. Pure. Thread: any.
// Source: controllers.md 1.6; where upstream is broken ([V] a to e) this does what its documentation says.
//
//   revision   the parent's fields of revisionHistory.fieldPaths, and the children of rolling kinds that it claims
//   newest     of the parent as it is; what no revision claims is its own: at once if it is there so already or is
//              missing, else in its turn (upstream: at once; its revision may be deleted, or its kind rolls only now)
//   older      as long as they claim children; the hook is asked for each with the parent as it was then
//   one sync   moves at most one child, and only if all that moved before are there, as wanted, and pass the checks
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apply/operation.h"
#include "cache/object.h"
#include "compat/metacontroller/child_writes.h"
#include "compat/metacontroller/desired.h"
#include "compat/metacontroller/spec.h"
#include "compat/metacontroller/value.h"
#include "kube/resource_type.h"

namespace hookd::metacontroller {

struct Revision {
  std::string name;
  cache::Identity identity;                           // uid "" = it is not in the cluster yet
  Value patch;                                        // {"spec":{…}}
  using Group = std::pair<std::string, std::string>;  // group, kind
  using Child = std::pair<Group, std::string>;
  // Names, in the order in which they were claimed. Bare: children of a namespaced parent live in its namespace.
  std::map<Group, std::vector<std::string>> claims, stored;
  bool newest = false;

  bool claims_child(const Group& group, std::string_view child) const;
  void take(const Group& group, const std::string& child);
  void drop(const Group& group, std::string_view child);
  bool empty() const { return claims.empty(); }
};

// The parent's fields that make a revision; those that it does not have are left out.
Value revision_patch(const Value& parent, const std::vector<std::string>& field_paths);
// The parent with the fields of a revision; those that the revision does not have go.
Value parent_at(const Value& parent, const Value& patch, const std::vector<std::string>& field_paths);
// "catsets.ctl.example.com-<sha1 of uid and patch>", at most 253 bytes.
std::string revision_name(const kube::ResourceType& parent_type, std::string_view parent_uid, const Value& patch);
// One that nobody controls: is it this parent's? Its labels tell the parent's type; which parent's it is tells its
// name, which is made of the parent's uid, or, for a parent that was made anew, the selector (upstream: by the selector
// alone).
bool is_revision_of(const cache::Identity& identity, std::string_view text, const kube::ResourceType& parent_type,
                    std::string_view parent_uid, const cache::LabelSelector& selector);
// Errors: kDecode.
Result<Revision> read_revision(const cache::Identity& identity, std::string_view text);

// Those that `stored` tells of, with the newest first: found by its patch, or made anew. A second one of the same patch
// stays among the older ones.
std::vector<Revision> revisions_of(std::vector<Revision> stored, const Value& parent,
                                   const kube::ResourceType& parent_type, std::string_view parent_uid,
                                   const std::vector<std::string>& field_paths);

struct RollOut {
  std::vector<Wanted> wanted;                // what is to be made of the children now
  std::string status, reason, message;       // of the condition `Updated`
  std::vector<Revision::Child> untouched{};  // not among `wanted`, and to be left as they are until their turn comes
};
struct RollInput {
  const ControllerSpec& controller;
  const ApplyOptions& options;
  const std::vector<ObservedChild>& observed;
  std::vector<std::vector<Wanted>> wanted;  // by revision, in the hook's order
};
// Brings the claims up to date (the revisions' `claims`), moves at most one child. `revisions`: newest first.
RollOut roll(std::vector<Revision>& revisions, RollInput input);

// Makes, changes and deletes the records; those without children go. To be carried out before any child is touched.
std::vector<apply::Operation> revision_writes(const std::vector<Revision>& revisions,
                                              const kube::ResourceType& revision_type,
                                              const kube::ResourceType& parent_type, const cache::Identity& parent,
                                              const ControllerSpec& controller, const Value& parent_object);

// `status` (an object, or null for none) with the condition `Updated`, in the place of one that the hook sent along.
Value with_updated_condition(Value status, const RollOut& roll_out);

// Why the child does not pass; nullopt = it does.
std::optional<std::string> failed_check(const Value& child, const ChildResource& rule);

}  // namespace hookd::metacontroller
