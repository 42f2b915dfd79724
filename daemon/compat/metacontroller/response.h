// What a hook answers: the JSON documents of sync, finalize and customize as values, taken whole or not at all. Pure.
// Thread: any. Source: controllers.md 1.2 (decode rules), 1.7 (customize).
//
// Names count with their case; numbers stay as they were written. Loose (default of v1): unknown members and one that
// comes twice are told as a warning; strict (default of v2): they are errors. Null stands for a missing member. Fail:
// an empty body, a wrong JSON type, a null among the children, a child without apiVersion, kind or metadata.name.
// Upstream takes a misspelt `children` for "no children" and deletes all; here an answer without the member, but with
// one whose name is nearly it, fails.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/scheduler.h"
#include "cache/label_selector.h"
#include "compat/metacontroller/spec.h"

namespace hookd::metacontroller {

struct DesiredObject {
  std::string text;  // JSON as the hook wrote it
  std::string api_version, kind, name;
  std::string ns;  // "" = it said none: the parent's (1.2)
};

struct SyncAnswer {
  std::optional<std::string> status;    // JSON object; unset = null or missing: a CompositeController's is wiped (1.4),
                                        // a DecoratorController's stays
  std::vector<DesiredObject> children;  // of the one: children; of the other: attachments; in the hook's order
  std::map<std::string, std::optional<std::string>> labels, annotations;  // DecoratorController; unset value = delete
  std::optional<Duration> resync_after;                                   // only if above 0
  bool finalized = false;
  std::vector<std::string> warnings;
};

// A rule of customize, its own contradictions refused (names and a selector, namespace and namespaceSelector). What
// depends on parent and kind (v1 keeps to the parent's namespace) is for whoever evaluates it.
struct RelatedResource {
  std::string api_version, resource;
  std::optional<cache::LabelSelector> label_selector, namespace_selector;
  std::string ns;
  std::vector<std::string> names;
  bool operator==(const RelatedResource&) const = default;
};

struct CustomizeAnswer {
  std::vector<RelatedResource> related;
  std::vector<std::string> warnings;
};

// Errors: kInvalid, in the words of a person: "children[2]: metadata.name is missing".
Result<SyncAnswer> decode_sync(ControllerKind kind, Unmarshal unmarshal, std::string_view text);
Result<CustomizeAnswer> decode_customize(Unmarshal unmarshal, std::string_view text);

}  // namespace hookd::metacontroller
