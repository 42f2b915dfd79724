// Values that the server fills in. Thread: any.
// Source: API docs "Structural schemas: defaulting" for CRDs; for built-in kinds the defaults of their API version.
#pragma once

#include <string_view>

#include "embedded/schema/schema.h"

namespace hookd::embedded {

// By the schema's own `default`s: a field that is absent, or null where null is not allowed, gets its default; then
// into fields, items and map values, defaults of defaults included.
void apply_defaults(json::value& value, const Schema& schema);
void apply_defaults(json::object& object, const Schema& schema);

// Of a built-in kind: pods' restartPolicy, services' type and the like. Expects an object that decode() passed. Doing
// it twice changes nothing.
void apply_builtin_defaults(json::object& object, std::string_view group, std::string_view version,
                            std::string_view kind);

}  // namespace hookd::embedded
