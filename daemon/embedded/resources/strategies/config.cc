// Kinds that hold configuration, identity and small facts.
#include <algorithm>

#include "embedded/resources/strategies/shared.h"
#include "embedded/resources/strategies/strategies.h"

namespace hookd::embedded {
namespace {

constexpr size_t kMostBytes = 1 << 20;

size_t decoded_size(std::string_view base64) { return base64.size() / 4 * 3; }

std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](size_t k) { return k < bytes.size() ? static_cast<unsigned char>(bytes[k]) : 0u; };
    const unsigned group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    out += kDigits[group >> 18 & 63];
    out += kDigits[group >> 12 & 63];
    out += i + 1 < bytes.size() ? kDigits[group >> 6 & 63] : '=';
    out += i + 2 < bytes.size() ? kDigits[group & 63] : '=';
  }
  return out;
}

// An object with `immutable: true` stays as it is.
void check_frozen(const json::object& next, const json::object& live, Keys fields, Complaints& complaints) {
  if (!bool_at(live, {"immutable"})) return;
  const std::string why = "field is immutable when `immutable` is set";
  if (!bool_at(next, {"immutable"})) complaints.forbidden("immutable", why);
  for (const std::string_view field : fields)
    if (!same(value_at(next, {field}), value_at(live, {field}))) complaints.forbidden(std::string(field), why);
}

void validate_config_map(const json::object& object, FieldErrors& errors) {
  Complaints complaints(errors);
  size_t size = 0;
  const json::object& binary = object_at(object, {"binaryData"});
  for (const auto& entry : object_at(object, {"data"})) {
    complaints.invalid(keyed("data", entry.key()), entry.key(), config_key(entry.key()));
    if (binary.contains(entry.key()))
      complaints.invalid(keyed("data", entry.key()), json::value(entry.key()),
                         "duplicate of key present in binaryData");
    size += as_string(entry.value()).size();
  }
  for (const auto& entry : binary) {
    complaints.invalid(keyed("binaryData", entry.key()), entry.key(), config_key(entry.key()));
    size += decoded_size(as_string(entry.value()));
  }
  if (size > kMostBytes) complaints.too_long("[]", kMostBytes);
}

void validate_secret(const json::object& object, FieldErrors& errors) {
  Complaints complaints(errors);
  const json::object& data = object_at(object, {"data"});
  size_t size = 0;
  for (const auto& entry : data) {
    complaints.invalid(keyed("data", entry.key()), entry.key(), config_key(entry.key()));
    size += decoded_size(as_string(entry.value()));
  }
  if (size > kMostBytes) complaints.too_long("data", kMostBytes);
  struct Need {
    std::string_view type;
    std::vector<const char*> keys;
    bool any = false;  // one of them is enough
  };
  static const std::vector<Need> kNeeds{
      {"kubernetes.io/dockercfg", {".dockercfg"}},
      {"kubernetes.io/dockerconfigjson", {".dockerconfigjson"}},
      {"kubernetes.io/basic-auth", {"username", "password"}, true},
      {"kubernetes.io/ssh-auth", {"ssh-privatekey"}},
      {"kubernetes.io/tls", {"tls.crt", "tls.key"}},
  };
  const std::string_view type = string_at(object, {"type"});
  for (const Need& need : kNeeds) {
    if (need.type != type) continue;
    const auto missing = [&](const char* key) { return !data.contains(key); };
    if (need.any && !std::ranges::all_of(need.keys, missing)) continue;
    for (const char* key : need.keys)
      if (missing(key)) complaints.required(keyed("data", key));
  }
  const char* const account = "kubernetes.io/service-account.name";
  if (type == "kubernetes.io/service-account-token" && string_at(object, {"metadata", "annotations", account}).empty())
    complaints.required(keyed("metadata.annotations", account));
}

// stringData is for writing only: it goes into data.
void merge_string_data(json::object& object) {
  if (has(object, {"stringData"})) {
    const json::object texts = object_at(object, {"stringData"});
    json::object& data = ensure_object(object, {"data"});
    for (const auto& entry : texts) data[entry.key()] = base64(as_string(entry.value()));
  }
  object.erase("stringData");
  if (string_at(object, {"type"}).empty()) object["type"] = "Opaque";
}

void check_event(const json::object& object, const json::object& about, const std::string& path,
                 Complaints& complaints) {
  const std::string_view ns = string_at(object, {"metadata", "namespace"});
  const std::string_view other = string_at(about, {"namespace"});
  if (other.empty() ? !ns.empty() && ns != "default" : ns != other)
    complaints.invalid(path + ".namespace", json::value(other), "does not match event.namespace");
}

void check_new_event(const json::object& object, const char* component, const char* message, Complaints& complaints) {
  if (!has(object, {"eventTime"})) return;
  const std::string_view by = string_at(object, {component});
  if (by.empty()) complaints.required(component);
  check_label_key(by, component, complaints);
  for (const char* key : {"reportingInstance", "action", "reason"}) {
    if (string_at(object, {key}).empty()) complaints.required(key);
    if (string_at(object, {key}).size() > 128) complaints.invalid(key, "", "can have at most 128 characters");
  }
  if (string_at(object, {message}).size() > 1024) complaints.invalid("message", "", "can have at most 1024 characters");
}

Strategy event_base() {
  Strategy s;
  s.allow_create_on_update = true;
  return s;
}

void add_event_fields(Strategy& s, const char* about, const char* component) {
  for (const char* key : {"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"})
    s.selectable.emplace(child(about, key), field_at({about, key}));
  for (const char* key : {"reason", "type"}) s.selectable.emplace(key, field_at({key}));
  s.selectable.emplace(component, field_at({component}));
}

}  // namespace

