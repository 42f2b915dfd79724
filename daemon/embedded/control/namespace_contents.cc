#include "embedded/control/namespace_contents.h"

#include "embedded/resources/fields.h"

namespace hookd::embedded::control {

namespace {

constexpr std::string_view kAccount = "default";
constexpr std::string_view kRootCa = "kube-root-ca.crt";
constexpr std::string_view kAnnotation = "kubernetes.io/description";
constexpr std::string_view kDescription =
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters.";

}  // namespace

NamespaceContents::NamespaceContents(const Context& context, Wanted wanted)
    : context_(context),
      wanted_(std::move(wanted)),
      queue_(context.scheduler, [this](const std::string& ns) { sync(ns); }) {
  events_ = context_.store.subscribe("", [this](const StoreEvent& event) { on_event(event); });
  context_.store.scan("namespaces", "", "", [this](const StoredPtr& stored) {
    queue_.add(stored->name);
    return true;
  });
}

void NamespaceContents::on_event(const StoreEvent& event) {
  const Stored& stored = *event.object;
  const bool deleted = event.type == StoreEvent::Type::kDeleted;
  if (event.storage_key == "namespaces" && !deleted) return queue_.add(stored.name);
  if (event.storage_key == "serviceaccounts" && deleted && stored.name == kAccount) return queue_.add(stored.ns);
  if (event.storage_key == "configmaps" && event.type != StoreEvent::Type::kAdded && stored.name == kRootCa)
    queue_.add(stored.ns);
}

void NamespaceContents::sync(const std::string& ns) {
  const auto found = load(context_.store, "namespaces", "", ns);
  if (!found || has(*found, {"metadata", "deletionTimestamp"}) ||
      string_at(*found, {"status", "phase"}) == "Terminating")
    return;
  if (wanted_.service_account && !context_.store.get("serviceaccounts", ns, kAccount)) {
    json::object account{
        {"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", kAccount}, {"namespace", ns}}}};
    if (const auto done = context_.writer.create("serviceaccounts", std::move(account), kManager); !done)
      tell("service accounts", {"serviceaccounts", ns, std::string(kAccount)}, done.error());
  }
  if (wanted_.root_ca) publish_root_ca(ns);
}

void NamespaceContents::publish_root_ca(const std::string& ns) {
  const Target target{"configmaps", ns, std::string(kRootCa)};
  const json::object data{{"ca.crt", wanted_.ca_certificate}};
  const auto found = load(context_.store, target.storage_key, ns, kRootCa);
  if (!found) {
    json::object map{
        {"apiVersion", "v1"},
        {"kind", "ConfigMap"},
        {"metadata", {{"name", kRootCa}, {"namespace", ns}, {"annotations", {{kAnnotation, kDescription}}}}},
        {"data", data}};
    if (const auto done = context_.writer.create(target.storage_key, std::move(map), kManager); !done)
      tell("root CA", target, done.error());
    return;
  }
  if (has(*found, {"metadata", "deletionTimestamp"})) return;
  if (same(object_at(*found, {"data"}), data) && !string_at(*found, {"metadata", "annotations", kAnnotation}).empty())
    return;
  const auto done = context_.writer.update(target, "", kManager, [&](json::object& object) {
    object["data"] = data;
    ensure_object(object, {"metadata", "annotations"})[kAnnotation] = kDescription;
    return true;
  });
  if (!done) tell("root CA", target, done.error());
}

}  // namespace hookd::embedded::control
