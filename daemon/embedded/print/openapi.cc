#include "embedded/print/openapi.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "base/json_writer.h"
#include "embedded/schema/builtin.h"
#include "embedded/schema/openapi.h"

namespace hookd::embedded {

namespace {

constexpr std::string_view kPatch = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";

// FNV-1a; two of them make a name that no two documents of one server share.
std::string fingerprint(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string name;
  for (uint64_t seed : {0xcbf29ce484222325ULL, 0x84222325cbf29ce4ULL}) {
    for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    for (int shift = 60; shift >= 0; shift -= 4) name.push_back(kDigits[(seed >> shift) & 15U]);
  }
  return name;
}

void gvk(JsonWriter& out, const Resource& resource) {
  out.begin_object().key("group").string(resource.group).key("kind").string(resource.kind);
  out.key("version").string(resource.version).end_object();
}

void parameter(JsonWriter& out, OpenApiForm form, std::string_view name, std::string_view in, std::string_view type) {
  out.begin_object().key("name").string(name).key("in").string(in);
  if (in == "path") out.key("required").boolean(true);
  if (form == OpenApiForm::kV3) {
    out.key("schema").begin_object().key("type").string(type).key("uniqueItems").boolean(true).end_object();
  } else {
    out.key("type").string(type).key("uniqueItems").boolean(true);
  }
  out.end_object();
}

// Writes the paths of resources, as much of them as clients look at: which kind a path is of, what a patch may be, and
// that writes know fieldValidation and dryRun.
class Paths {
 public:
  Paths(JsonWriter& out, OpenApiForm form, OpenApiSchemas& schemas) : out_(out), form_(form), schemas_(schemas) {}

  void resource(const Resource& resource) {
    const std::string root = (resource.group.empty() ? "/api/" : "/apis/") + resource.api_version();
    const std::string collection = root + (resource.namespaced ? "/namespaces/{namespace}/" : "/") + resource.plural;
    if (resource.namespaced && !resource.create_only)
      path(resource, root + "/" + resource.plural, {{"get", "list"}}, false, false);
    std::vector<Verb> verbs;
    for (const Verb& verb : {Verb{"delete", "deletecollection"}, Verb{"get", "list"}, Verb{"post", "create"}}) {
      if (does(resource, verb.second)) verbs.push_back(verb);
    }
    path(resource, collection, verbs, resource.namespaced, false);
    verbs.clear();
    for (const Verb& verb :
         {Verb{"delete", "delete"}, Verb{"get", "get"}, Verb{"patch", "patch"}, Verb{"put", "update"}}) {
      if (does(resource, verb.second)) verbs.push_back(verb);
    }
    if (verbs.empty()) return;
    path(resource, collection + "/{name}", verbs, resource.namespaced, true);
    if (!resource.status) return;
    path(resource, collection + "/{name}/status", {{"get", "get"}, {"patch", "patch"}, {"put", "update"}},
         resource.namespaced, true);
  }

 private:
  using Verb = std::pair<std::string_view, std::string_view>;  // HTTP method, Kubernetes verb

  static bool does(const Resource& resource, std::string_view verb) {
    return std::find(resource.verbs.begin(), resource.verbs.end(), verb) != resource.verbs.end();
  }

  void path(const Resource& resource, std::string_view path, const std::vector<Verb>& verbs, bool namespaced,
            bool named) {
    if (verbs.empty()) return;
    out_.key(path).begin_object();
    for (const Verb& verb : verbs) operation(resource, verb);
    if (named || namespaced) {
      out_.key("parameters").begin_array();
      if (named) parameter(out_, form_, "name", "path", "string");
      if (namespaced) parameter(out_, form_, "namespace", "path", "string");
      out_.end_array();
    }
    out_.end_object();
  }

  void operation(const Resource& resource, const Verb& verb) {
    out_.key(verb.first).begin_object();
    const bool patch = verb.first == "patch", write = patch || verb.first == "put" || verb.first == "post";
    if (write) {
      out_.key("parameters").begin_array();
      for (const std::string_view name : {"dryRun", "fieldManager", "fieldValidation"}) {
        parameter(out_, form_, name, "query", "string");
      }
      if (patch) parameter(out_, form_, "force", "query", "boolean");
      out_.end_array();
    }
    if (patch) bodies(resource);
    responses();
    out_.key("x-kubernetes-action").string(verb.first);
    out_.key("x-kubernetes-group-version-kind");
    gvk(out_, resource);
    out_.end_object();
  }

  void bodies(const Resource& resource) {
    std::vector<std::string_view> types{"application/apply-patch+yaml", "application/json-patch+json",
                                        "application/merge-patch+json"};
    if (!resource.custom) types.emplace_back("application/strategic-merge-patch+json");
    if (form_ == OpenApiForm::kV2) {
      out_.key("consumes").begin_array();
      for (const std::string_view type : types) out_.string(type);
      out_.end_array();
      return;
    }
    out_.key("requestBody").begin_object().key("required").boolean(true).key("content").begin_object();
    for (const std::string_view type : types) {
      out_.key(type).begin_object().key("schema").begin_object();
      schemas_.refer(out_, kPatch);
      out_.end_object().end_object();
    }
    out_.end_object().end_object();
  }

  void responses() {
    out_.key("responses").begin_object().key("200").begin_object();
    out_.key("description").string("OK").end_object().end_object();
  }

