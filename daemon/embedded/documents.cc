// Paths that are no resources.
#include <fmt/format.h>

#include "embedded/print/discovery.h"
#include "embedded/resources/fields.h"
#include "embedded/server_state.h"
#include "embedded/wire/body.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {
namespace {

// "v2" | "v2beta1" if the client takes aggregated discovery, "" if not.
std::string_view aggregated(std::string_view accept) {
  while (!accept.empty()) {
    const auto comma = accept.find(',');
    const auto part = accept.substr(0, comma);
    accept = comma == std::string_view::npos ? std::string_view{} : accept.substr(comma + 1);
    const auto has = [&](std::string_view text) { return part.find(text) != std::string_view::npos; };
    if (!has("application/json")) continue;
    if (!has("as=APIGroupDiscoveryList")) return "";  // plain JSON is liked better
    if (has("v=v2beta1")) return "v2beta1";
    if (has("v=v2")) return "v2";
  }
  return "";
}

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> out;
  while (!path.empty()) {
    if (path.front() == '/') {
      path.remove_prefix(1);
      continue;
    }
    const auto slash = path.find('/');
    out.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash);
  }
  return out;
}

void openapi(const OpenApi::Document& document, Reply& reply, std::string_view type = "application/json") {
  auto head = reply.head(200, type);
  head.headers.emplace_back("Etag", std::string(document.etag));
  head.headers.emplace_back("Vary", "Accept");
  if (!document.etag.empty() && reply.request.header("if-none-match") == document.etag) {
    head.status = 304;
    reply.sink->whole(std::move(head), "");
    return;
  }
  reply.sink->whole(std::move(head), std::string(document.body));
}

bool health(const std::vector<std::string>& parts, Reply& reply) {
  if (parts.size() > 1 && parts[1] != "ping" && parts[1] != "etcd" && parts[1] != "log") return false;
  if (parts.size() == 1 && reply.request.has_parameter("verbose"))
    reply.plain(200, fmt::format("[+]ping ok\n[+]log ok\n[+]etcd ok\n{} check passed\n", parts[0]));
  else
    reply.plain(200, "ok");
  return true;
}

// For tests: what goes wrong from now on, and the end of history.
bool hookd_path(ApiServer::State& state, const std::vector<std::string>& parts, Reply& reply) {
  const auto& request = reply.request;
  if (parts.size() != 2) return false;
  const auto body = [&]() -> Answer<json::value> {
    if (request.body.empty()) return json::value(json::object{});
    auto value = parse_text(request.body);
    if (!value) return refuse(bad_request(value.error()));
    return *std::move(value);
  };
  if (parts[1] == "compact" && request.method == "POST") {
    const auto value = body();
    if (!value || !value->is_object()) {
      reply.error(value ? bad_request("an object was expected") : value.error());
      return true;
    }
    state.world.store.compact(state.world.store.revision());
    if (bool_at(value->get_object(), {"cutWatches"})) state.cut_watches();
    reply.object(200, {{"revision", state.world.store.revision()}});
    return true;
  }
  if (parts[1] != "faults") return false;
  if (request.method == "POST") {
    auto value = body();
    if (value && value->is_object()) value = json::value(json::array{*value});
    if (!value || !value->is_array()) {
      reply.error(value ? bad_request("a fault or a list of faults was expected") : value.error());
      return true;
    }
    std::vector<Fault> read;
    for (const auto& one : value->get_array()) {
      auto fault = one.is_object() ? Faults::from_json(one.get_object())
                                   : Answer<Fault>(refuse(bad_request("fault: an object was expected")));
      if (!fault) {
        reply.error(fault.error());
        return true;
      }
      read.push_back(*std::move(fault));
    }
    for (auto& fault : read) state.faults.add(std::move(fault));
  } else if (request.method == "DELETE") {
    state.faults.clear();
  } else if (request.method != "GET") {
    reply.error(method_not_allowed());
    return true;
  }
  json::array all;
  for (const auto& fault : state.faults.all()) {
    json::object shown;
    const auto put = [&](std::string_view key, const auto& value) {
      if (value != std::remove_cvref_t<decltype(value)>{}) shown[key] = value;
    };
    put("method", fault.method);
    put("path", fault.path);
    put("verb", fault.verb);
    put("resource", fault.resource);
    put("namespace", fault.ns);
    put("name", fault.name);
    shown["times"] = fault.times;
    put("latencyMilliseconds", std::chrono::duration_cast<std::chrono::milliseconds>(fault.latency).count());
    put("status", fault.status);
    put("retryAfterSeconds", fault.retry_after_seconds);
    put("cut", fault.cut);
    put("applyThenCut", fault.apply_then_cut);
    put("noBookmarks", fault.no_bookmarks);
    put("silent", fault.silent);
    all.push_back(std::move(shown));
  }
  reply.object(200, {{"faults", std::move(all)}});
  return true;
}