const Strategy& config_map_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.validate = validate_config_map;
    s.validate_update = [](const json::object& next, const json::object& live, FieldErrors& errors) {
      Complaints complaints(errors);
      check_frozen(next, live, {"data", "binaryData"}, complaints);
    };
    return s;
  }();
  return kStrategy;
}

const Strategy& secret_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.defaults = merge_string_data;
    s.validate = validate_secret;
    s.validate_update = [](const json::object& next, const json::object& live, FieldErrors& errors) {
      Complaints complaints(errors);
      complaints.immutable("type", value_at(next, {"type"}), value_at(live, {"type"}));
      check_frozen(next, live, {"data"}, complaints);
    };
    s.selectable.emplace("type", field_at({"type"}));
    return s;
  }();
  return kStrategy;
}

const Strategy& service_account_strategy() { return plain_strategy(); }

const Strategy& event_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s = event_base();
    s.validate = [](const json::object& object, FieldErrors& errors) {
      Complaints complaints(errors);
      check_event(object, object_at(object, {"involvedObject"}), "involvedObject", complaints);
      check_new_event(object, "reportingComponent", "message", complaints);
    };
    add_event_fields(s, "involvedObject", "reportingComponent");
    s.selectable.emplace("source", [](const json::object& object) {
      const std::string_view source = string_at(object, {"source", "component"});
      return std::string(source.empty() ? string_at(object, {"reportingComponent"}) : source);
    });
    return s;
  }();
  return kStrategy;
}

const Strategy& event_v1_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s = event_base();
    s.validate = [](const json::object& object, FieldErrors& errors) {
      Complaints complaints(errors);
      check_event(object, object_at(object, {"regarding"}), "involvedObject", complaints);
      check_new_event(object, "reportingController", "note", complaints);
      if (has(object, {"metadata", "resourceVersion"})) return;
      if (!has(object, {"eventTime"})) complaints.required("eventTime");
      if (const std::string_view type = string_at(object, {"type"}); type != "Normal" && type != "Warning")
        complaints.invalid("type", "", fmt::format("has invalid value: {}", type));
      for (const auto& [field, name] :
           {std::pair{"deprecatedFirstTimestamp", "firstTimestamp"},
            std::pair{"deprecatedLastTimestamp", "lastTimestamp"}, std::pair{"deprecatedCount", "count"}})
        if (has(object, {field})) complaints.invalid(name, "", "needs to be unset");
    };
    add_event_fields(s, "regarding", "reportingController");
    return s;
  }();
  return kStrategy;
}

const Strategy& lease_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.validate = [](const json::object& object, FieldErrors& errors) {
      Complaints complaints(errors);
      complaints.positive("spec.leaseDurationSeconds", integer_at(object, {"spec", "leaseDurationSeconds"}));
      complaints.not_negative("spec.leaseTransitions", integer_at(object, {"spec", "leaseTransitions"}));
      const std::string_view strategy = string_at(object, {"spec", "strategy"});
      if (!strategy.empty()) complaints.one_of("spec.strategy", strategy, {"OldestEmulationVersion"});
    };
    // Coordinated leader election (KEP-4355) is off unless its gate is on.
    s.prepare_create = [](json::object& object, const WriteContext&) {
      for (const char* key : {"strategy", "preferredHolder"}) ensure_object(object, {"spec"}).erase(key);
    };
    s.prepare_update = [](json::object& next, const json::object&, const WriteContext&) {
      for (const char* key : {"strategy", "preferredHolder"}) ensure_object(next, {"spec"}).erase(key);
    };
    s.allow_create_on_update = true;
    s.allow_unconditional_update = false;
    return s;
  }();
  return kStrategy;
}

const Strategy& priority_class_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.validate = [](const json::object& object, FieldErrors& errors) {
      Complaints complaints(errors);
      const std::string_view name = string_at(object, {"metadata", "name"});
      const int64_t value = integer_at(object, {"value"}).value_or(0);
      const bool known = (name == "system-node-critical" && value == 2000001000) ||
                         (name == "system-cluster-critical" && value == 2000000000);
      if (name.starts_with("system-") && !known)
        complaints.forbidden("metadata.name",
                             fmt::format("priority class names with 'system-' prefix are reserved for system use only. "
                                         "error: {} is not a known system priority class",
                                         name));
      if (!name.starts_with("system-") && value > 1000000000)
        complaints.forbidden("value", "maximum allowed value of a user defined priority is 1000000000");
      complaints.one_of("preemptionPolicy", string_at(object, {"preemptionPolicy"}), {"PreemptLowerPriority", "Never"},
                        false);
    };
    s.validate_update = [](const json::object& next, const json::object& live, FieldErrors& errors) {
      Complaints complaints(errors);
      if (integer_at(next, {"value"}).value_or(0) != integer_at(live, {"value"}).value_or(0))
        complaints.forbidden("value", "may not be changed in an update.");
      complaints.immutable("preemptionPolicy", value_at(next, {"preemptionPolicy"}),
                           value_at(live, {"preemptionPolicy"}));
    };
    s.generation = true;
    return s;
  }();
  return kStrategy;
}

const Strategy& runtime_class_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.validate = [](const json::object& object, FieldErrors& errors) {
      Complaints complaints(errors);
      const std::string_view handler = string_at(object, {"handler"});
      complaints.invalid("handler", handler, dns_label(handler));
    };
    s.validate_update = [](const json::object& next, const json::object& live, FieldErrors& errors) {
      Complaints(errors).immutable("handler", value_at(next, {"handler"}), value_at(live, {"handler"}));
    };
    s.allow_create_on_update = true;
    s.allow_unconditional_update = false;
    return s;
  }();
  return kStrategy;
}

const Strategy& review_strategy() { return plain_strategy(); }

}  // namespace hookd::embedded
