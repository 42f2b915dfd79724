#include "embedded/verbs/object.h"

#include <fmt/format.h>

#include <span>

#include "base/json_read.h"
#include "base/time.h"
#include "embedded/resources/convert.h"
#include "embedded/verbs/world.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {

std::string World::uuid() {
  const uint64_t high = random.bits(), low = random.bits();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xFFFF, high & 0xFFF,
                     0x8000 | ((low >> 48) & 0x3FFF), low & 0xFFFF'FFFF'FFFF);
}

std::string World::now_text() { return format_rfc3339(scheduler.wall_now()); }

About WriteCall::about() const { return {resource->group, resource->plural, resource->kind, name}; }

void WriteCall::warn(std::string text) const {
  if (!warnings || std::find(warnings->begin(), warnings->end(), text) != warnings->end()) return;
  warnings->push_back(std::move(text));
}

json::object& metadata_of(json::object& object) {
  auto& value = object["metadata"];
  if (!value.is_object()) value = json::object{};
  return value.get_object();
}

Answer<json::object> load(const Stored& stored, const Resource& resource) {
  auto value = parse_text(stored.text);
  if (!value || !value->is_object()) return refuse(internal_error("stored object cannot be read"));
  auto object = std::move(value->get_object());
  if (needs_conversion(resource))
    if (auto done = convert(object, resource, resource.api_version()); !done) return refuse(done.error());
  return object;
}

Answer<std::string> load_text(const Stored& stored, const Resource& resource) {
  if (!needs_conversion(resource)) return stored.text;
  return convert_text(stored.text, resource);
}

void order_keys(json::object& object) {
  static constexpr std::string_view kFirst[] = {"name",
                                                "generateName",
                                                "namespace",
                                                "selfLink",
                                                "uid",
                                                "resourceVersion",
                                                "generation",
                                                "creationTimestamp",
                                                "deletionTimestamp",
                                                "deletionGracePeriodSeconds",
                                                "labels",
                                                "annotations",
                                                "ownerReferences",
                                                "finalizers",
                                                "managedFields"};
  const auto ordered = [](json::object& from, std::span<const std::string_view> keys) {
    json::object out;
    out.reserve(from.size());
    for (const auto key : keys)
      if (auto* value = from.if_contains(key)) out.emplace(key, std::move(*value));
    for (auto& [key, value] : from)
      if (!out.contains(key)) out.emplace(key, std::move(value));
    from = std::move(out);
  };
  static constexpr std::string_view kTop[] = {"kind", "apiVersion", "metadata"};
  if (auto* metadata = object.if_contains("metadata"); metadata && metadata->is_object()) {
    if (!metadata->get_object().contains("resourceVersion")) metadata->get_object()["resourceVersion"] = "";
    ordered(metadata->get_object(), kFirst);
    auto& meta = metadata->get_object();
    if (meta["resourceVersion"] == json::value("")) meta.erase("resourceVersion");
  }
  ordered(object, kTop);
}

void set_revision(json::object& object, uint64_t revision) {
  metadata_of(object)["resourceVersion"] = std::to_string(revision);
}

Answer<Stored> to_stored(const json::object& object, const Resource& resource, uint64_t revision) {
  const json::object* source = &object;
  json::object converted;
  if (resource.api_version() != resource.storage_version) {
    converted = object;
    if (auto done = convert(converted, resource, resource.storage_version); !done) return refuse(done.error());
    source = &converted;
  }
  Stored stored;
  stored.ns = string_at(object, {"metadata", "namespace"});
  stored.name = string_at(object, {"metadata", "name"});
  stored.uid = string_at(object, {"metadata", "uid"});
  stored.revision = revision;
  auto& out = stored.text;
  out.reserve(1024);
  out += R"({"kind":)";
  append_text(out, json::value(resource.kind));
  out += R"(,"apiVersion":)";
  append_text(out, json::value(resource.storage_version));
  out += R"(,"metadata":)";
  auto metadata = object_at(*source, {"metadata"});
  metadata["resourceVersion"] = std::to_string(revision);
  append_text(out, metadata);
  for (const auto& [key, value] : *source) {
    if (key == "kind" || key == "apiVersion" || key == "metadata") continue;
    out += ',';
    append_text(out, json::value(key));
    out += ':';
    append_text(out, value);
  }
  out += '}';
  out.shrink_to_fit();
  return stored;
}

Answer<void> pass_through_storage(json::object& object, const Resource& resource) {
  if (!resource.custom || resource.api_version() == resource.storage_version) return {};
  if (auto done = convert(object, resource, resource.storage_version); !done) return done;
  return convert(object, resource, resource.api_version());
}

std::string with_revision(const std::string& text, uint64_t revision) {
  const auto raw = json_raw_at(text, {"metadata", "resourceVersion"});
  if (!raw) return text;
  std::string out;
  out.reserve(text.size() + 8);
  out.append(text.data(), raw->data());
  out += fmt::format("\"{}\"", revision);
  out.append(raw->data() + raw->size(), text.data() + text.size());
  return out;
}

std::string_view list_item(std::string_view text, const Resource& resource, std::string& buffer) {
  if (resource.custom) return text;  // these keep their type
  const auto head = fmt::format(R"({{"kind":"{}","apiVersion":"{}",)", resource.kind, resource.api_version());
  if (text.starts_with(head)) {
    buffer.assign("{").append(text.substr(head.size()));
    return buffer;
  }
  auto value = parse_text(text);
  if (!value || !value->is_object()) return text;
  value->get_object().erase("kind");
  value->get_object().erase("apiVersion");
  buffer = to_text(*value);
  return buffer;
}

}  // namespace hookd::embedded
