// Objects that are questions: POST gives the answer, nothing is stored. Thread: loop only.
// Source: API docs "Checking API access", "API access to authentication information for a client".
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "embedded/resources/resource.h"
#include "embedded/verbs/rbac.h"

namespace hookd::embedded {

struct ReviewContext {
  const User& user;  // who asks
  const Rbac* rbac;  // null = everything is allowed
  std::function<std::optional<User>(std::string_view token)> authenticate;
  std::string ns{};   // of the request; LocalSubjectAccessReview's must be the same
  std::string now{};  // metav1.Time, for a SelfSubjectReview
};

// `review` is decoded and defaulted. SelfSubjectAccessReview, SubjectAccessReview, LocalSubjectAccessReview,
// SelfSubjectRulesReview, TokenReview, SelfSubjectReview. Answers 201 with the object and its status.
// Errors: 400, 422 as the real server.
Answer<json::object> answer_review(const Resource& resource, json::object review, const ReviewContext& context);

}  // namespace hookd::embedded
