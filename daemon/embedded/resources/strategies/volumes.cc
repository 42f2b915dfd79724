// Persistent volumes, claims, classes. Left out: the pvc-protection and pv-protection finalizers (nobody would take
// them away).
#include <algorithm>

#include "base/json_read.h"
#include "base/time.h"
#include "embedded/resources/strategies/pod_spec.h"
#include "embedded/resources/strategies/shared.h"
#include "embedded/resources/strategies/strategies.h"
#include "embedded/schema/quantity.h"

namespace hookd::embedded {
namespace {

std::string quantity_text(const json::value& value) {
  return value.is_string() ? std::string(as_string(value)) : json::serialize(value);
}

void check_access_modes(const json::array& modes, const std::string& path, Complaints& complaints) {
  bool once_pod = false, other = false;
  for (const json::value& mode : modes) {
    const std::string_view name = as_string(mode);
    complaints.one_of(path, name, {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"});
    (name == "ReadWriteOncePod" ? once_pod : other) = true;
  }
  if (once_pod && other) complaints.forbidden(path, "may not use ReadWriteOncePod with other access modes");
}

// What a volume's spec has besides its source.
constexpr std::string_view kNoSource[] = {
    "capacity",     "accessModes", "claimRef",     "persistentVolumeReclaimPolicy", "storageClassName",
    "mountOptions", "volumeMode",  "nodeAffinity", "volumeAttributesClassName"};

json::object source_of(const json::object& volume) {
  json::object source = object_at(volume, {"spec"});
  for (const std::string_view key : kNoSource) source.erase(key);
  return source;
}

void validate_volume(const json::object& object, FieldErrors& errors) {
  Complaints complaints(errors);
  const json::object& spec = object_at(object, {"spec"});
  if (array_at(spec, {"accessModes"}).empty()) complaints.required("spec.accessModes");
  check_access_modes(array_at(spec, {"accessModes"}), "spec.accessModes", complaints);
  const json::object& capacity = object_at(spec, {"capacity"});
  if (capacity.empty()) complaints.required("spec.capacity");
  if (!capacity.contains("storage") || capacity.size() > 1)
    complaints.unsupported("spec.capacity", capacity.empty() ? json::value(nullptr) : json::value(capacity),
                           {"storage"});
  for (const auto& entry : capacity)
    if (compare_quantities(quantity_text(entry.value()), "0") <= 0)
      complaints.invalid(keyed("spec.capacity", entry.key()), json::value(quantity_text(entry.value())),
                         "must be greater than zero");
  complaints.one_of("spec.persistentVolumeReclaimPolicy", string_at(spec, {"persistentVolumeReclaimPolicy"}),
                    {"Delete", "Recycle", "Retain"}, false);
  size_t sources = 0;
  for (const auto& entry : source_of(object))
    if (!entry.value().is_null() && sources++ > 0)
      complaints.forbidden(child("spec", entry.key()), "may not specify more than 1 volume type");
  if (sources == 0) complaints.required("spec", "must specify a volume type");
  if (has(spec, {"hostPath"})) {
    const std::string_view path = string_at(spec, {"hostPath", "path"});
    if (path.empty()) complaints.required("spec.hostPath.path");
    check_no_backsteps(path, "spec.hostPath.path", complaints);
  }
  if (has(spec, {"local"}) && !has(spec, {"nodeAffinity", "required"}))
    complaints.required("spec.nodeAffinity", "Local volume requires node affinity");
  if (const std::string_view name = string_at(spec, {"storageClassName"}); !name.empty())
    complaints.invalid("spec.storageClassName", name, dns_subdomain(name));
  complaints.one_of("spec.volumeMode", string_at(spec, {"volumeMode"}), {"Block", "Filesystem"}, false);
}

void validate_volume_update(const json::object& next, const json::object& live, FieldErrors& errors) {
  Complaints complaints(errors);
  if (!same(source_of(next), source_of(live)))
    complaints.forbidden("spec.persistentvolumesource", "spec.persistentvolumesource is immutable after creation");
  complaints.immutable("volumeMode", value_at(next, {"spec", "volumeMode"}), value_at(live, {"spec", "volumeMode"}));
}

void validate_claim_update(const json::object& next, const json::object& live, FieldErrors& errors) {
  Complaints complaints(errors);
  json::object spec = object_at(next, {"spec"}), old = object_at(live, {"spec"});
  if (string_at(old, {"volumeName"}).empty()) spec.erase("volumeName"), old.erase("volumeName");
  if (!has(old, {"storageClassName"})) spec.erase("storageClassName");
  const json::value* size = value_at(next, {"spec", "resources", "requests", "storage"});
  const json::value* old_size = value_at(live, {"spec", "resources", "requests", "storage"});
  if (string_at(live, {"status", "phase"}) == "Bound") {
    for (json::object* side : {&spec, &old}) {
      ensure_object(*side, {"resources", "requests"}).erase("storage");
      side->erase("volumeAttributesClassName");
    }
  }
  if (!same(spec, old))
    complaints.forbidden("spec",
                         "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
                         "bound claims");
  if (size && old_size && compare_quantities(quantity_text(*size), quantity_text(*old_size)) < 0) {
    const json::value* has_now = value_at(live, {"status", "capacity", "storage"});
    if (compare_quantities(quantity_text(*size), has_now ? quantity_text(*has_now) : "0") <= 0)
      complaints.forbidden("spec.resources.requests.storage", "field can not be less than status.capacity");
  }
  complaints.immutable("volumeMode", value_at(next, {"spec", "volumeMode"}), value_at(live, {"spec", "volumeMode"}));
}

// As the admission plugin DefaultStorageClass: "" as a class is one, and then no default is wanted.
Answer<void> admit_claim(json::object& claim, const WriteContext& context) {
  const json::object& annotations = object_at(claim, {"metadata", "annotations"});
  if (has(claim, {"spec", "storageClassName"}) || annotations.contains("volume.beta.kubernetes.io/storage-class"))
    return {};
  const std::string name = default_class(
      "storageclasses.storage.k8s.io",
      {"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"}, context);
  if (!name.empty()) ensure_object(claim, {"spec"})["storageClassName"] = name;
  return {};
}

}  // namespace

std::string default_class(std::string_view storage_key, std::initializer_list<std::string_view> annotations,
                          const WriteContext& context) {
  std::string newest, name;
  if (!context.lookup) return name;
  context.lookup->each(storage_key, "", [&](std::string_view text) {
    const Result<json::value> value = parse_json(text);
    if (!value || !value->is_object()) return true;
    const json::object& metadata = object_at(value->get_object(), {"metadata"});
    const bool marked = std::ranges::any_of(
        annotations, [&](std::string_view key) { return string_at(metadata, {"annotations", key}) == "true"; });
    if (!marked) return true;
    const std::string made(string_at(metadata, {"creationTimestamp"})), here(string_at(metadata, {"name"}));
    if (name.empty() || made > newest || (made == newest && here < name)) {
      newest = made;
      name = here;
    }
    return true;
  });
  return name;
}

void check_claim_spec(const json::object& spec, const std::string& path, Complaints& complaints) {
  const std::string modes = child(path, "accessModes");
  if (array_at(spec, {"accessModes"}).empty()) complaints.required(modes, "at least 1 access mode is required");
  check_label_selector(object_at(spec, {"selector"}), child(path, "selector"), complaints);
  check_access_modes(array_at(spec, {"accessModes"}), modes, complaints);
  const std::string storage = keyed(child(path, "resources"), "storage");
  if (const json::value* size = value_at(spec, {"resources", "requests", "storage"}); !size) {
    complaints.required(storage);
  } else if (compare_quantities(quantity_text(*size), "0") <= 0) {
    complaints.invalid(storage, json::value(quantity_text(*size)), "must be greater than zero");
  }
  if (const std::string_view name = string_at(spec, {"storageClassName"}); !name.empty())
    complaints.invalid(child(path, "storageClassName"), name, dns_subdomain(name));
  complaints.one_of(child(path, "volumeMode"), string_at(spec, {"volumeMode"}), {"Block", "Filesystem"}, false);
  if (has(spec, {"dataSource"})) {
    const std::string source = child(path, "dataSource");
    for (const char* key : {"name", "kind"})
      if (string_at(spec, {"dataSource", key}).empty()) complaints.required(child(source, key));
    const std::string_view kind = string_at(spec, {"dataSource", "kind"});
    if (string_at(spec, {"dataSource", "apiGroup"}).empty() && kind != "PersistentVolumeClaim")
      complaints.invalid(source, json::value(kind),
                         "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
  }
}

const Strategy& persistent_volume_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.prepare_create = [](json::object& object, const WriteContext& context) {
      object["status"] =
          json::object{{"phase", "Pending"}, {"lastPhaseTransitionTime", format_rfc3339(context.scheduler.wall_now())}};
    };
    s.prepare_update = [](json::object& next, const json::object& live, const WriteContext& context) {
      if (context.subresource != "status") return;
      if (string_at(next, {"status", "phase"}) != string_at(live, {"status", "phase"}))
        ensure_object(next, {"status"})["lastPhaseTransitionTime"] = format_rfc3339(context.scheduler.wall_now());
    };
    s.validate = validate_volume;
    s.validate_update = validate_volume_update;
    return s;
  }();
  return kStrategy;
}

const Strategy& persistent_volume_claim_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.admit = admit_claim;
    s.prepare_create = [](json::object& object, const WriteContext&) {
      object["status"] = json::object{{"phase", "Pending"}};
    };
    s.validate = [](const json::object& object, FieldErrors& errors) {
      Complaints complaints(errors);
      check_claim_spec(object_at(object, {"spec"}), "spec", complaints);
    };
    s.validate_update = validate_claim_update;
    return s;
  }();
  return kStrategy;
}

