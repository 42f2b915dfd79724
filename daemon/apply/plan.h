// Which operations wait for which, and whether the hook may do them at all. Pure. Thread: any.
//
//   stage  what                                                       why
//   0      make Namespaces, CustomResourceDefinitions                 everything else stands in or is of one
//   1      make ServiceAccounts, Roles, ClusterRoles
//   2      make RoleBindings, ClusterRoleBindings                     the server looks at the role that they name
//   3      everything else
//   4      delete bindings        5  delete roles, ServiceAccounts    6  delete Namespaces, CRDs
//   7      Events, and what needs no request (Metric, Requeue)
//
// Within a stage chains run side by side; a chain is the operations on one object in the order of the answer. An
// operation is drawn to an earlier stage when one behind it on the same object needs that (delete, then make anew).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apply/allow.h"
#include "apply/operation.h"
#include "base/result.h"

namespace hookd::apply {

using Chain = std::vector<size_t>;  // indices of operations

struct Plan {
  std::vector<std::vector<Chain>> stages;     // none is empty
  std::vector<std::optional<size_t>> behind;  // the operation before it on the same object
  // For an Event the operations that it speaks of: those before it, back to the Event before. It is not sent when one
  // of them failed. Empty for other operations.
  std::vector<std::vector<size_t>> speaks_of;
};

Plan make_plan(std::span<const Operation> operations, std::string_view default_namespace = {});

// Is this an object that the call was about (an event's object, a snapshot's)?
using IsKnown = std::function<bool(const Operation&)>;
// Every operation against the hook's rules; no rules at all = everything is allowed. A rule for namespaces never holds
// for an operation without one. An Event about an object of the call needs no rule; Metric and Requeue neither.
// Errors: kForbidden: which operation, and the rule that it would need.
Result<void> check_allowed(std::span<const Operation> operations, const std::optional<std::vector<AllowRule>>& rules,
                           const IsKnown& about_the_call = {});

}  // namespace hookd::apply
