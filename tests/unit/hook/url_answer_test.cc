#include "hook/url_answer.h"

#include <gmock/gmock.h>

namespace hookd::hook {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Kind = Reply::Kind;

constexpr WallTime kNow = ManualScheduler::kStart;  // 2026-01-01T00:00:00Z, a Thursday

Reply reply(int status, std::string body = {}, std::vector<std::pair<std::string, std::string>> headers = {},
            std::vector<std::string> secrets = {}) {
  return reply_to({{status, std::move(headers)}, std::move(body)}, "http://h/pods", secrets, kNow);
}
Reply typed(std::string type, std::string body, int status = 200) {
  return reply(status, std::move(body), {{"content-type", std::move(type)}});
}

TEST(UrlAnswer, TwoHundredsAreTheAnswer) {
  for (const int status : {200, 201, 202, 203, 204}) {
    const Reply answered = typed("application/json", R"({"operations":[]})", status);
    EXPECT_EQ(answered.kind, Kind::kAnswered) << status;
    EXPECT_EQ(answered.text, R"({"operations":[]})");
  }
  EXPECT_EQ(reply(204).kind, Kind::kAnswered);
  for (const int status : {206, 226, 100}) EXPECT_EQ(typed("application/json", "{}", status).kind, Kind::kFailed);
}

TEST(UrlAnswer, TakesTheTypesThatDocumentsHave) {
  for (const char* type : {"", "application/json; charset=UTF-8", "application/yaml", "text/yaml; charset=\"utf-8\"",
                           "text/plain", "application/problem+json", "application/octet-stream", "Application/JSON"})
    EXPECT_EQ(typed(type, "kind: Pod\n").kind, Kind::kAnswered) << type;
  const Reply image = typed("image/png", "\x89PNG");
  EXPECT_EQ(image.kind, Kind::kFailed);
  EXPECT_THAT(image.why, AllOf(HasSubstr("image/png"), HasSubstr("expected application/json")));
  EXPECT_THAT(typed("application/json; charset=utf-16", "{}").why, HasSubstr("expected utf-8"));
  EXPECT_THAT(reply(200, "\x1f\x8b", {{"content-encoding", "gzip"}}).why, HasSubstr("none was asked for"));
  EXPECT_EQ(typed("image/png", "").kind, Kind::kAnswered) << "nothing is nothing";
}

TEST(UrlAnswer, HtmlIsSomethingElseThanTheHook) {
  const Reply page = typed("text/html; charset=utf-8", "<html><head><title>Sign in\nhere</title>", 200);
  EXPECT_EQ(page.kind, Kind::kFailed);
  EXPECT_THAT(page.why, AllOf(HasSubstr("\"Sign in\""), HasSubstr("login page or a proxy")));
  EXPECT_EQ(typed("application/json", " \n<!DOCTYPE html><p>x").kind, Kind::kFailed);
  EXPECT_THAT(typed("text/html", "<title>Oops</title>", 502).why, HasSubstr("an HTML page, \"Oops\""));
}

TEST(UrlAnswer, RedirectsAreNotFollowedAndNamed) {
  const Reply moved = reply(302, "", {{"location", "https://user:pw@login.example.com/x?token=abc"}});
  EXPECT_EQ(moved.kind, Kind::kFailed);
  EXPECT_THAT(moved.why, AllOf(HasSubstr("302 to https://login.example.com/x:"), HasSubstr("run.url"),
                               Not(HasSubstr("token")), Not(HasSubstr("pw"))));
  EXPECT_THAT(reply(304).why, HasSubstr("without saying where to"));
}

TEST(UrlAnswer, WhatMayPassIsRetriedAndTheRestIsNot) {
  for (const int status : {408, 425, 429, 500, 502, 503, 504}) {
    EXPECT_EQ(reply(status).kind, Kind::kFailed) << status;
    EXPECT_EQ(reply(status).result, "failed");
  }
  for (const int status : {400, 402, 405, 409, 410, 413, 415, 422, 451}) {
    EXPECT_EQ(reply(status).kind, Kind::kRefused) << status;
    EXPECT_EQ(reply(status).result, "refused");
  }
  EXPECT_THAT(reply(401).why, AllOf(HasSubstr("401 Unauthorized"), HasSubstr("run.auth")));
  EXPECT_THAT(reply(403).why, HasSubstr("run.auth.hmac"));
  EXPECT_THAT(reply(404).why, HasSubstr("the path of run.url"));
  for (const int status : {401, 403, 404})
    EXPECT_EQ(reply(status).kind, Kind::kFailed) << "the configuration is mended";
}

TEST(UrlAnswer, RetryAfterIsHeeded) {
  for (const int status : {429, 503}) {
    const Reply later = reply(status, "", {{"retry-after", "120"}});
    EXPECT_EQ(later.kind, Kind::kLater) << status;
    EXPECT_EQ(later.at_least, 2min);
    EXPECT_THAT(later.why, HasSubstr("2m"));
  }
  const Reply failed = reply(500, "", {{"retry-after", "Thu, 01 Jan 2026 00:00:30 GMT"}});
  EXPECT_EQ(failed.kind, Kind::kFailed);
  EXPECT_EQ(failed.at_least, 30s);
  EXPECT_EQ(reply(429, "", {{"retry-after", "soon"}}).kind, Kind::kFailed);
}

TEST(RetryAfter, IsSecondsOrADateAndBounded) {
  EXPECT_EQ(parse_retry_after(" 7 ", kNow), 7s);
  EXPECT_EQ(parse_retry_after("0", kNow), 0s);
  EXPECT_EQ(parse_retry_after("Thursday, 01-Jan-26 00:01:00 GMT", kNow), 1min);
  EXPECT_EQ(parse_retry_after("Thu Jan  1 00:02:00 2026", kNow), 2min);
  EXPECT_EQ(parse_retry_after("Wed, 31 Dec 2025 23:59:00 GMT", kNow), 0s) << "past";
  EXPECT_EQ(parse_retry_after("86400", kNow), kMaxRetryAfter);
  EXPECT_EQ(parse_retry_after("99999999999999999999999", kNow), kMaxRetryAfter);
  EXPECT_EQ(parse_retry_after("Fri, 01 Jan 2100 00:00:00 GMT", kNow), kMaxRetryAfter);
  for (const char* text : {"", "-1", "1.5", "5s", "tomorrow", "Thu, 01 Jan 2026 00:00:30 CET"})
    EXPECT_EQ(parse_retry_after(text, kNow), std::nullopt) << text;
}

TEST(UrlAnswer, TellsWhatTheEndpointSaysButNoDocumentAndNoSecret) {
  EXPECT_THAT(reply(500, "no such table\nsecond line").why,
              AllOf(HasSubstr("it says: no such table"), Not(HasSubstr("second"))));
  EXPECT_THAT(typed("application/json", R"({"error":"bad \u0007thing"})", 422).why, HasSubstr("it says: bad thing"));
  EXPECT_THAT(typed("application/json", R"({"kind":"Secret","data":{"p":"aGk="}})", 500).why, Not(HasSubstr("aGk=")));
  EXPECT_THAT(typed("application/yaml", "kind: Secret\ndata: {p: aGk=}", 500).why, Not(HasSubstr("aGk=")));
  EXPECT_LT(reply(500, std::string(100'000, 'x')).why.size(), 400u);
  const Reply echo = reply(401, "wrong token s3cr3t-token, I said s3cr3t-token", {}, {"", "s3cr3t-token"});
  EXPECT_THAT(echo.why, AllOf(HasSubstr("wrong token ***, I said ***"), Not(HasSubstr("s3cr3t"))));
}

TEST(UrlForLog, HasNoSecretsInIt) {
  EXPECT_EQ(url_for_log("https://u:p@h:1/a/b?key=1#x"), "https://h:1/a/b");
  EXPECT_EQ(url_for_log("https://h/a@b"), "https://h/a@b");
  EXPECT_EQ(url_for_log("https://h?x@y"), "https://h");
}

}  // namespace
}  // namespace hookd::hook