const Strategy& storage_class_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.validate = [](const json::object& object, FieldErrors& errors) {
      Complaints complaints(errors);
      const std::string_view provisioner = string_at(object, {"provisioner"});
      if (provisioner.empty()) {
        complaints.required("provisioner");
      } else {
        check_label_key(provisioner, "provisioner", complaints);
      }
      complaints.one_of("reclaimPolicy", string_at(object, {"reclaimPolicy"}), {"Delete", "Retain"}, false);
      complaints.one_of("volumeBindingMode", string_at(object, {"volumeBindingMode"}),
                        {"Immediate", "WaitForFirstConsumer"});
    };
    s.validate_update = [](const json::object& next, const json::object& live, FieldErrors& errors) {
      Complaints complaints(errors);
      for (const char* key : {"parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"})
        complaints.immutable(key, value_at(next, {key}), value_at(live, {key}));
    };
    return s;
  }();
  return kStrategy;
}

const Strategy& volume_attachment_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.validate = [](const json::object& object, FieldErrors& errors) {
      Complaints complaints(errors);
      if (string_at(object, {"spec", "attacher"}).empty()) complaints.required("spec.attacher");
      if (string_at(object, {"spec", "nodeName"}).empty()) complaints.required("spec.nodeName");
      const bool named = has(object, {"spec", "source", "persistentVolumeName"});
      if (!named && !has(object, {"spec", "source", "inlineVolumeSpec"}))
        complaints.required("spec.source", "must specify exactly one of inlineVolumeSpec and persistentVolumeName");
    };
    s.validate_update = [](const json::object& next, const json::object& live, FieldErrors& errors) {
      if (!same(value_at(next, {"spec"}), value_at(live, {"spec"})))
        Complaints(errors).invalid("spec", *value_at(next, {"spec"}), "field is immutable");
    };
    s.allow_unconditional_update = false;
    return s;
  }();
  return kStrategy;
}

const Strategy& csi_driver_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.allow_unconditional_update = false;
    return s;
  }();
  return kStrategy;
}

}  // namespace hookd::embedded
