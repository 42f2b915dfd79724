#include "embedded/verbs/review.h"

#include "embedded/resources/fields.h"

namespace hookd::embedded {
namespace {

// The real server knows only the group of these errors, not the kind.
StatusError invalid_review(const FieldErrors& errors) {
  StatusError error = invalid({"", "", ".authorization.k8s.io", ""}, errors);
  error.details.erase("kind");
  return error;
}

AccessQuestion question_of(const json::object& spec) {
  AccessQuestion out;
  if (const json::value* path = value_at(spec, {"nonResourceAttributes"})) {
    out.verb = string_at(as_object(*path), {"verb"});
    out.path = string_at(as_object(*path), {"path"});
    return out;
  }
  const json::object& about = object_at(spec, {"resourceAttributes"});
  out.verb = string_at(about, {"verb"});
  out.group = string_at(about, {"group"});
  out.resource = string_at(about, {"resource"});
  out.subresource = string_at(about, {"subresource"});
  out.ns = string_at(about, {"namespace"});
  out.name = string_at(about, {"name"});
  return out;
}

// The real server shows these attributes with the names of its Go fields.
json::value shown_path(const json::object& spec) {
  return json::object{{"Path", string_at(spec, {"nonResourceAttributes", "path"})},
                      {"Verb", string_at(spec, {"nonResourceAttributes", "verb"})}};
}

FieldErrors check_access_review(const json::object& review, std::string_view kind, std::string_view ns) {
  FieldErrors errors;
  Complaints complaints(errors);
  const json::object& spec = object_at(review, {"spec"});
  const bool resource = has(spec, {"resourceAttributes"}), path = has(spec, {"nonResourceAttributes"});
  if (resource && path) {
    complaints.invalid("spec.nonResourceAttributes", shown_path(spec),
                       "cannot be specified in combination with resourceAttributes");
  } else if (!resource && !path) {
    complaints.invalid("spec.resourceAttributes", nullptr,
                       "exactly one of nonResourceAttributes or resourceAttributes must be specified");
  }
  if (kind != "SelfSubjectAccessReview" && string_at(spec, {"user"}).empty() && array_at(spec, {"groups"}).empty())
    complaints.invalid("spec.user", "", "at least one of user or group must be specified");
  json::object meta = object_at(review, {"metadata"});
  meta.erase("managedFields");
  if (kind == "LocalSubjectAccessReview") meta.erase("namespace");
  if (!same(meta, json::object())) complaints.invalid("metadata", json::value(meta), "must be empty");
  if (kind == "LocalSubjectAccessReview") {
    if (resource && string_at(spec, {"resourceAttributes", "namespace"}) != ns)
      complaints.invalid("spec.resourceAttributes.namespace",
                         json::value(string_at(spec, {"resourceAttributes", "namespace"})),
                         "must match metadata.namespace");
    if (path) complaints.invalid("spec.nonResourceAttributes", shown_path(spec), "disallowed on this kind of request");
  }
  return errors;
}

json::object user_info(const User& user) {
  json::object out{{"username", user.name}};
  if (!user.uid.empty()) out["uid"] = user.uid;
  json::array groups;
  for (const std::string& group : user.groups) groups.emplace_back(group);
  if (!groups.empty()) out["groups"] = std::move(groups);
  return out;
}

Answer<json::object> access_review(std::string_view kind, json::object review, const ReviewContext& context) {
  const std::string ns(context.ns);
  if (const FieldErrors errors = check_access_review(review, kind, ns); !errors.empty())
    return refuse(invalid_review(errors));
  const json::object& spec = object_at(review, {"spec"});
  User user = context.user;
  if (kind != "SelfSubjectAccessReview") {
    user = {std::string(string_at(spec, {"user"})), {}};
    for (const json::value& group : array_at(spec, {"groups"})) user.groups.emplace_back(as_string(group));
  }
  const AccessAnswer answer = context.rbac ? context.rbac->ask(user, question_of(spec)) : AccessAnswer{true, ""};
  json::object status{{"allowed", answer.allowed}};
  if (!answer.reason.empty()) status["reason"] = answer.reason;
  review["status"] = std::move(status);
  return review;
}

Answer<json::object> rules_review(json::object review, const ReviewContext& context) {
  const std::string_view ns = string_at(review, {"spec", "namespace"});
  if (ns.empty()) return refuse(bad_request("no namespace on request"));
  json::array resources, paths;
  const json::array everything{json::object{{"verbs", {"*"}}, {"apiGroups", {"*"}}, {"resources", {"*"}}},
                               json::object{{"verbs", {"*"}}, {"nonResourceURLs", {"*"}}}};
  for (const json::value& rule : context.rbac ? context.rbac->rules_of(context.user, ns) : everything)
    (has(as_object(rule), {"nonResourceURLs"}) ? paths : resources).push_back(rule);
  review["status"] = json::object{
      {"resourceRules", std::move(resources)}, {"nonResourceRules", std::move(paths)}, {"incomplete", false}};
  review["spec"] = json::object();  // the real server does not tell it again
  return review;
}

Answer<json::object> token_review(json::object review, const ReviewContext& context) {
  const std::string_view token = string_at(review, {"spec", "token"});
  if (token.empty()) return refuse(bad_request("token is required for TokenReview in authentication"));
  const std::optional<User> user = context.authenticate ? context.authenticate(token) : std::nullopt;
  json::object status;
  if (user) {
    status["authenticated"] = true;
    status["user"] = user_info(*user);
    status["audiences"] = json::array{"https://kubernetes.default.svc"};
  } else {
    status["user"] = json::object();
    status["error"] = "invalid bearer token";
  }
  review["status"] = std::move(status);
  return review;
}

}  // namespace

Answer<json::object> answer_review(const Resource& resource, json::object review, const ReviewContext& context) {
  const std::string_view kind = resource.kind;
  json::object& meta = ensure_object(review, {"metadata"});
  if (kind == "LocalSubjectAccessReview" && string_at(meta, {"namespace"}).empty()) meta["namespace"] = context.ns;
  if (kind == "TokenReview") return token_review(std::move(review), context);
  if (kind == "SelfSubjectRulesReview") return rules_review(std::move(review), context);
  if (kind == "SelfSubjectReview") {
    meta["creationTimestamp"] = context.now.empty() ? json::value(nullptr) : json::value(context.now);
    review["status"] = json::object{{"userInfo", user_info(context.user)}};
    return review;
  }
  return access_review(kind, std::move(review), context);
}

}  // namespace hookd::embedded
