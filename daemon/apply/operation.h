// One thing a hook asks the cluster to do, as it stands in the hook's answer. A plain value. Thread: any.
// Source: product.md section 3; shell-operator.md section 5 for the verbs' names.
//
//   {"operation":"Delete","apiVersion":"v1","kind":"Pod","namespace":"a","name":"b","gracePeriodSeconds":0,"uid":"…"}
//   {"operation":"Apply","object":{…},"force":true}           {"operation":"Scale",…,"replicas":3}
//   {"operation":"MergePatch",…,"patch":{…}}                  {"operation":"JQPatch",…,"jqFilter":"…"}
//   {"operation":"Label",…,"labels":{"a":"1","gone":null}}    {"operation":"Status",…,"status":{…}}
//   {"operation":"Condition",…,"type":"Ready","status":"True","reason":"…","message":"…"}
//   {"operation":"Event","about":{…},"reason":"…","message":"…","type":"Warning"}
//   {"operation":"Metric","name":"x_total","action":"add","value":1,"labels":{…}}
//   {"operation":"Requeue","after":"20s"}
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/scheduler.h"

namespace hookd::apply {

enum class Verb {
  kCreate,             // POST; an object of that name is an error
  kCreateIfNotExists,  // POST; an object of that name is fine
  kCreateOrUpdate,     // POST, else the whole object by PUT
  kApply,              // server-side apply
  kMergePatch,
  kStrategicMergePatch,
  kJsonPatch,
  kJqPatch,             // GET, jq, PUT if it changed
  kDelete,              // propagationPolicy as given, else the type's default (never foreground by itself: that would
                        // put a finalizer on a pod that is to go at once); compat sets Foreground for shell-operator
  kDeleteInBackground,  // propagationPolicy Background
  kDeleteNonCascading,  // propagationPolicy Orphan
  kEvict,
  kScale,
  kStatus,  // merge patch of the status subresource
  kLabel,
  kAnnotate,
  kCondition,  // one entry of status.conditions, the others untouched
  kEvent,
  kMetric,
  kRequeue,
};

std::string_view to_string(Verb verb);  // as hooks write it: "CreateIfNotExists"
std::optional<Verb> parse_verb(std::string_view text);
bool is_delete(Verb verb);  // any of the three
bool is_upsert(Verb verb);  // makes the object exist: the Creates and Apply
bool is_patch(Verb verb);   // Merge, StrategicMerge, JSON, JQ, Status, Condition, Label, Annotate, Scale
// Is anything sent for it that is about one object? All but Event, Metric and Requeue.
bool is_write(Verb verb);

// As metadata.resourceVersion of an Apply: make it, and do nothing if there is an object of that name. An apply's
// version is compared only with that of an object that exists, and no object ever has this one (etcd begins with it).
inline constexpr std::string_view kMustNotExist = "1";

struct MetricSample {
  enum class Action { kSet, kAdd, kObserve, kExpire } action = Action::kAdd;  // kExpire: the group's metrics go
  std::string name;                                                           // "" with kExpire
  double value = 1;
  std::map<std::string, std::string> labels;
  std::vector<double> buckets;  // kObserve: upper bounds, ascending; empty = the default ones
  std::string group;            // "" = none; metrics of a group replace the group's former ones
  bool operator==(const MetricSample&) const = default;
};

struct Operation {
  Verb verb = Verb::kApply;
  // What it is about; for Event the object that the Event is about.
  std::string api_version;  // "" = the version that the server prefers (only from compat front-ends)
  std::string kind;
  std::string ns;                // "" = none given
  std::string name;              // "" only with generate_name
  std::string generate_name;     // Create only
  std::string uid;               // precondition, "" = none given
  std::string resource_version;  // precondition, "" = none given

  // JSON text just as the hook wrote it: every digit is kept.
  std::string object;  // Create…, Apply: the manifest
  std::string patch;   // an object; JSONPatch: a list; Status: the new status
  std::string jq_filter;

  std::optional<int64_t> grace_period_seconds;
  std::string propagation_policy;  // "Foreground", "Background", "Orphan", "" = by the verb
  std::string subresource;         // "status", without slash; "" = the object itself
  bool ignore_missing_object = false;
  bool dry_run = false;
  bool force = false;         // Apply: take fields that others manage
  std::string field_manager;  // "" = the request's
  bool repeat = false;        // do it again in a retry although it succeeded before
  bool from_manifest = false;
  bool keep_object = false;  // the outcome is to hold the object as it is after the write
  bool maybe_done = false;   // an earlier try was sent and its answer lost: what is found done was done by it
  std::string made_uid{};    // Create: of the object that an earlier try made; to find it there is to be done
  int64_t replicas = 0;      // Scale
  std::map<std::string, std::optional<std::string>> entries;  // Label, Annotate: nullopt = take away
  std::string reason, message;                                // Event, Condition
  std::string event_type;                                     // Event: "Normal" or "Warning"
  std::string condition_type, condition_status;               // Condition: "Ready"; "True", "False" or "Unknown"
  std::optional<MetricSample> metric;                         // Metric
  Duration after{0};                                          // Requeue
  // Of a patch, for people: instead of the verb's own words. "take finalizer x off", "took finalizer x off"
  struct Words {
    std::string doing{}, done{};
  } words{};

  std::string display() const;   // "Pod a/b", "Node n1", "Pod a/x-* (generated name)"
  std::string describe() const;  // "Delete Pod a/b", for messages about the operation itself
};

// Errors: kDecode (not JSON, or a key twice), kInvalid: names the operation, the key, what was expected, the nearest
// known key.
Result<Operation> parse_operation(std::string_view json);
// A manifest becomes a server-side apply with force, as controllers do. Errors: as parse_operation; `kind: List` too.
Result<Operation> manifest_operation(std::string_view json);
// The same, with `kind: List` (and PodList …) taken apart; one bad item is an error for the whole.
Result<std::vector<Operation>> manifest_operations(std::string_view json);

}  // namespace hookd::apply
