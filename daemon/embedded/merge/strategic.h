// What the two halves of strategic merge patches share: maps and lists. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "embedded/schema/schema.h"
#include "embedded/wire/status.h"

namespace hookd::embedded::strategic {

inline constexpr std::string_view kPatch = "$patch";

// Errors that are no Status of their own; the real server answers 500 with the text and no reason.
StatusError plain(std::string message);
StatusError wrong_type(std::string_view expected, const json::value& got);
StatusError no_merge_key(const json::object& item, std::string_view key);
StatusError unknown_directive(const json::value& directive, const json::object& item);
std::string go_type(const json::value& value);

// Null = anything goes. Errors: the field is not known, or is no list.
Answer<const Schema*> field_schema(const Schema* schema, std::string_view key);
Answer<const Schema*> list_schema(const Schema* schema, std::string_view key);

void discard_nulls(json::value& value);
// Takes out of a value that is new what has a $patch directive; false = the value itself has one.
bool remove_directives(json::value& value);

Answer<json::object> merge_maps(json::object original, json::object patch, const Schema* schema);
// `list` is the list's schema. `deletes`: the patch's items are taken away (scalars).
Answer<json::array> merge_lists(json::array original, json::array patch, const Schema& list, bool deletes);
// With $setElementOrder; null = not there. Nothing = both are not there.
Answer<std::optional<json::array>> merge_ordered(const json::array* original, const json::array* patch,
                                                 const json::array& order, const Schema& list);

}  // namespace hookd::embedded::strategic
