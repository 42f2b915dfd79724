// CertificateSigningRequests: who asks, who approved. Nobody signs them here. Thread: any.
// Source: API docs "Certificates and Certificate Signing Requests"; the real server's checks, but the request itself is
// not looked into.
#include <algorithm>
#include <map>

#include "base/time.h"
#include "embedded/resources/fields.h"
#include "embedded/resources/strategies/strategies.h"

namespace hookd::embedded {
namespace {

const json::array& conditions_of(const json::object& request) { return array_at(request, {"status", "conditions"}); }

bool is_type(const json::value& condition, std::string_view type) {
  return string_at(as_object(condition), {"type"}) == type;
}

json::array of_type(const json::object& request, std::string_view type) {
  json::array out;
  for (const json::value& condition : conditions_of(request))
    if (is_type(condition, type)) out.push_back(condition);
  return out;
}

// The times that the client left out: now, or that of the same condition before.
void set_times(json::object& next, const json::object& live, const std::string& now) {
  if (conditions_of(next).empty()) return;
  for (json::value& value : ensure_object(next, {"status"})["conditions"].as_array()) {
    if (!value.is_object()) continue;
    json::object& condition = value.get_object();
    if (string_at(condition, {"lastUpdateTime"}).empty()) condition["lastUpdateTime"] = now;
    if (!string_at(condition, {"lastTransitionTime"}).empty()) continue;
    std::string since = now;
    for (const json::value& before : conditions_of(live))
      if (is_type(before, string_at(condition, {"type"})) &&
          string_at(as_object(before), {"status"}) == string_at(condition, {"status"}) &&
          !string_at(as_object(before), {"lastTransitionTime"}).empty()) {
        since = string_at(as_object(before), {"lastTransitionTime"});
        break;
      }
    condition["lastTransitionTime"] = since;
  }
}

// A write of the status does not touch these conditions, as long as it keeps their number.
void keep_conditions(json::object& next, const json::object& live, std::string_view type) {
  const json::array before = of_type(live, type);
  if (before.empty() || of_type(next, type).size() != before.size()) return;
  size_t i = 0;
  for (json::value& condition : ensure_object(next, {"status"})["conditions"].as_array())
    if (is_type(condition, type)) condition = before[i++];
}

void prepare_create(json::object& object, const WriteContext& context) {
  json::object& spec = ensure_object(object, {"spec"});
  for (const char* key : {"uid", "extra", "groups"}) spec.erase(key);
  spec["username"] = context.user;
  if (!context.groups.empty()) spec["groups"] = json::array(context.groups.begin(), context.groups.end());
}

void prepare_update(json::object& next, const json::object& live, const WriteContext& context) {
  next["spec"] = object_at(live, {"spec"});
  if (context.subresource.empty()) return;
  const std::string now = format_rfc3339(context.scheduler.wall_now());
  if (context.subresource == "status") {
    for (const char* type : {"Approved", "Denied"}) keep_conditions(next, live, type);
    set_times(next, live, now);
    return;
  }
  set_times(next, live, now);  // approval: the conditions and nothing else
  json::object status = object_at(live, {"status"});
  status.erase("conditions");
  if (!conditions_of(next).empty()) status["conditions"] = conditions_of(next);
  next["status"] = std::move(status);
}

void check_conditions(const json::object& object, Complaints& complaints) {
  const std::string path = "status.conditions";
  std::map<std::string_view, int> seen;
  const json::array& conditions = conditions_of(object);
  for (size_t i = 0; i < conditions.size(); ++i) {
    const json::object& condition = as_object(conditions[i]);
    const std::string_view type = string_at(condition, {"type"}), status = string_at(condition, {"status"});
    const std::string here = at(path, i);
    if (type.empty()) complaints.required(child(here, "type"));
    if (status.empty()) {
      complaints.required(child(here, "status"));
    } else if (type == "Approved" || type == "Denied" || type == "Failed") {
      complaints.one_of(child(here, "status"), status, {"True"});
    } else {
      complaints.one_of(child(here, "status"), status, {"False", "True", "Unknown"});
    }
    if ((type == "Approved" && seen.contains("Denied")) || (type == "Denied" && seen.contains("Approved")))
      complaints.invalid(path, json::value(type), "Approved and Denied conditions are mutually exclusive");
    if (seen[type]++ > 0) complaints.duplicate(child(here, "type"), json::value(type));
  }
}

void validate(const json::object& object, FieldErrors& errors) {
  Complaints complaints(errors);
  if (string_at(object, {"spec", "request"}).empty()) complaints.required("spec.request");
  if (array_at(object, {"spec", "usages"}).empty()) complaints.required("spec.usages");
  if (string_at(object, {"spec", "signerName"}).empty()) complaints.required("spec.signerName");
  check_conditions(object, complaints);
}

enum class May { kNothing, kApprove, kCertify };

void check_update(const json::object& next, const json::object& live, May may, FieldErrors& errors) {
  Complaints complaints(errors);
  for (const char* type : {"Approved", "Denied", "Failed"})
    if (of_type(next, type).size() < of_type(live, type).size())
      complaints.forbidden("status.conditions", fmt::format("updates may not remove a condition of type \"{}\"", type));
  for (const char* type : {"Approved", "Denied"}) {
    const json::array before = of_type(live, type), after = of_type(next, type);
    if (may == May::kApprove || after.size() < before.size()) continue;
    if (after.size() > before.size())
      complaints.forbidden("status.conditions", fmt::format("updates may not add a condition of type \"{}\"", type));
    else if (after != before)
      complaints.forbidden("status.conditions", fmt::format("updates may not modify a condition of type \"{}\"", type));
  }
  const std::string_view before = string_at(live, {"status", "certificate"});
  if (string_at(next, {"status", "certificate"}) == before) return;
  if (may != May::kCertify)
    complaints.forbidden("status.certificate", "updates may not set certificate content");
  else if (!before.empty())
    complaints.forbidden("status.certificate", "updates may not modify existing certificate content");
}

}  // namespace

const Strategy& certificate_request_strategy() {
  static const Strategy kStrategy = [] {
    Strategy s;
    s.prepare_create = prepare_create;
    s.prepare_update = prepare_update;
    s.validate = validate;
    s.validate_update = [](const json::object& next, const json::object& live, FieldErrors& errors) {
      check_update(next, live, May::kNothing, errors);
    };
    s.validate_status = [](const json::object& next, const json::object& live, FieldErrors& errors) {
      validate(next, errors);
      check_update(next, live, May::kCertify, errors);
    };
    s.validate_subresource.emplace("approval",
                                   [](const json::object& next, const json::object& live, FieldErrors& errors) {
                                     validate(next, errors);
                                     check_update(next, live, May::kApprove, errors);
                                   });
    s.selectable.emplace("spec.signerName", field_at({"spec", "signerName"}));
    return s;
  }();
  return kStrategy;
}

}  // namespace hookd::embedded
