// The answer of a hook that reconciles, read against what it was called with: all of it is good, or nothing is done.
// Pure. Thread: any. Source: product.md section 6.
//
//   {"children":[manifests],"status":{…},"requeueAfter":"20s","operations":[…],"finalized":true,"message":"…"}
//   manifests and operations outside of `children` are those of every hook (product.md section 3)
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apply/operation.h"
#include "base/result.h"
#include "base/scheduler.h"
#include "cache/object.h"
#include "kube/resource_type.h"
#include "reconcile/child_plan.h"

namespace hookd::reconcile {

struct NativeAnswer {
  std::optional<std::vector<Desired>> children;  // unset = none is touched
  std::vector<apply::Operation> operations;
  std::optional<std::string> status;  // JSON object, without the members that are null; unset = it stays as it is
  std::optional<Duration> requeue_after;
  bool finalized = false;
  std::vector<std::string> messages;
  std::vector<std::string> text;  // lines outside documents
};

// Of what the hook was called with.
struct AnswerContext {
  const std::vector<ChildKind>& kinds;
  const kube::ResourceType& parent_type;
  const cache::Identity& parent;
  bool gone = false;  // the parent is no more: what the answer says of children and status is not looked at
};

// Errors: parse_answer()'s and read_desired()'s: what is wrong where, and what was expected.
Result<NativeAnswer> read_native_answer(std::string_view text, const AnswerContext& context);

// Without a namespace an operation means the parent's.
bool is_about(const apply::Operation& operation, const kube::ResourceType& type, const cache::Identity& object);

// A JSON value without the members of objects that are null, at any depth; lists keep theirs. What jq makes of a field
// that is not there must not become a field. (controllers.md section 4: nulls and hot loops)
std::string without_nulls(std::string_view json);

}  // namespace hookd::reconcile
