// Are the values of a custom resource what its schema allows? Thread: any.
// Source: what apiextensions-apiserver 1.36 answers; OpenAPI v3 keywords; KEP-4008 (ratcheting).
#pragma once

#include <string_view>

#include "embedded/schema/schema.h"
#include "embedded/wire/status.h"

namespace hookd::embedded {

// `object` is a whole custom resource after pruning and defaults. Errors in the order of the real server. The verbs
// call one of these three, besides validate_metadata() and the kind's Strategy::validate (which does scale paths and
// embedded metadata).
void check_custom(const json::value& object, const Schema& schema, FieldErrors& errors);  // create
// Update: what is wrong in a value that was there before and did not change is forgiven.
void check_custom_update(const json::value& next, const json::value& live, const Schema& schema, FieldErrors& errors);
// Update of the status subresource: only `status` is looked at.
void check_custom_status(const json::value& next, const json::value& live, const Schema& schema, FieldErrors& errors);

// A value that stands by itself at `path`: a default of a CRD.
void check_custom_part(const json::value& value, const Schema& schema, std::string_view path, FieldErrors& errors);

}  // namespace hookd::embedded
