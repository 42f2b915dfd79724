// A store with the built-in kinds and a Writer that works on it as the verbs do, as far as control loops can tell.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "embedded/control/context.h"
#include "embedded/resources/crd_strategy.h"
#include "embedded/resources/fields.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded::control {

inline json::object object_of(std::string_view text) { return json::parse(text).as_object(); }

class World final : public Writer {
 public:
  World() {
    for (auto [group, kind, plural, namespaced] : {std::tuple{"", "Namespace", "namespaces", false},
                                                   {"", "Node", "nodes", false},
                                                   {"", "Pod", "pods", true},
                                                   {"", "ConfigMap", "configmaps", true},
                                                   {"", "ServiceAccount", "serviceaccounts", true},
                                                   {"", "Event", "events", true},
                                                   {"apps", "Deployment", "deployments", true},
                                                   {"apps", "ReplicaSet", "replicasets", true},
                                                   {"batch", "Job", "jobs", true},
                                                   {"policy", "PodDisruptionBudget", "poddisruptionbudgets", true}}) {
      Resource resource;
      resource.group = group;
      resource.version = "v1";
      resource.kind = kind;
      resource.plural = plural;
      resource.namespaced = namespaced;
      resource.verbs = {"create", "delete", "get", "list", "patch", "update", "watch"};
      resource.strategy = &strategy_;
      resource.storage_key = resource.group.empty() ? resource.plural : resource.plural + "." + resource.group;
      resource.storage_version = resource.api_version();
      if (resource.group == "apps") resource.scale = ScalePaths{".spec.replicas", ".status.replicas", ""};
      registry.add(std::move(resource));
    }
  }

  Context context() { return {scheduler, store, registry, *this}; }

  // What a client does. `uid` is "uid-" and the name unless told.
  void put(std::string_view key, json::object object) {
    json::object& metadata = ensure_object(object, {"metadata"});
    const std::string name(string_at(metadata, {"name"})), ns(string_at(metadata, {"namespace"}));
    if (!has(metadata, {"uid"})) metadata["uid"] = "uid-" + name;
    store_object(key, ns, name, std::move(object));
  }
  void put(std::string_view key, std::string_view text) { put(key, object_of(text)); }
  void mark_ending(std::string_view key, std::string_view ns, std::string_view name, std::string_view finalizer = "") {
    json::object object = get(key, ns, name);
    json::object& metadata = object["metadata"].as_object();
    metadata["deletionTimestamp"] = now_text(scheduler);
    if (!finalizer.empty()) {
      if (!metadata.contains("finalizers")) metadata["finalizers"] = json::array();
      metadata["finalizers"].as_array().push_back(json::value(finalizer));
    }
    store_object(key, ns, name, std::move(object));
  }
  void take(std::string_view key, std::string_view ns, std::string_view name) {
    const StoredPtr stored = store.get(key, ns, name);
    if (stored) store.remove(key, ns, name, stored->text);
  }
  json::object get(std::string_view key, std::string_view ns, std::string_view name) {
    return load(store, key, ns, name).value_or(json::object{});
  }
  bool exists(std::string_view key, std::string_view ns, std::string_view name) {
    return store.get(key, ns, name) != nullptr;
  }

  // Writer. Every write is noted: "delete pods a/b Background".
  Answer<void> create(std::string_view key, json::object object, std::string_view manager) override {
    const std::string ns(string_at(object, {"metadata", "namespace"})), name(string_at(object, {"metadata", "name"}));
    writes.push_back(fmt::format("create {} {}/{} by {}", key, ns, name, manager));
    if (exists(key, ns, name)) return refuse(already_exists({"", std::string(key), "", name}));
    put(key, std::move(object));
    return {};
  }

  Answer<void> remove(const Target& target, const DeleteChoice& choice) override {
    static constexpr std::string_view kNames[] = {"Default", "Background", "Foreground", "Orphan"};
    writes.push_back(fmt::format("delete {} {}/{} {}", target.storage_key, target.ns, target.name,
                                 kNames[static_cast<size_t>(choice.propagation)]));
    if (fail_deletes) return refuse(internal_error("no deletes today"));
    json::object object = get(target.storage_key, target.ns, target.name);
    if (object.empty()) return refuse(not_found({"", target.storage_key, "", target.name}));
    if (!target.uid.empty() && string_at(object, {"metadata", "uid"}) != target.uid)
      return refuse(conflict({"", target.storage_key, "", target.name}, "another uid"));
    json::object& metadata = object["metadata"].as_object();
    if (choice.propagation == Propagation::kForeground || choice.propagation == Propagation::kOrphan) {
      if (!metadata.contains("finalizers")) metadata["finalizers"] = json::array();
      const char* name = choice.propagation == Propagation::kForeground ? "foregroundDeletion" : "orphan";
      json::array& list = metadata["finalizers"].as_array();
      if (std::ranges::find(list, json::value(name)) == list.end()) list.push_back(json::value(name));
    }
    const bool graceful = target.storage_key == "pods" && has(object, {"spec", "nodeName"});
    if (!graceful && array_at(metadata, {"finalizers"}).empty()) {
      take(target.storage_key, target.ns, target.name);
      return {};
    }
    if (!has(metadata, {"deletionTimestamp"})) metadata["deletionTimestamp"] = now_text(scheduler);
    store_object(target.storage_key, target.ns, target.name, std::move(object));
    return {};
  }

  Answer<void> update(const Target& target, std::string_view subresource, std::string_view manager,
                      const Edit& edit) override {
    json::object object = get(target.storage_key, target.ns, target.name);
    if (object.empty()) return refuse(not_found({"", target.storage_key, "", target.name}));
    if (!target.uid.empty() && string_at(object, {"metadata", "uid"}) != target.uid)
      return refuse(conflict({"", target.storage_key, "", target.name}, "another uid"));
    if (!edit(object)) return {};
    writes.push_back(fmt::format("update {} {}/{}{}{} by {}", target.storage_key, target.ns, target.name,
                                 subresource.empty() ? "" : " ", subresource, manager));
    const bool held = !array_at(object, {"metadata", "finalizers"}).empty() ||
                      (target.storage_key == "namespaces" && !array_at(object, {"spec", "finalizers"}).empty()) ||
                      (target.storage_key == "pods" && has(object, {"spec", "nodeName"}));
    if (has(object, {"metadata", "deletionTimestamp"}) && !held) {
      take(target.storage_key, target.ns, target.name);
      return {};
    }
    store_object(target.storage_key, target.ns, target.name, std::move(object));
    return {};
  }

  ManualScheduler scheduler;
  Store store{scheduler};
  Registry registry;
  std::vector<std::string> writes;
  bool fail_deletes = false;

 private:
  void store_object(std::string_view key, std::string_view ns, std::string_view name, json::object object) {
    object["metadata"].as_object()["resourceVersion"] = std::to_string(store.next_revision());
    Stored stored{std::string(ns), std::string(name), std::string(string_at(object, {"metadata", "uid"})),
                  store.next_revision(), to_text(object)};
    store.put(key, std::move(stored));
  }
  Strategy strategy_;
};

}  // namespace hookd::embedded::control
