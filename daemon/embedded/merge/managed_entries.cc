#include "embedded/merge/managed_entries.h"

#include <algorithm>
#include <tuple>

#include "base/json_field.h"
#include "base/time.h"
#include "embedded/wire/status.h"

namespace hookd::embedded {

namespace {

// In UTC with seconds, as the server writes it; "" for what is no time.
std::string normal_time(const std::string& text) {
  if (text.empty() || (text.size() == 20 && text.back() == 'Z')) return text;
  const auto time = parse_rfc3339(text);
  return time ? format_rfc3339(*time) : std::string();
}

}  // namespace

std::string ManagedEntry::owner_text() const {
  json::object out;
  if (!manager.empty()) out["manager"] = manager;
  out["operation"] = applied ? "Apply" : "Update";
  if (!applied) out["apiVersion"] = api_version;
  if (!subresource.empty()) out["subresource"] = subresource;
  return json::serialize(out);
}

std::string ManagedEntry::people_text() const {
  std::string out = go_quote(manager);
  if (!subresource.empty()) out += " with subresource " + go_quote(subresource);
  if (!applied) out += " using " + api_version;
  return out;
}

namespace {

// Where Value is not const, the sets' objects are moved away.
template <class Value>
std::expected<ManagedEntries, std::string> read_entries(Value* managed_fields) {
  ManagedEntries out;
  if (managed_fields == nullptr || managed_fields->is_null()) return out;
  auto* list = managed_fields->if_array();
  if (list == nullptr) return std::unexpected("managedFields is no list");
  out.reserve(list->size());
  for (auto& item : *list) {
    auto* object = item.if_object();
    if (object == nullptr) return std::unexpected("managedFields has an entry that is no object");
    ManagedEntry entry;
    const std::string operation = text_field(*object, "operation");
    if (operation != "Apply" && operation != "Update") return std::unexpected("operation must be `Apply` or `Update`");
    entry.applied = operation == "Apply";
    entry.api_version = text_field(*object, "apiVersion");
    if (entry.api_version.empty()) return std::unexpected("apiVersion must not be empty");
    const std::string type = text_field(*object, "fieldsType");
    const std::string index = std::to_string(&item - list->data());
    if (type.empty()) return std::unexpected("missing fieldsType in managed fields entry " + index);
    if (type != "FieldsV1")
      return std::unexpected("invalid fieldsType " + go_quote(type) + " in managed fields entry " + index);
    entry.manager = text_field(*object, "manager");
    entry.subresource = text_field(*object, "subresource");
    entry.time = normal_time(text_field(*object, "time"));
    if (auto* fields = object->if_contains("fieldsV1"); fields != nullptr && !fields->is_null()) {
      auto set = parse_field_set(*fields);
      if (!set) return std::unexpected("error decoding set in managed fields entry " + index);
      entry.set = *std::move(set);
      entry.changed = false;
      entry.fields_v1 = std::move(fields->get_object());  // a copy, where it is const
    }
    if (ManagedEntry* same = find_owner(out, entry))
      *same = std::move(entry);
    else
      out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace

std::expected<ManagedEntries, std::string> read_managed_entries(const json::value* managed_fields) {
  return read_entries(managed_fields);
}

std::expected<ManagedEntries, std::string> take_managed_entries(json::value& managed_fields) {
  return read_entries(&managed_fields);
}

json::array write_managed_entries(ManagedEntries entries) {
  std::ranges::sort(entries, [](const ManagedEntry& a, const ManagedEntry& b) {
    if (a.applied != b.applied) return a.applied;
    return std::tie(a.time, a.manager, a.api_version, a.subresource) <
           std::tie(b.time, b.manager, b.api_version, b.subresource);
  });
  json::array out;
  out.reserve(entries.size());
  for (auto& entry : entries) {
    json::object object;
    object.reserve(7);
    if (!entry.manager.empty()) object.emplace("manager", entry.manager);
    object.emplace("operation", entry.applied ? "Apply" : "Update");
    object.emplace("apiVersion", entry.api_version);
    if (!entry.time.empty()) object.emplace("time", entry.time);
    object.emplace("fieldsType", "FieldsV1");
    object.emplace("fieldsV1", entry.changed ? to_fields_v1(entry.set) : std::move(entry.fields_v1));
    if (!entry.subresource.empty()) object.emplace("subresource", entry.subresource);
    out.push_back(std::move(object));
  }
  return out;
}

ManagedEntry* find_owner(ManagedEntries& entries, const ManagedEntry& owner) {
  const auto at =
      std::ranges::find_if(entries, [&owner](const ManagedEntry& entry) { return entry.same_owner(owner); });
  return at == entries.end() ? nullptr : &*at;
}

}  // namespace hookd::embedded
