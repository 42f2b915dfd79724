// Dynamic apply: what a child has to become, of what it is, what was applied last, and what the hook wants now. Pure.
// Thread: any. Source: controllers.md 1.5 (dynamic-apply).
//
//   maps    keys that were applied and are not wanted any more go, wanted ones are merged, others stay
//   lists   as maps, if every item of all three is an object and all have the first of kMergeKeys that fits; else whole
//   else    what is wanted
//
// Where we differ: a key with the value null is as if it were missing (upstream writes it again for ever), and a merge
// key whose value stands twice in one list does not fit (upstream loses one of both, as port 53 of TCP and UDP).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "compat/metacontroller/value.h"

namespace hookd::metacontroller {

// Errors: kInvalid: the path, and of which kind both sides are.
Result<Value> merge(const Value& observed, const Value& last_applied, const Value& desired);

// A child as it is to be made: the hook's, with the annotation last-applied, without status and what only the server
// sets.
Value with_last_applied(const Value& desired);
// The desired one without the annotation, ownerReferences, null members: what the annotation keeps.
Value as_applied(const Value& desired);
// Of the annotation of `observed`; an empty object if it has none. Errors: kDecode: what is in it is no JSON object.
Result<Value> last_applied_of(const Value& observed);

// What `observed` has to become by the hook's `desired`: merged, metadata that belongs to the server and status as they
// were, the annotation brought up to date. Equal to `observed` = nothing is to be done. Errors: of the two above.
Result<Value> apply_update(const Value& observed, const Value& desired);

// The JSON merge patch (RFC 7386) that makes `to` of `from`; nullopt = they are equal. It is exact as long as nobody
// else changed `from`: to be sent with its resourceVersion.
std::optional<Value> merge_patch(const Value& from, const Value& to);

// The same child without what only the server sets, status and annotation last-applied: body of a server-side apply.
Value for_server_side_apply(const Value& desired);

// Members that are null go, at every depth of maps and of maps in lists.
Value without_nulls(const Value& value);

}  // namespace hookd::metacontroller
