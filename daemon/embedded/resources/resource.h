// One served kind in one version, and what is special about it. Thread: loop only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/scheduler.h"
#include "embedded/schema/schema.h"
#include "embedded/wire/status.h"

namespace hookd::embedded {

struct ScalePaths {  // of a CRD's scale subresource, as JSON paths ".spec.replicas"; built-in kinds use the same
  std::string spec_replicas, status_replicas, label_selector;  // label_selector "" = none
};

struct PrinterColumn {
  std::string name, type, format, description, json_path;  // json_path ".spec.x" for CRDs, "" = computed (print/)
  int priority = 0;                                        // > 0: only in wide
};

// Other objects, as a strategy may need them (the IPs that services have, a pod's priority class). `storage_key` as
// Resource::storage_key; texts are in the storage version and valid during the call.
class Lookup {
 public:
  virtual ~Lookup() = default;
  virtual std::optional<std::string> find(std::string_view storage_key, std::string_view ns,
                                          std::string_view name) const = 0;
  // `ns` "" = every namespace; `visit` returns false to stop.
  virtual void each(std::string_view storage_key, std::string_view ns,
                    const std::function<bool(std::string_view text)>& visit) const = 0;
};

// What a strategy may look at besides the object.
struct WriteContext {
  Scheduler& scheduler;
  Random& random;
  bool dry_run = false;
  std::string user;
  std::string subresource;
  const Lookup* lookup = nullptr;     // null = nothing else exists
  std::vector<std::string> groups{};  // of the user
};

struct Resource;

// The behaviour of a kind; every function may be empty. Objects are whole (apiVersion, kind, metadata, ...), in the
// version of the request. Order on create: defaults, admit, prepare_create, validate_metadata (metadata.h), validate.
// On update: defaults, admit_update, prepare_update(next, live), validate_metadata_update, validate,
// validate_update(next, live); of the status subresource: validate_status in place of the last two. prepare_* see
// subresource in the context ("" = the resource itself); dropping status (before prepare_create, which may set one),
// keeping spec and counting the generation are the verbs' part by Resource::status and `generation`. metadata.uid, name
// and creationTimestamp are set before prepare_create.
struct Strategy {
  std::function<void(json::object& object)> defaults;  // beyond the schema's; also run on what a patch made
  // What the real server's admission plugins do: may fill fields, may refuse (403 with its reason).
  std::function<Answer<void>(json::object& object, const WriteContext&)> admit;
  std::function<Answer<void>(json::object& next, const json::object& live, const WriteContext&)> admit_update;
  // May an object go? E.g. the namespaces that stay for ever.
  std::function<Answer<void>(const json::object& live, const WriteContext&)> admit_delete;
  std::function<void(json::object& object, const WriteContext&)> prepare_create;
  std::function<void(json::object& next, const json::object& live, const WriteContext&)> prepare_update;
  std::function<void(const json::object& object, FieldErrors& errors)> validate;
  std::function<void(const json::object& next, const json::object& live, FieldErrors& errors)> validate_update;
  std::function<void(const json::object& next, const json::object& live, FieldErrors& errors)> validate_status;
  // In place of validate_update for the other subresources that change an object ("ephemeralcontainers", "resize"):
  // prepare_update() has kept everything else.
  std::map<std::string, std::function<void(const json::object& next, const json::object& live, FieldErrors& errors)>,
           std::less<>>
      validate_subresource;
  std::function<std::vector<std::string>(const json::object& object)> warnings;  // Warning headers of a write
  // When an update warns as a creation does; kNewGeneration: only one that changes what the generation counts.
  enum class UpdateWarns { kAlways, kNewGeneration, kNever } update_warns = UpdateWarns::kAlways;
  // Fields that selectors know besides metadata.name and metadata.namespace, with their value in an object ("" if
  // unset).
  std::map<std::string, std::function<std::string(const json::object&)>, std::less<>> selectable;
  // Names: dns subdomain unless told otherwise.
  enum class NameRule { kDnsSubdomain, kDnsLabel, kDns1035Label, kPathSegment } name_rule = NameRule::kDnsSubdomain;
  bool generation = false;                 // metadata.generation counts changes outside metadata and status
  bool graceful_delete = false;            // pods
  bool orphans_by_default = false;         // DELETE without a policy leaves dependents: jobs, replication controllers
  bool status_on_create = false;           // a new object keeps the status that was sent: nodes
  bool allow_create_on_update = false;     // PUT of a missing object makes it
  bool allow_unconditional_update = true;  // PUT without resourceVersion
};

// The schema of a Resource: given, or made when it is first asked for. A built-in kind has hundreds of nodes, and most
// kinds are never asked for.
class LazySchema {
 public:
  LazySchema() = default;
  LazySchema(const Schema* schema) : schema_(schema) {}
  // `make` returns null if there is none, and is then asked again.
  explicit LazySchema(std::function<const Schema*()> make) : make_(std::move(make)) {}

