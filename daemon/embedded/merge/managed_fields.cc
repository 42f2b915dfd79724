// Updates: everything but server-side apply.
#include "embedded/merge/managed_fields.h"

#include <algorithm>
#include <expected>
#include <string>
#include <string_view>

#include "embedded/merge/ownership.h"

namespace hookd::embedded {

namespace {

const json::value* managed_of(const json::object& object) {
  const json::value* metadata = object.if_contains("metadata");
  const json::object* fields = metadata == nullptr ? nullptr : metadata->if_object();
  return fields == nullptr ? nullptr : fields->if_contains("managedFields");
}

// CRDs' objects are printed as they are; built-in kinds always have metadata.
bool is_custom(const Schema& schema) {
  const Field* metadata = schema.field("metadata");
  return metadata == nullptr || metadata->absent == Field::Absent::kAsItIs;
}

// [] or [{}]: the client wants to start anew. [] of a custom resource says nothing, as in the real server.
bool is_reset(const json::value* managed, bool custom) {
  const auto* list = managed == nullptr ? nullptr : managed->if_array();
  if (list == nullptr) return false;
  if (list->empty()) return !custom;
  const auto* only = list->size() == 1 ? list->front().if_object() : nullptr;
  return only != nullptr && only->empty();
}

ManagedEntries readable(std::expected<ManagedEntries, std::string> entries) {
  return entries ? *std::move(entries) : ManagedEntries();
}

// What the client sent counts, so that managedFields can be edited; a client that does not know them loses none.
// `next` is left without usable managedFields.
ManagedEntries entries_to_start_from(const json::object& live, json::object& next, const Schema& schema,
                                     const Writer& writer) {
  const json::value* of_live = managed_of(live);
  const json::value* of_next = managed_of(next);
  if (of_next != nullptr && of_live != nullptr && *of_next == *of_live)
    return readable(take_managed_entries(next.at("metadata").at("managedFields")));
  if (!writer.subresource.empty()) return readable(read_managed_entries(of_live));
  if (is_reset(of_next, is_custom(schema))) return {};
  if (of_next != nullptr) {
    auto entries = readable(read_managed_entries(of_next));
    if (!entries.empty()) {
      for (auto& entry : entries) entry.changed = true;
      return entries;
    }
  }
  return readable(read_managed_entries(of_live));
}

void set_managed(json::object& object, json::array entries) {
  json::value& metadata = object["metadata"];
  json::object* fields = metadata.if_object();
  if (fields == nullptr) fields = &metadata.emplace_object();
  if (!entries.empty())
    fields->insert_or_assign("managedFields", std::move(entries));
  else if (const auto at = fields->find("managedFields"); at != fields->end())
    fields->stable_erase(at);
}

bool has_uid(const json::object& object) {
  const json::value* metadata = object.if_contains("metadata");
  const json::object* fields = metadata == nullptr ? nullptr : metadata->if_object();
  const json::value* uid = fields == nullptr ? nullptr : fields->if_contains("uid");
  return uid != nullptr && uid->is_string() && !uid->get_string().empty();
}

void forget_unserved(ManagedEntries& entries, const Writer& writer) {
  if (writer.served_versions.empty()) return;
  std::erase_if(entries, [&writer](const ManagedEntry& entry) {
    return std::ranges::find(writer.served_versions, entry.api_version) == writer.served_versions.end();
  });
}

// The same but for a key.
bool same_but(const json::object& a, const json::object& b, std::string_view key) {
  const auto count = [key](const json::object& object) { return object.size() - (object.contains(key) ? 1 : 0); };
  if (count(a) != count(b)) return false;
  return std::ranges::all_of(a, [&b, key](const json::key_value_pair& field) {
    if (field.key() == key) return true;
    const json::value* other = b.if_contains(field.key());
    return other != nullptr && *other == field.value();
  });
}

bool same_but_times(const json::array& a, const json::array& b) {
  return std::ranges::equal(a, b, [](const json::value& x, const json::value& y) {
    return x.is_object() && y.is_object() && same_but(x.get_object(), y.get_object(), "time");
  });
}

bool same_but_managed(const json::object& a, const json::object& b) {
  const auto metadata = [](const json::object& object) {
    const json::value* value = object.if_contains("metadata");
    return value == nullptr ? nullptr : value->if_object();
  };
  return metadata(a) != nullptr && metadata(b) != nullptr && same_but(a, b, "metadata") &&
         same_but(*metadata(a), *metadata(b), "managedFields");
}

}  // namespace

void update_managed_fields(const json::object& live, json::object& next, const Schema& schema, const Writer& writer,
                           const json::object& reset_fields) {
  ManagedEntries entries = entries_to_start_from(live, next, schema, writer);
  set_managed(next, {});
  if (entries.empty() && has_uid(live)) return;  // nothing is tracked until somebody applies
  forget_unserved(entries, writer);
  // managedFields themselves show up as removed from the live object: nobody owns them
  const Comparison changes =
      live.empty() ? compare_typed(schema, zero_object(schema), next) : compare_typed(schema, live, next);
  if (record_update(entries, changes, writer, Limits(writer, reset_fields)))
    set_managed(next, write_managed_entries(std::move(entries)));
}

void keep_managed_times_if_unchanged(const json::object& live, json::object& next) {
  const json::value* old_value = managed_of(live);
  const json::array* old_entries = old_value == nullptr ? nullptr : old_value->if_array();
  const json::value* new_value = managed_of(next);
  const json::array* new_entries = new_value == nullptr ? nullptr : new_value->if_array();
  if (old_entries == nullptr || new_entries == nullptr || old_entries->size() != new_entries->size()) return;
  if (*old_entries == *new_entries || !same_but_times(*old_entries, *new_entries)) return;
  if (same_but_managed(live, next)) set_managed(next, *old_entries);
}

}  // namespace hookd::embedded
