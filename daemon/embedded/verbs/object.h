// Whole objects between request and store. Thread: any.
#pragma once

#include <string>
#include <string_view>

#include "embedded/resources/fields.h"
#include "embedded/resources/resource.h"
#include "embedded/store/store.h"

namespace hookd::embedded {

json::object& metadata_of(json::object& object);  // made if it is missing

// The object of a stored text, in the version of `resource`. Errors: 500 (conversion by webhook).
Answer<json::object> load(const Stored& stored, const Resource& resource);
// Its text in the version of `resource`.
Answer<std::string> load_text(const Stored& stored, const Resource& resource);
// What goes into the store: in the storage version, with that revision in metadata, apiVersion and kind first.
Answer<Stored> to_stored(const json::object& object, const Resource& resource, uint64_t revision);
// What is left of it once it has been stored and read again: a CRD's storage version may know fewer fields than the
// version that was written. Nothing happens to built-in kinds.
Answer<void> pass_through_storage(json::object& object, const Resource& resource);
// kind, apiVersion, metadata, the rest; metadata in the order of the real server.
void order_keys(json::object& object);
void set_revision(json::object& object, uint64_t revision);
// The same in a text that has one.
std::string with_revision(const std::string& text, uint64_t revision);

// {"kind":"Pod","apiVersion":"v1",...}: the object without these two, as items of typed lists are.
std::string_view list_item(std::string_view text, const Resource& resource, std::string& buffer);

}  // namespace hookd::embedded
