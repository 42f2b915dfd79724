// What is done to a custom resource before it is checked: unknown fields and badly typed metadata go. Thread: any.
// Source: API docs "Field pruning", "Defaulting and Nullable"; KEP-2885 (field validation).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "embedded/schema/schema.h"
#include "embedded/wire/status.h"

namespace hookd::embedded {

// Removes the fields that the schema does not know. `unknown` (may be null) gets their paths ("spec.a[0].b"), in order,
// for fieldValidation Warn and Strict. At the root and in embedded resources apiVersion, kind and metadata stay.
void prune_custom(json::value& object, const Schema& schema, std::vector<std::string>* unknown);

// Nulls of fields that are not nullable and have a default go, so that apply_defaults() fills them in.
// Order of a write: coerce_custom_meta, prune_custom, prune_custom_nulls, apply_defaults, check_custom.
void prune_custom_nulls(json::value& object, const Schema& schema);

// metadata at the root and in embedded resources: unknown fields go (told in `unknown`, may be null), wrong types are
// an error (400) unless `drop_invalid` (objects that are read from the store), which drops them.
Answer<void> coerce_custom_meta(json::value& object, const Schema& schema, bool drop_invalid,
                                std::vector<std::string>* unknown);

}  // namespace hookd::embedded
