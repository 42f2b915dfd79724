#include "embedded/wire/status.h"

#include <gtest/gtest.h>

#include "embedded/wire/json_text.h"

namespace hookd::embedded {
namespace {

const About kPod{"", "pods", "Pod", "a"};
const About kDeployment{"apps", "deployments", "Deployment", "d"};

TEST(StatusError, NamesTheResourceAsTheRealServer) {
  const auto error = not_found(kDeployment);
  EXPECT_EQ(error.code, 404);
  EXPECT_EQ(error.message, "deployments.apps \"d\" not found");
  EXPECT_EQ(to_text(to_status(error)),
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":)"
            R"("deployments.apps \"d\" not found","reason":"NotFound",)"
            R"("details":{"name":"d","group":"apps","kind":"deployments"},"code":404})");
}

TEST(StatusError, AnUnknownPathHasEmptyDetails) {
  EXPECT_EQ(to_text(to_status(path_not_found())["details"]), "{}");
  EXPECT_FALSE(to_status(bad_request("x")).contains("details"));
}

TEST(StatusError, AForbiddenListHasNoName) {
  EXPECT_EQ(forbidden({"", "pods", "Pod", ""}, "no").message, "pods is forbidden: no");
  EXPECT_EQ(forbidden(kPod, "no").message, "pods \"a\" is forbidden: no");
}

TEST(StatusError, InvalidTellsOneProblemAndListsSeveral) {
  const FieldError required{FieldError::Type::kRequired, "metadata.name", "name or generateName is required"};
  const FieldError number{FieldError::Type::kInvalid, "spec.replicas", "must be greater than or equal to 0", -1};
  EXPECT_EQ(invalid({"apps", "deployments", "Deployment", ""}, {required}).message,
            "Deployment.apps \"\" is invalid: metadata.name: Required value: name or generateName is required");
  const auto both = invalid(kPod, {required, number});
  EXPECT_EQ(both.message,
            "Pod \"a\" is invalid: [metadata.name: Required value: name or generateName is required, "
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0]");
  EXPECT_EQ(to_text(both.details.at("causes").at(1)),
            R"({"reason":"FieldValueInvalid","message":"Invalid value: -1: must be greater than or equal to 0",)"
            R"("field":"spec.replicas"})");
}

TEST(StatusError, TheSameProblemTwiceIsToldOnceWithBothCauses) {
  const FieldError immutable{FieldError::Type::kInvalid, "metadata.uid", "field is immutable", "b"};
  const auto error = invalid(kPod, {immutable, immutable});
  EXPECT_EQ(error.message, "Pod \"a\" is invalid: metadata.uid: Invalid value: \"b\": field is immutable");
  EXPECT_EQ(error.details.at("causes").as_array().size(), 2u);
}

TEST(FieldError, ShowsValuesAsGoDoes) {
  EXPECT_EQ((FieldError{FieldError::Type::kInvalid, "f", "", "a\"b\x01"}.body()), R"(Invalid value: "a\"b\x01")");
  EXPECT_EQ((FieldError{FieldError::Type::kDuplicate, "f", "", json::array{1, "x"}}.body()),
            R"(Duplicate value: [1,"x"])");
  EXPECT_EQ((FieldError{FieldError::Type::kNotSupported, "f", "", "x", {"A", "B"}}.body()),
            R"(Unsupported value: "x": supported values: "A", "B")");
  EXPECT_EQ((FieldError{FieldError::Type::kTooLong, "f", "may not be more than 5 bytes", "long"}.body()),
            "Too long: may not be more than 5 bytes");
}

TEST(StatusError, ATooLargeVersionIsATimeout) {
  const auto error = too_large_resource_version(9, 5);
  EXPECT_EQ(error.code, 504);
  EXPECT_EQ(error.message, "Timeout: Too large resource version: 9, current: 5");
  EXPECT_EQ(error.details.at("causes").at(0).at("reason"), "ResourceVersionTooLarge");
  EXPECT_EQ(error.details.at("retryAfterSeconds"), 1);
}

}  // namespace
}  // namespace hookd::embedded