std::string metrics(const World& world) {
  std::string out =
      "# HELP apiserver_storage_objects Number of stored objects by kind.\n"
      "# TYPE apiserver_storage_objects gauge\n";
  for (const auto& key : world.store.storage_keys())
    out += fmt::format("apiserver_storage_objects{{resource=\"{}\"}} {}\n", key, world.store.count(key));
  out += fmt::format(
      "# HELP hookd_embedded_revision Resource version of the newest change.\n"
      "# TYPE hookd_embedded_revision counter\nhookd_embedded_revision {}\n",
      world.store.revision());
  return out;
}

json::object root_paths(const Registry& registry) {
  std::vector<std::string> paths{"/api", "/api/v1", "/apis"};
  for (const auto& resource : registry.all()) {
    if (resource->group.empty()) continue;
    for (auto path : {"/apis/" + resource->group, "/apis/" + resource->group + "/" + resource->version})
      if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(std::move(path));
  }
  for (const auto* path : {"/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version"})
    paths.emplace_back(path);
  json::array out;
  for (auto& path : paths) out.emplace_back(std::move(path));
  return {{"paths", std::move(out)}};
}

}  // namespace

bool serve_document(ApiServer::State& state, const Request& request, const Target& target,
                    const std::shared_ptr<ReplySink>& sink) {
  Reply reply{request, sink};
  const auto parts = parts_of(target.path);
  if (!parts.empty() && parts[0] == "hookd") return hookd_path(state, parts, reply);
  const std::string_view first = parts.empty() ? std::string_view{} : std::string_view(parts[0]);
  if (first == "healthz" || first == "livez" || first == "readyz") return health(parts, reply);
  auto& world = state.world;
  const bool api = first == "api" || first == "apis" || first == "openapi" || first == "version";
  if (api && request.method != "GET" && request.method != "HEAD") {
    reply.error(method_not_allowed());
    return true;
  }
  const bool root = parts.size() == 1 && (first == "api" || first == "apis");
  const auto discovery = root ? aggregated(request.header("accept")) : std::string_view{};
  if (api && first != "openapi" && discovery.empty()) {
    const auto media = accepted(request, false, false);
    if (!media) {
      reply.error(media.error());
      return true;
    }
    reply.media = *media;
    reply.media.shape = Shape::kObject;
  }
  if (parts.empty()) {
    reply.object(200, root_paths(world.registry));
    return true;
  }
  if (first == "version" && parts.size() == 1) {
    reply.object(200, version_info());
    return true;
  }
  if (first == "metrics" && parts.size() == 1) {
    reply.plain(200, metrics(world));
    return true;
  }
  if (root) {
    if (!discovery.empty()) {
      auto head = reply.head(200, aggregated_discovery_type(discovery));
      head.headers.emplace_back("Vary", "Accept");
      head.headers.emplace_back("Cache-Control", "public");
      sink->whole(std::move(head), to_text(aggregated_discovery(world.registry, first == "api", discovery)));
    } else {
      reply.object(200, first == "api" ? api_versions(request.header("host")) : api_group_list(world.registry));
    }
    return true;
  }
  std::optional<json::object> document;
  if (first == "api" && parts.size() == 2 && parts[1] == "v1")
    document = api_resource_list(world.registry, "", "v1");
  else if (first == "apis" && parts.size() == 2)
    document = api_group(world.registry, parts[1]);
  else if (first == "apis" && parts.size() == 3)
    document = api_resource_list(world.registry, parts[1], parts[2]);
  if (document) {
    reply.object(200, *document);
    return true;
  }
  if (first == "openapi" && parts.size() >= 2) {
    // kubectl wants v2 in protobuf, after v3 has not known a kind. It lives with a document that knows no kind either;
    // old ones then check nothing by themselves.
    if (parts[1] == "v2" && parts.size() == 2 &&
        request.header("accept").find("openapi.spec.v2") != std::string::npos) {
      constexpr std::string_view kDocument =
          "\x0a\x03"
          "2.0";  // field 1, swagger
      openapi({kDocument, ""}, reply, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
      return true;
    }
    if (!accepts(request.header("accept"), "application/json")) {
      reply.error(not_acceptable("application/json"));
      return true;
    }
    if (parts[1] == "v2" && parts.size() == 2) {
      openapi(world.openapi.v2(), reply);
      return true;
    }
    if (parts[1] == "v3") {
      if (parts.size() == 2) {
        openapi(world.openapi.index(), reply, "text/plain; charset=utf-8");  // JSON by another name, as upstream
        return true;
      }
      std::string path;
      for (size_t i = 2; i < parts.size(); ++i) path += (i > 2 ? "/" : "") + parts[i];
      if (const auto found = world.openapi.v3(path)) {
        openapi(*found, reply);
        return true;
      }
    }
  }
  return false;
}

}  // namespace hookd::embedded