  const Schema* get() const {
    if (!schema_ && make_) schema_ = make_();
    return schema_;
  }
  operator const Schema*() const { return get(); }
  const Schema* operator->() const { return get(); }

 private:
  mutable const Schema* schema_ = nullptr;
  std::function<const Schema*()> make_;
};

struct Resource {
  std::string group, version;  // "" = core
  std::string plural, singular, kind, list_kind;
  std::vector<std::string> short_names, categories;
  bool namespaced = true;
  std::vector<std::string> verbs;  // as in discovery: create, delete, deletecollection, get, list, patch, update, watch
  bool status = false;             // has the status subresource: status is reset on create and kept on update
  std::optional<ScalePaths> scale;
  std::vector<std::string> other_subresources;  // "binding", "eviction", "log", "token", "approval", "finalize",
                                                // "ephemeralcontainers", "resize"
  LazySchema schema;                            // of the whole object; null = not known (kinds of reviews)
  const Strategy* strategy = nullptr;           // never null
  std::vector<PrinterColumn> columns;           // empty = print/ knows, else Name and Age
  std::string storage_key;                      // "pods", "deployments.apps": the same for every version of a kind
  std::string storage_version;                  // the API version in which objects are stored ("apps/v1")
  const Schema* storage_schema = nullptr;       // of that version, of CRDs; null = as `schema`
  bool custom = false;       // from a CRD: schema checks and pruning, merge instead of strategic patches
  bool terminating = false;  // its CRD is being deleted: no creates (403, "create not allowed while custom resource
                             // definition is terminating"); discovery leaves out create, patch and update
  std::string deprecation_warning;  // Warning header of every request to this version, "" = none
  bool coerce_on_read = false;      // its CRD changed while objects exist: convert() prunes and defaults what is read
  bool webhook_conversion = false;  // other versions would need a webhook: convert() refuses
  std::shared_ptr<const json::object> openapi;  // of a CRD's version: openAPIV3Schema as written, for OpenAPI documents
  std::shared_ptr<const void> owned;            // keeps a CRD's schema and strategy alive
  bool create_only = false;                     // reviews: POST gives an answer, nothing is stored

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
};
using ResourcePtr = std::shared_ptr<const Resource>;  // a request that runs keeps it alive while a CRD changes

// The table of what is served now.
class Registry {
 public:
  ResourcePtr find(std::string_view group, std::string_view version, std::string_view plural) const;
  ResourcePtr find_kind(std::string_view group, std::string_view version, std::string_view kind) const;
  const std::vector<ResourcePtr>& all() const { return resources_; }  // discovery order
  // Any served version of what is stored under `storage_key`; null = none.
  ResourcePtr stored(std::string_view storage_key) const;
  void add(Resource resource);
  void remove_group_resource(std::string_view group, std::string_view plural);  // every version
  uint64_t changes() const { return changes_; }  // counts add and remove: discovery's and OpenAPI's caches look at it

 private:
  std::vector<ResourcePtr> resources_;
  uint64_t changes_ = 0;
};

// Every built-in kind, from the table in builtin_table.cc, with schema and strategy.
void add_builtin_resources(Registry& registry);

}  // namespace hookd::embedded