  JsonWriter& out_;
  OpenApiForm form_;
  OpenApiSchemas& schemas_;
};

// "paths" and the types of `resources`.
void document(JsonWriter& out, OpenApiForm form, const std::vector<ResourcePtr>& resources) {
  OpenApiSchemas schemas(form);
  out.key("info").begin_object().key("title").string("Kubernetes").key("version").string("v1.36.3").end_object();
  out.key("paths").begin_object();
  Paths paths(out, form, schemas);
  for (const ResourcePtr& resource : resources) paths.resource(*resource);
  out.end_object();

  const bool v3 = form == OpenApiForm::kV3;
  if (v3) out.key("components").begin_object();
  out.key(v3 ? "schemas" : "definitions").begin_object();
  out.key(kPatch).begin_object().key("type").string("object").end_object();
  std::unordered_map<const Schema*, std::vector<const Resource*>> kinds;
  const auto extension = [&](const std::vector<const Resource*>& of) {
    out.key("x-kubernetes-group-version-kind").begin_array();
    for (const Resource* resource : of) gvk(out, *resource);
    out.end_array();
  };
  JsonWriter unused;
  for (const ResourcePtr& resource : resources) {
    if (resource->schema == nullptr) continue;
    if (!resource->schema->name.empty()) {
      kinds[resource->schema].push_back(resource.get());
      unused.begin_object();
      schemas.refer(unused, resource->schema->name, resource->schema);
      unused.end_object().text().clear();
      continue;
    }
    out.key(custom_type_name(resource->group, resource->version, resource->kind)).begin_object();
    schemas.content(out, *resource->schema);
    extension({resource.get()});
    out.end_object();
  }
  schemas.definitions(out, [&](const Schema& schema) {
    if (const auto found = kinds.find(&schema); found != kinds.end()) extension(found->second);
  });
  out.end_object();
  if (v3) out.end_object();
}

std::string whole_document(OpenApiForm form, const std::vector<ResourcePtr>& resources) {
  JsonWriter out;
  out.begin_object();
  out.key(form == OpenApiForm::kV3 ? "openapi" : "swagger").string(form == OpenApiForm::kV3 ? "3.0.0" : "2.0");
  document(out, form, resources);
  out.end_object();
  return std::move(out).take();
}

// "api/v1", "apis/apps/v1"
std::string path_of(const Resource& resource) {
  return (resource.group.empty() ? "api/" : "apis/") + resource.api_version();
}

std::vector<ResourcePtr> resources_of(const Registry& registry, std::string_view path) {
  std::vector<ResourcePtr> found;
  for (const ResourcePtr& resource : registry.all()) {
    if (path_of(*resource) == path) found.push_back(resource);
  }
  return found;
}

constexpr std::array<std::string_view, 3> kRoots{"api", "apis", "version"};  // without types

}  // namespace

void OpenApi::forget_if_changed() {
  if (changes_ == registry_.changes()) return;
  changes_ = registry_.changes();
  kept_.clear();
}

const OpenApi::Kept& OpenApi::keep(const std::string& key, std::string body) {
  std::string etag = '"' + fingerprint(body) + '"';
  return kept_.insert_or_assign(key, Kept{std::move(body), std::move(etag)}).first->second;
}

OpenApi::Document OpenApi::v2() {
  forget_if_changed();
  auto found = kept_.find("v2");
  const Kept& kept =
      found == kept_.end() ? keep("v2", whole_document(OpenApiForm::kV2, registry_.all())) : found->second;
  return {kept.body, kept.etag};
}

OpenApi::Document OpenApi::index() {
  forget_if_changed();
  if (const auto found = kept_.find(""); found != kept_.end()) return {found->second.body, found->second.etag};
  std::vector<std::string> paths(kRoots.begin(), kRoots.end());
  for (const ResourcePtr& resource : registry_.all()) paths.push_back(path_of(*resource));
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  JsonWriter out;
  out.begin_object().key("paths").begin_object();
  for (const std::string& path : paths) {
    out.key(path).begin_object();
    out.key("serverRelativeURL").string("/openapi/v3/" + path + "?hash=" + hash_of(path)).end_object();
  }
  out.end_object().end_object();
  const Kept& kept = keep("", std::move(out).take());
  return {kept.body, kept.etag};
}

// Clients keep a document for ever under its hash, so it must tell of every change; the built-in kinds' are as many as
// this program has tables, and need not be written for that.
std::string OpenApi::hash_of(const std::string& path) {
  std::string content = path + " " + std::string(builtin_table_version());
  for (const ResourcePtr& resource : resources_of(registry_, path)) {
    if (resource->custom) return fingerprint(v3(path)->body);
    content.append(" ").append(resource->plural);
  }
  return fingerprint(content);
}

std::optional<OpenApi::Document> OpenApi::v3(std::string_view path) {
  forget_if_changed();
  if (path.empty()) return std::nullopt;
  if (const auto found = kept_.find(path); found != kept_.end())
    return Document{found->second.body, found->second.etag};
  const std::vector<ResourcePtr> resources = resources_of(registry_, path);
  if (resources.empty() && std::find(kRoots.begin(), kRoots.end(), path) == kRoots.end()) return std::nullopt;
  const Kept& kept = keep(std::string(path), whole_document(OpenApiForm::kV3, resources));
  return Document{kept.body, kept.etag};
}

}  // namespace hookd::embedded
