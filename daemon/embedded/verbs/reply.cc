#include "embedded/verbs/reply.h"

#include <fmt/format.h>

#include "base/json_read.h"
#include "base/json_writer.h"
#include "embedded/print/table.h"
#include "embedded/resources/fields.h"
#include "embedded/verbs/decode_object.h"
#include "embedded/verbs/object.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {
namespace {

Answer<IncludeObject> include_object(const Request& request) {
  const auto value = request.parameter("includeObject");
  if (value.empty() || value == "Metadata") return IncludeObject::kMetadata;
  if (value == "Object") return IncludeObject::kObject;
  if (value == "None") return IncludeObject::kNone;
  return refuse(
      bad_request(fmt::format("Unable to convert to Table as requested: includeObject: Invalid value: {}: "
                              "must be 'Metadata', 'Object', 'None', or empty",
                              go_quote(value))));
}

std::string go_type_name(const Resource& resource, bool list) {
  if (resource.custom) return list ? "*unstructured.UnstructuredList" : "*unstructured.Unstructured";
  return "*" + internal_name(resource) + (list ? "List" : "");
}

std::string partial_text(std::string_view text, std::string_view meta_version) {
  const auto metadata = json_raw_at(text, {"metadata"});
  return fmt::format(R"({{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/{}","metadata":{}}})", meta_version,
                     metadata.value_or("{}"));
}

json::object table(const Media& media, const Resource& resource, std::span<const json::object> objects,
                   json::object metadata, const TableOptions& options) {
  auto out = table_of(resource, objects, std::move(metadata), options);
  if (media.meta_version != "v1") out["apiVersion"] = "meta.k8s.io/" + media.meta_version;
  return out;
}

}  // namespace

ReplyHead Reply::head(int status, std::string_view content_type) const {
  ReplyHead head{status, std::string(content_type), {}};
  for (const auto& text : warnings) head.headers.emplace_back("Warning", warning_header(text));
  return head;
}

void Reply::json(int status, std::string text, std::string_view content_type) {
  if (content_type == "application/json") {
    if (media.format == Format::kYaml) {
      if (const auto value = parse_text(text)) {
        sink->whole(head(status, "application/yaml"), to_yaml(*value));
        return;
      }
    }
    if (media.pretty) text = to_pretty(text);
  }
  sink->whole(head(status, content_type), std::move(text));
}

void Reply::object(int status, const boost::json::object& object) { json(status, to_text(object)); }

void Reply::error(const StatusError& error) {
  auto text = to_utf8(to_text(to_status(error)));  // a message may quote the path, or a header
  auto out = head(error.code, "application/json");
  if (const auto* seconds = error.details.if_contains("retryAfterSeconds"); seconds && seconds->is_number())
    out.headers.emplace_back("Retry-After", to_text(*seconds));
  if (media.format == Format::kYaml) {
    out.content_type = "application/yaml";
    text = to_utf8(to_yaml(to_status(error)));
  }
  sink->whole(std::move(out), std::move(text));
}

void Reply::plain(int status, std::string text) {
  auto out = head(status, "text/plain; charset=utf-8");
  out.headers.emplace_back("X-Content-Type-Options", "nosniff");
  sink->whole(std::move(out), std::move(text));
}

Answer<void> send_object(Reply& reply, int status, const Resource& resource, boost::json::object object, WallTime now) {
  const bool is_status = string_at(object, {"kind"}) == "Status" && string_at(object, {"apiVersion"}) == "v1";
  if (is_status || reply.media.shape == Shape::kObject) {
    reply.object(status, object);
    return {};
  }
  if (reply.media.shape == Shape::kMetadata) {
    reply.json(status, partial_text(to_text(object), reply.media.meta_version));
    return {};
  }
  if (reply.media.shape == Shape::kMetadataList)
    return refuse({406, "NotAcceptable",
                   fmt::format("you requested PartialObjectMetadataList, but the requested object is not a list ({})",
                               go_type_name(resource, false))});
  const auto include = include_object(reply.request);
  if (!include) return refuse(include.error());
  boost::json::object metadata;
  if (const auto version = string_at(object, {"metadata", "resourceVersion"}); !version.empty())
    metadata["resourceVersion"] = version;
  reply.object(status, table(reply.media, resource, std::span(&object, 1), std::move(metadata), {*include, now, true}));
  return {};
}

Answer<void> send_list(Reply& reply, const Resource& resource, std::span<const std::string_view> items,
                       boost::json::object metadata, WallTime now) {
  if (reply.media.shape == Shape::kMetadata)
    return refuse({406, "NotAcceptable",
                   fmt::format("you requested PartialObjectMetadata, but the requested object is a list ({})",
                               go_type_name(resource, true))});
  if (reply.media.shape == Shape::kTable) {
    const auto include = include_object(reply.request);
    if (!include) return refuse(include.error());
    std::vector<json::object> objects;
    objects.reserve(items.size());
    for (const auto item : items)
      if (auto value = parse_text(item); value && value->is_object()) objects.push_back(std::move(value->get_object()));
    reply.object(200, table(reply.media, resource, objects, std::move(metadata), {*include, now, true}));
    return {};
  }
  const bool partial = reply.media.shape == Shape::kMetadataList;
  std::string out;
  size_t size = 256;
  for (const auto item : items) size += item.size() + 1;
  if (!partial) out.reserve(size);
  out += R"({"kind":)";
  out += partial ? std::string("\"PartialObjectMetadataList\"") : json_string(resource.list_kind);
  out += R"(,"apiVersion":)";
  out += json_string(partial ? "meta.k8s.io/" + reply.media.meta_version : resource.api_version());
  if (resource.custom && !partial && !metadata.contains("continue")) metadata["continue"] = "";
  out += R"(,"metadata":)";
  append_text(out, metadata);
  out += R"(,"items":)";
  if (partial && items.empty()) {
    out += "null}";
  } else {
    out += '[';
    std::string buffer;
    bool first = true;
    for (const auto item : items) {
      if (!first) out += ',';
      first = false;
      if (partial)
        out += partial_text(item, reply.media.meta_version);
      else
        out += list_item(item, resource, buffer);
    }
    out += "]}";
  }
  reply.json(200, std::move(out));
  return {};
}

Answer<std::string> event_object(const Reply& reply, const Resource& resource, std::string_view text, bool headers,
                                 WallTime now) {
  switch (reply.media.shape) {
    case Shape::kObject:
      return std::string(text);
    case Shape::kMetadata:
    case Shape::kMetadataList:
      return partial_text(text, reply.media.meta_version);
    case Shape::kTable:
      break;
  }
  const auto include = include_object(reply.request);
  if (!include) return refuse(include.error());
  auto value = parse_text(text);
  if (!value || !value->is_object()) return refuse(internal_error("object cannot be read"));
  auto& object = value->get_object();
  boost::json::object metadata{{"resourceVersion", string_at(object, {"metadata", "resourceVersion"})}};
  return to_text(table(reply.media, resource, std::span(&object, 1), std::move(metadata), {*include, now, headers}));
}

}  // namespace hookd::embedded
