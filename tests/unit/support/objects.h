// Small Kubernetes objects and types for tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cache/object.h"
#include "kube/resource_type.h"

namespace hookd::test {

inline kube::ResourceType make_type(std::string group, std::string kind, std::string plural, bool namespaced = true,
                                    std::vector<std::string> short_names = {}) {
  kube::ResourceType type;
  type.group = std::move(group);
  type.version = "v1";
  type.kind = std::move(kind);
  type.plural = std::move(plural);
  type.singular = type.plural.substr(0, type.plural.size() - 1);
  type.short_names = std::move(short_names);
  type.namespaced = namespaced;
  type.verbs = {"get", "list", "watch", "create", "update", "patch", "delete"};
  type.subresources = {"status", "scale", "eviction"};
  return type;
}
inline kube::ResourceType pods() { return make_type("", "Pod", "pods", true, {"po"}); }
inline kube::ResourceType nodes() { return make_type("", "Node", "nodes", false, {"no"}); }
inline kube::ResourceType namespaces() { return make_type("", "Namespace", "namespaces", false, {"ns"}); }
inline kube::ResourceType deployments() { return make_type("apps", "Deployment", "deployments", true, {"deploy"}); }

// {"apiVersion":…,"kind":…,"metadata":{name, namespace, uid, META},MORE}; META and MORE are members as JSON text.
inline std::string object_json(const kube::ResourceType& type, std::string_view ns, std::string_view name,
                               std::string_view uid, std::string_view meta = "", std::string_view more = "") {
  std::string text =
      fmt::format(R"({{"apiVersion":"{}","kind":"{}","metadata":{{"name":"{}")", type.api_version(), type.kind, name);
  if (!ns.empty()) text += fmt::format(R"(,"namespace":"{}")", ns);
  text += fmt::format(R"(,"uid":"{}")", uid);
  if (!meta.empty()) text += fmt::format(",{}", meta);
  text += "}";
  if (!more.empty()) text += fmt::format(",{}", more);
  return text + "}";
}

// An object in memory; without text only its identity is kept.
inline cache::ObjectPtr make_object(std::string ns, std::string name, std::string uid, std::string version,
                                    std::string_view text = "") {
  auto object = std::make_shared<cache::Object>();
  object->ns = std::move(ns);
  object->name = std::move(name);
  object->uid = std::move(uid);
  object->resource_version = std::move(version);
  if (!text.empty()) object->text = cache::PackedText(text, nullptr);
  return object;
}

}  // namespace hookd::test
