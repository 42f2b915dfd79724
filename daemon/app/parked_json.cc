// A parked item as one JSON object, and back. See app/parking.h.
//
//   {"key":"pods./a/x","attempts":3,"error":"exit code 1","at":"2026-01-31T12:00:00.123456789Z","events":[
//     {"type":"Added","binding":"pods","resource":{"group":"","version":"v1","kind":"Pod","plural":"pods",…},
//      "object":{"namespace":"a","name":"x","uid":"…","resourceVersion":"5","text":"{…}"},"value":"…"}]}
#include "app/parking.h"
#include "base/json_field.h"
#include "base/json_read.h"
#include "base/json_writer.h"
#include "base/time.h"

namespace hookd::app {
namespace {

using boost::json::object;
using Text = std::shared_ptr<const std::string>;

void write_object(JsonWriter& out, std::string_view key, const cache::ObjectPtr& object) {
  if (!object) return;
  out.key(key).begin_object();
  if (!object->ns.empty()) out.key("namespace").string(object->ns);
  out.key("name").string(object->name);
  out.key("uid").string(object->uid);
  out.key("resourceVersion").string(object->resource_version);
  if (!object->text.empty()) out.key("text").string(object->text.unpack());
  out.end_object();
}

void write_text(JsonWriter& out, std::string_view key, const Text& text) {
  if (text) out.key(key).string(*text);
}

void write_event(JsonWriter& out, const hook::Event& event) {
  out.begin_object();
  out.key("type").string(to_string(event.type));
  out.key("binding").string(event.binding);
  if (event.resource) {
    out.key("resource").begin_object();
    out.key("group").string(event.resource->group);
    out.key("version").string(event.resource->version);
    out.key("kind").string(event.resource->kind);
    out.key("plural").string(event.resource->plural);
    out.key("singular").string(event.resource->singular);
    out.key("shortNames").begin_array();
    for (const std::string& name : event.resource->short_names) out.string(name);
    out.end_array();
    out.key("namespaced").boolean(event.resource->namespaced);
    out.end_object();
  }
  write_object(out, "object", event.object);
  write_object(out, "old", event.old);
  write_text(out, "value", event.value);
  write_text(out, "oldValue", event.old_value);
  write_text(out, "data", event.data);
  write_text(out, "oldData", event.old_data);
  if (event.final_state_unknown) out.key("finalStateUnknown").boolean(true);
  if (!event.coalesce) out.key("coalesce").boolean(false);
  out.end_object();
}

bool flag_at(const object& from, std::string_view key, bool otherwise) {
  const auto* value = from.if_contains(key);
  return value && value->is_bool() ? value->get_bool() : otherwise;
}

Text text_at(const object& from, std::string_view key) {
  return from.contains(key) ? std::make_shared<const std::string>(text_field(from, key)) : nullptr;
}

cache::ObjectPtr object_at(const object& from, std::string_view key) {
  const auto* value = from.if_contains(key);
  if (!value || !value->is_object()) return nullptr;
  auto read = std::make_shared<cache::Object>();
  read->ns = text_field(value->get_object(), "namespace");
  read->name = text_field(value->get_object(), "name");
  read->uid = text_field(value->get_object(), "uid");
  read->resource_version = text_field(value->get_object(), "resourceVersion");
  if (const std::string text = text_field(value->get_object(), "text"); !text.empty())
    read->text = cache::PackedText(text, nullptr);
  return read;
}

std::optional<hook::Event::Type> type_of(std::string_view name) {
  using Type = hook::Event::Type;
  for (const Type type : {Type::kAdded, Type::kModified, Type::kDeleted, Type::kSync, Type::kSchedule, Type::kStartup,
                          Type::kSource, Type::kReconcile})
    if (hook::to_string(type) == name) return type;
  return std::nullopt;
}

Result<hook::Event> read_event(const boost::json::value& json) {
  if (!json.is_object()) return fail(Errc::kDecode, "an event is no object");
  const object& from = json.get_object();
  const auto type = type_of(text_field(from, "type"));
  if (!type) return fail(Errc::kDecode, "an event has the type \"{}\"", text_field(from, "type"));
  hook::Event event;
  event.type = *type;
  event.binding = text_field(from, "binding");
  if (const auto* resource = from.if_contains("resource"); resource && resource->is_object()) {
    auto read = std::make_shared<kube::ResourceType>();
    const object& fields = resource->get_object();
    read->group = text_field(fields, "group");
    read->version = text_field(fields, "version");
    read->kind = text_field(fields, "kind");
    read->plural = text_field(fields, "plural");
    read->singular = text_field(fields, "singular");
    read->namespaced = flag_at(fields, "namespaced", true);
    if (const auto* names = fields.if_contains("shortNames"); names && names->is_array())
      for (const auto& name : names->get_array())
        if (name.is_string()) read->short_names.emplace_back(name.get_string());
    event.resource = std::move(read);
  }
  event.object = object_at(from, "object");
  event.old = object_at(from, "old");
  event.value = text_at(from, "value");
  event.old_value = text_at(from, "oldValue");
  event.data = text_at(from, "data");
  event.old_data = text_at(from, "oldData");
  event.final_state_unknown = flag_at(from, "finalStateUnknown", false);
  event.coalesce = flag_at(from, "coalesce", true);
  const bool about_object = *type == hook::Event::Type::kAdded || *type == hook::Event::Type::kModified ||
                            *type == hook::Event::Type::kDeleted;
  if (about_object && !event.object)
    return fail(Errc::kDecode, "an event of the type {} has no object", text_field(from, "type"));
  return event;
}

}  // namespace

std::string write_parked(const Parked& item) {
  JsonWriter out;
  out.begin_object();
  out.key("key").string(item.key);
  if (item.exclusive) out.key("exclusive").boolean(true);
  out.key("attempts").number(int64_t{item.attempts});
  out.key("error").string(item.error);
  out.key("at").string(format_rfc3339(item.at, 9));
  out.key("events").begin_array();
  for (const hook::Event& event : item.events) write_event(out, event);
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

Result<Parked> read_parked(std::string_view json) {
  HOOKD_TRY(const auto value, parse_json(json));
  if (!value.is_object()) return fail(Errc::kDecode, "it is no JSON object");
  const object& from = value.get_object();
  Parked item;
  item.key = text_field(from, "key");
  item.exclusive = flag_at(from, "exclusive", false);
  item.error = text_field(from, "error");
  if (const auto* attempts = from.if_contains("attempts"); attempts && attempts->is_int64())
    item.attempts = static_cast<int>(attempts->get_int64());
  if (const auto at = parse_rfc3339(text_field(from, "at"))) item.at = *at;
  const auto* events = from.if_contains("events");
  if (item.key.empty() || !events || !events->is_array() || events->get_array().empty())
    return fail(Errc::kDecode, "\"key\" and \"events\" were expected");
  for (const auto& event : events->get_array()) {
    HOOKD_TRY(auto read, read_event(event));
    item.events.push_back(std::move(read));
  }
  return item;
}

}  // namespace hookd::app
