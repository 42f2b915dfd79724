// Rules: k8s-client.md R27-R30, R34, R46, W11, W15, W16, section 11.
#include "kube/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/kube/scripted_api.h"

namespace hookd::kube {
namespace {

using namespace std::chrono_literals;
using test::status_of;
using testing::HasSubstr;

TEST(Status, ReasonDecidesBeforeTheCode) {  // R29
  struct Row {
    int code;
    const char* reason;
    Errc wanted;
  };
  const Row rows[] = {{401, "Unauthorized", Errc::kUnauthorized},
                      {403, "Forbidden", Errc::kForbidden},
                      {404, "NotFound", Errc::kNotFound},
                      {409, "AlreadyExists", Errc::kExists},
                      {409, "Conflict", Errc::kConflict},
                      {410, "Gone", Errc::kGone},
                      {410, "Expired", Errc::kGone},
                      {500, "Expired", Errc::kGone},
                      {422, "Invalid", Errc::kInvalid},
                      {400, "BadRequest", Errc::kInvalid},
                      {405, "MethodNotAllowed", Errc::kInvalid},
                      {406, "NotAcceptable", Errc::kInvalid},
                      {415, "UnsupportedMediaType", Errc::kInvalid},
                      {413, "RequestEntityTooLarge", Errc::kInvalid},
                      {429, "TooManyRequests", Errc::kThrottled},
                      {504, "Timeout", Errc::kTimeout},
                      {500, "ServerTimeout", Errc::kUnavailable},
                      {500, "InternalError", Errc::kUnavailable},
                      {503, "ServiceUnavailable", Errc::kUnavailable},
                      {500, "StorageReadError", Errc::kUnavailable},
                      // By the code where the reason is none or unknown; 429 and 413 by the code alone.
                      {404, "", Errc::kNotFound},
                      {410, "New", Errc::kGone},
                      {502, "", Errc::kUnavailable},
                      {418, "", Errc::kInvalid},
                      {429, "InternalError", Errc::kThrottled},
                      {413, "InternalError", Errc::kInvalid}};
  for (const auto& row : rows) {
    const Error error = error_from_answer(row.code, status_of(row.code, row.reason, "words"), "", "GET");
    EXPECT_EQ(error.code, row.wanted) << row.code << " " << row.reason << ": " << to_string(error.code);
    EXPECT_EQ(error.reason, row.reason);
    EXPECT_EQ(error.http_status, row.code);
    EXPECT_EQ(error.what, "words");
  }
}

TEST(Status, TextAndHtmlBodiesAreKeptInPart) {  // R46, W15
  const Error missing = error_from_answer(404, "404 page not found\n", "", "GET");
  EXPECT_EQ(missing.code, Errc::kNotFound);
  EXPECT_EQ(missing.what, "HTTP 404: 404 page not found");
  const Error proxy = error_from_answer(502, "<html>" + std::string(100'000, 'x'), "", "GET");
  EXPECT_EQ(proxy.code, Errc::kUnavailable);
  EXPECT_LT(proxy.what.size(), 2200U);
  EXPECT_EQ(error_from_answer(500, "", "", "GET").what, "HTTP 500");
}

TEST(Status, ABare409DependsOnTheVerb) {  // W15
  EXPECT_EQ(error_from_answer(409, "", "", "POST").code, Errc::kExists);
  EXPECT_EQ(error_from_answer(409, "", "", "PUT").code, Errc::kConflict);
  EXPECT_EQ(error_from_answer(409, "", "", "PATCH").code, Errc::kConflict);
}

TEST(Status, RetryAfterIsWholeSeconds) {  // R34
  EXPECT_EQ(error_from_answer(429, "", "7", "GET").retry_after, 7s);
  EXPECT_EQ(error_from_answer(503, "", "0", "GET").retry_after, 0s);
  for (const auto* text : {"", "soon", "-1", "1.5", "7 ", "Wed, 21 Oct 2026 07:28:00 GMT", "99999999999999999999"})
    EXPECT_FALSE(error_from_answer(429, "", text, "GET").retry_after) << text;
  EXPECT_EQ(error_from_answer(429, "", "999999999999", "GET").retry_after, 24h);
}

TEST(Status, RetryAfterSecondsOfTheDetails) {
  EXPECT_EQ(error_from_answer(429, status_of(429, "TooManyRequests", "m", R"({"retryAfterSeconds":3})"), "", "GET")
                .retry_after,
            3s);
  EXPECT_EQ(error_from_answer(429, status_of(429, "TooManyRequests", "m", R"({"retryAfterSeconds":3})"), "9", "GET")
                .retry_after,
            9s);
  for (const auto* details : {"null", "{}", R"({"retryAfterSeconds":0})", R"({"retryAfterSeconds":-5})",
                              R"({"retryAfterSeconds":"x"})", "[]", "7"})
    EXPECT_FALSE(error_from_answer(429, status_of(429, "TooManyRequests", "m", details), "", "GET").retry_after)
        << details;
  // Not an overflow of the clock.
  EXPECT_EQ(error_from_answer(429, status_of(429, "", "m", R"({"retryAfterSeconds":9223372036854775807})"), "", "GET")
                .retry_after,
            24h);
}

TEST(Status, CausesThatSayMoreBecomeTheReason) {
  for (const auto* reason :
       {"ResourceVersionTooLarge", "FieldManagerConflict", "NamespaceTerminating", "DisruptionBudget"}) {
    const auto body = status_of(409, "Conflict", "m",
                                fmt::format(R"({{"causes":[{{"reason":"Other"}},null,{{"reason":"{}"}}]}})", reason));
    EXPECT_EQ(error_from_answer(409, body, "", "PATCH").reason, reason);
  }
}

TEST(Status, TooLargeResourceVersionInAllItsForms) {  // R30
  EXPECT_TRUE(is_resource_version_too_large(
      error_from_answer(504,
                        status_of(504, "Timeout", "Timeout: Too large resource version: 5, current: 4",
                                  R"({"causes":[{"reason":"ResourceVersionTooLarge"}],"retryAfterSeconds":1})"),
                        "1", "GET")));
  EXPECT_TRUE(is_resource_version_too_large(
      error_from_answer(504, status_of(504, "Timeout", "Too large resource version: 5, current: 4"), "1", "GET")
          .with("list Pod (v1)")));
  EXPECT_TRUE(is_resource_version_too_large(error_from_answer(
      504, status_of(504, "Timeout", "wait", R"({"causes":[{"message":"Too large resource version"}]})"), "1", "GET")));
  EXPECT_FALSE(is_resource_version_too_large(error_from_answer(504, status_of(504, "Timeout", "timeout"), "1", "GET")));
  EXPECT_FALSE(is_resource_version_too_large(
      error_from_answer(400, status_of(400, "BadRequest", "Too large resource version"), "", "GET")));
}

TEST(Status, AnErrorEventCarriesItsOwnCode) {  // R27
  const Error gone = error_from_status(status_of(410, "Expired", "too old resource version: 1 (5)"), "GET");
  EXPECT_EQ(gone.code, Errc::kGone);
  EXPECT_EQ(gone.http_status, 410);
  const Error meta = error_from_status(
      R"({"kind":"Status","apiVersion":"meta.k8s.io/v1","status":"Failure","code":500,"reason":"StorageReadError"})",
      "GET");
  EXPECT_EQ(meta.code, Errc::kUnavailable);
  EXPECT_EQ(meta.reason, "StorageReadError");
  EXPECT_THAT(meta.what, HasSubstr("StorageReadError"));
  EXPECT_EQ(error_from_status(R"({"some":"thing"})", "GET").code, Errc::kUnavailable);
  EXPECT_EQ(error_from_status(R"({"kind":"Status","status":"Failure"})", "GET").code, Errc::kUnavailable);
}

TEST(Status, ARefusalForTheContentIsPermanentThoughItIsA500) {  // section 11
  const auto code = [](std::string_view message, std::string_view retry_after = "") {
    return error_from_answer(
               500, fmt::format(R"({{"kind":"Status","status":"Failure","code":500,"message":"{}"}})", message),
               retry_after, "PATCH")
        .code;
  };
  EXPECT_EQ(code("failed to create typed patch object (a/b; apps/v1, Kind=Deployment): .spec.replicas: expected "
                 "numeric (int or float), got string"),
            Errc::kInvalid);
  EXPECT_EQ(code(R"(.status.extra: field not declared in schema)"), Errc::kInvalid);
  EXPECT_EQ(code("etcdserver: leader changed"), Errc::kUnavailable);
  EXPECT_EQ(code("failed to create typed patch object", "1"), Errc::kUnavailable);
}

TEST(Status, AFailureInASuccessfulAnswerIsSeen) {  // W11
  EXPECT_TRUE(is_failed_status(status_of(500, "InternalError")));
  EXPECT_TRUE(is_failed_status("{\n  \"kind\": \"Status\",\n  \"apiVersion\": \"v1\",\n  \"status\": \"Failure\"\n}"));
  EXPECT_TRUE(is_failed_status(R"({"kind":"Status","apiVersion":"v1"})"));
  EXPECT_FALSE(is_failed_status(R"({"kind":"Status","apiVersion":"v1","status":"Success"})"));
  EXPECT_FALSE(is_failed_status(R"({"kind":"Pod","status":{"a":"Status"}})"));
  EXPECT_FALSE(is_failed_status(
      R"({"kind":"Status","apiVersion":"example.com/v1","status":{}})"));  // somebody's custom resource
  EXPECT_FALSE(is_failed_status(""));
  EXPECT_FALSE(is_failed_status("\"Status\""));
}

}  // namespace
}  // namespace hookd::kube
