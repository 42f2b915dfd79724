// The lists that merge by their items: sets have no item twice, maps no key twice. Thread: any.
// Source: API docs "Merge strategy": x-kubernetes-list-type, x-kubernetes-list-map-keys.
#pragma once

#include <string>

#include "embedded/schema/schema.h"
#include "embedded/wire/status.h"

namespace hookd::embedded {

// Every list below `value` (at `path`, "" = the root).
void check_lists(const json::value& value, const Schema& schema, const std::string& path, FieldErrors& errors);

bool has_duplicates(const json::array& list);

// The item of a list of type map that has the keys of `item`; null = none.
const json::value* item_with_keys(const json::array& list, const json::value& item, const Schema& schema);

}  // namespace hookd::embedded
