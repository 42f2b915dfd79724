#include "compat/metacontroller/webhook_caller.h"

#include <gmock/gmock.h>

#include "kube/base64.h"
#include "net/certificate.h"
#include "unit/support/fake_cluster.h"
#include "unit/support/fake_launcher.h"
#include "unit/support/scripted_transport.h"

namespace hookd::metacontroller {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Kind = hook::Reply::Kind;
using Asked = test::ScriptedTransport::Asked;

class WebhookCallerTest : public testing::Test {
 protected:
  WebhookCallerTest() {
    cluster.serve(test::make_type("", "Secret", "secrets"));
    webhook.url = "https://hooks.shop:8443/sync?token=q5";
    auto spec = std::make_shared<ControllerSpec>();
    spec->name = "catset";
    spec->text = std::make_shared<const std::string>("{}");
    controller = spec;
  }
  void secret(const std::string& name, const std::string& key, const std::string& value) {
    cluster.put(test::make_type("", "Secret", "secrets"),
                fmt::format(R"({{"metadata":{{"name":"{}","namespace":"n"}},"data":{{"{}":"{}"}}}})", name, key,
                            kube::base64_encode(value)));
  }
  void bearer() {
    secret("token", "t", " s3cret-one\n");
    webhook.auth.authorization = {"n", "token", "t"};
  }
  std::unique_ptr<hook::OpenCall> start(const std::string& uid = "u1", size_t children = 0) {
    if (!caller)
      caller = std::make_unique<WebhookCaller>(
          controller, HookRole::kSync, webhook,
          hook::CallerServices{scheduler, random, launcher, &transport, metrics, 100'000, "", "", {}, &breakers},
          &cluster);
    HookRequest request;
    request.controller = controller;
    request.parent = "{}";
    request.parent_uid = uid;
    if (children > 0) request.children.push_back({"v1", "Pod", {}});
    for (size_t i = 0; i < children; ++i)
      request.children[0].objects.push_back(test::make_object(
          "", fmt::format("p{}", i), "u", "1", fmt::format(R"({{"pad":"{}"}})", std::string(10'000, 'x'))));
    auto call = std::make_shared<hook::Call>();
    call->id = "c1";
    call->body = std::make_shared<RequestBody>(std::move(request));
    hook::CallRequest ask;
    ask.call = call;
    ask.replied = [this](hook::Reply reply) { replies.push_back(std::move(reply)); };
    return caller->start(std::move(ask));
  }
  // One call from start to reply, which the transport answers as `answer` does.
  hook::Reply call(const std::function<void(Asked&)>& answer, const std::string& uid = "u1") {
    const size_t before = replies.size();
    const auto open = start(uid);
    scheduler.run_posted();
    if (replies.size() == before) answer(transport.last());
    scheduler.run_posted();
    EXPECT_EQ(replies.size(), before + 1);
    return replies.empty() ? hook::Reply() : replies.back();
  }
  static std::function<void(Asked&)> with(int status, std::string body = "", Asked::Headers headers = {}) {
    return [=](Asked& asked) { asked.answer(status, body, headers); };
  }

  ManualScheduler scheduler;
  SeededRandom random;
  test::FakeLauncher launcher{scheduler};
  test::ScriptedTransport transport;
  test::FakeCluster cluster{scheduler};
  metrics::Registry metrics;
  hook::Breakers breakers{scheduler, random, metrics};
  std::shared_ptr<const ControllerSpec> controller;
  Webhook webhook;
  std::unique_ptr<WebhookCaller> caller;
  std::vector<hook::Reply> replies;
};

TEST_F(WebhookCallerTest, PostsTheRequest) {
  const auto reply = call(with(200, R"({"children":[]})"));
  EXPECT_EQ(reply.kind, Kind::kAnswered);
  EXPECT_EQ(reply.text, R"({"children":[]})");
  Asked& asked = transport.last();
  EXPECT_EQ(asked.request.method, "POST");
  EXPECT_EQ(asked.request.url, webhook.url);
  EXPECT_EQ(asked.header("Content-Type"), "application/json");
  EXPECT_EQ(asked.header("If-None-Match"), "");
  EXPECT_EQ(asked.request.total_timeout, 10s);
  EXPECT_EQ(asked.request.pool, net::Pool::kHook);
  EXPECT_EQ(asked.read_body(), R"({"controller":{},"parent":{},"children":{},"related":{},"finalizing":false})"
                               "\n");
}

TEST_F(WebhookCallerTest, ALargeRequestIsNotHeldWhole) {
  const auto open = start("u1", 200);
  for (int i = 0; i < 20 && transport.asked.empty(); ++i) scheduler.run_posted();
  ASSERT_FALSE(transport.asked.empty());
  EXPECT_TRUE(transport.last().request.body.empty());
  EXPECT_GT(transport.last().read_body().size(), 2'000'000u);
  EXPECT_LT(transport.last().largest_piece, 200'000u);
}

TEST_F(WebhookCallerTest, AnythingBut200IsAFailureToBeTriedAgain) {
  for (const int status : {201, 204, 301, 304, 400, 404, 412, 500}) {
    const auto reply = call(with(status, "it went wrong\nmore", {{"content-type", "text/plain"}}));
    EXPECT_EQ(reply.kind, Kind::kFailed) << status;
    EXPECT_THAT(reply.why, AllOf(HasSubstr(fmt::format("answered {}", status)), HasSubstr("it went wrong"),
                                 HasSubstr("sync hook https://hooks.shop:8443/sync"), Not(HasSubstr("q5"))));
  }
}

TEST_F(WebhookCallerTest, A429IsLaterAndWithoutRetryAfterByTheBackOff) {
  auto reply = call(with(429, "", {{"retry-after", "7"}}));
  EXPECT_EQ(reply.kind, Kind::kLater);
  EXPECT_EQ(reply.at_least, 7s);
  reply = call(with(429));
  EXPECT_EQ(reply.kind, Kind::kLater);
  EXPECT_EQ(reply.at_least, 0s);
  reply = call(with(429, "", {{"retry-after", "Thu, 01 Jan 2026 00:01:00 GMT"}}));
  EXPECT_EQ(reply.at_least, 60s);
}

TEST_F(WebhookCallerTest, AKeptAnswerIsUsedForA304) {
  webhook.etag = true;
  EXPECT_EQ(call(with(200, "first", {{"etag", "\"e1\""}})).text, "first");
  for (const int status : {304, 412}) {
    const auto reply = call([&](Asked& asked) {
      EXPECT_EQ(asked.header("If-None-Match"), "\"e1\"");
      asked.answer(status, "", {});
    });
    EXPECT_EQ(reply.kind, Kind::kAnswered);
    EXPECT_EQ(reply.text, "first");
  }
  const auto other = call(with(304), "u2");
  EXPECT_EQ(other.kind, Kind::kFailed) << "another parent was never answered";
  EXPECT_EQ(transport.last().header("If-None-Match"), "");
  EXPECT_EQ(call(with(200, "second")).text, "second");
  EXPECT_EQ(call(with(304)).kind, Kind::kFailed) << "an answer without ETag takes the kept one away";
}

TEST_F(WebhookCallerTest, AKeptAnswerThatIsTooOldIsNotSent) {
  webhook.etag = true;
  webhook.etag_timeout = 60s;
  call(with(200, "first", {{"etag", "\"e1\""}}));
  scheduler.advance(61s);
  call(with(200, "again"));
  EXPECT_EQ(transport.last().header("If-None-Match"), "");
}

TEST_F(WebhookCallerTest, A304IsAnsweredWithTheBodyOfTheETagThatWasSent) {
  webhook.etag = true;
  call(with(200, "first", {{"etag", "\"e1\""}}));
  const auto slow = start();
  scheduler.run_posted();
  const auto waiting = transport.asked.back();
  call(with(200, "second", {{"etag", "\"e2\""}}));
  waiting->answer(304, "", {});
  EXPECT_EQ(replies.back().text, "first");
}

TEST_F(WebhookCallerTest, ABearerTokenIsReadFromItsSecret) {
  bearer();
  const auto reply = call(with(500, "you sent s3cret-one", {{"content-type", "text/plain"}}));
  EXPECT_EQ(transport.last().header("Authorization"), "Bearer s3cret-one");
  EXPECT_THAT(reply.why, AllOf(HasSubstr("you sent ***"), Not(HasSubstr("s3cret"))));
}

TEST_F(WebhookCallerTest, BasicAuthIsCoded) {
  cluster.put(test::make_type("", "Secret", "secrets"),
              fmt::format(R"({{"metadata":{{"name":"b","namespace":"n"}},"data":{{"username":"{}","password":"{}"}}}})",
                          kube::base64_encode("ann"), kube::base64_encode("p:w\n")));
  webhook.auth.basic.name = "b";
  webhook.auth.basic.ns = "n";
  call(with(200, "{}"));
  EXPECT_EQ(transport.last().header("Authorization"), "Basic " + kube::base64_encode("ann:p:w"));
}

TEST_F(WebhookCallerTest, AMissingSecretFailsTheCallAndIsLookedForAgain) {
  webhook.auth.authorization = {"n", "token", "t"};
  auto reply = call(with(200, "{}"));
  EXPECT_EQ(reply.kind, Kind::kFailed);
  EXPECT_THAT(reply.why, HasSubstr("the Secret n/token"));
  EXPECT_TRUE(transport.asked.empty()) << "nothing is sent without the token";
  secret("token", "another", "x");
  scheduler.advance(6s);
  EXPECT_THAT(call(with(200, "{}")).why, HasSubstr("the key t is missing or empty"));
  bearer();
  scheduler.advance(6s);
  EXPECT_EQ(call(with(200, "{}")).kind, Kind::kAnswered);
}

TEST_F(WebhookCallerTest, ARotatedSecretIsTakenUpWithinAMinute) {
  bearer();
  call(with(200, "{}"));
  secret("token", "t", "s3cret-two");
  call(with(200, "{}"));
  EXPECT_EQ(transport.last().header("Authorization"), "Bearer s3cret-one");
  scheduler.advance(61s);
  call(with(200, "{}"));
  EXPECT_EQ(transport.last().header("Authorization"), "Bearer s3cret-two");
}

TEST_F(WebhookCallerTest, A401ReadsTheSecretAnewAndTriesOnceMore) {
  bearer();
  call(with(200, "{}"));
  secret("token", "t", "s3cret-two");
  scheduler.advance(10s);
  const auto open = start();
  scheduler.run_posted();
  transport.last().answer(401, "");
  scheduler.run_posted();
  ASSERT_EQ(transport.asked.size(), 3u);
  EXPECT_EQ(transport.last().header("Authorization"), "Bearer s3cret-two");
  EXPECT_THAT(transport.last().read_body(), HasSubstr("\"finalizing\":false"));
  transport.last().answer(200, "{}");
  EXPECT_EQ(replies.back().kind, Kind::kAnswered);
}

TEST_F(WebhookCallerTest, A401WithTheSameSecretIsNotRepeated) {
  bearer();
  scheduler.advance(10s);
  call(with(200, "{}"));
  scheduler.advance(10s);
  const auto reply = call(with(401));
  EXPECT_EQ(transport.asked.size(), 2u);
  EXPECT_THAT(reply.why, HasSubstr("401"));
  EXPECT_THAT(caller->trouble().value_or(""), HasSubstr("401"));
}

TEST_F(WebhookCallerTest, ASecretThatWasDeletedIsNotShownAnyMore) {
  bearer();
  call(with(200, "{}"));
  cluster.remove(test::make_type("", "Secret", "secrets"), "n", "token");
  scheduler.advance(61s);
  EXPECT_EQ(call(with(200, "{}")).kind, Kind::kFailed);
  EXPECT_EQ(transport.asked.size(), 1u);
}

TEST_F(WebhookCallerTest, WhatWasReadStaysInUseWhileTheApiServerDoesNotAnswer) {
  bearer();
  call(with(200, "{}"));
  cluster.intercept = [](const kube::ApiRequest&) { return fail(Errc::kUnavailable, "503"); };
  scheduler.advance(61s);
  EXPECT_EQ(call(with(200, "{}")).kind, Kind::kAnswered);
  EXPECT_EQ(transport.last().header("Authorization"), "Bearer s3cret-one");
}

TEST_F(WebhookCallerTest, ACertificateThatIsRefusedReadsTheCaAnew) {
  const net::Validity validity{ManualScheduler::kStart, ManualScheduler::kStart + 24h};
  const auto first = net::CertificateAuthority::create("one", validity).value();
  const auto second = net::CertificateAuthority::create("two", validity).value();
  secret("ca", "ca.crt", first.certificate_pem);
  webhook.auth.ca_secret = {"n", "ca", "ca.crt"};
  call(with(200, "{}"));
  secret("ca", "ca.crt", second.certificate_pem);
  scheduler.advance(10s);
  const auto open = start();
  scheduler.run_posted();
  const std::string before = transport.last().request.tls->ca_pem;
  transport.last().done(fail(Errc::kTls, "certificate verify failed"));
  scheduler.run_posted();
  ASSERT_EQ(transport.asked.size(), 3u);
  EXPECT_NE(transport.last().request.tls->ca_pem, before);
  transport.last().answer(200, "{}");
  EXPECT_EQ(replies.back().kind, Kind::kAnswered);
}

TEST_F(WebhookCallerTest, ABadCaIsNamed) {
  webhook.auth.ca_inline = "no pem";
  EXPECT_THAT(call(with(200, "{}")).why, HasSubstr("caBundle.inline"));
}

TEST_F(WebhookCallerTest, TimesOutAsAWhole) {
  webhook.timeout = 3s;
  const auto reply = call([](Asked& asked) {
    EXPECT_EQ(asked.request.total_timeout, 3s);
    asked.done(fail(Errc::kTimeout, "no answer"));
  });
  EXPECT_EQ(reply.result, "timeout");
  EXPECT_THAT(reply.why, HasSubstr("timed out after 3s"));
}

TEST_F(WebhookCallerTest, AnAnswerOverTheLimitFails) {
  EXPECT_THAT(call(with(200, std::string(100'001, 'x'))).why, HasSubstr("more than 100000 bytes"));
}

TEST_F(WebhookCallerTest, AnOutageClosesTheEndpointForAWhile) {
  for (int i = 0; i < hook::Breaker::kFailuresToOpen; ++i) call([](Asked& asked) { asked.refuse(); });
  EXPECT_FALSE(caller->ready());
  const size_t before = transport.asked.size();
  const auto reply = call(with(200, "{}"));
  EXPECT_EQ(reply.kind, Kind::kLater);
  EXPECT_FALSE(reply.counted);
  EXPECT_EQ(transport.asked.size(), before);
  EXPECT_TRUE(caller->trouble());
  scheduler.advance(2min);
  EXPECT_TRUE(caller->ready());
  EXPECT_EQ(call(with(200, "{}")).kind, Kind::kAnswered);
}

TEST_F(WebhookCallerTest, AHookThatFailsForOneParentDoesNotKeepOthersWaiting) {
  for (int i = 0; i < 2 * hook::Breaker::kFailuresToOpen; ++i) call(with(500, "KeyError"));
  EXPECT_TRUE(caller->ready());
  for (int i = 0; i < hook::Breaker::kFailuresToOpen; ++i) call(with(503));
  EXPECT_FALSE(caller->ready()) << "nothing is behind the gateway";
}

TEST_F(WebhookCallerTest, MetricsHaveUpstreamsNames) {
  call(with(200, "{}"));
  const auto open = start();
  scheduler.run_posted();
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr(R"(metacontroller_sync_requests_total{code="200",controller_name="catset",)"
                              R"(controller_type="CompositeController",method="post",)"
                              R"(url="https://hooks.shop:8443/sync"} 1)"));
  EXPECT_THAT(text, HasSubstr("metacontroller_sync_in_flight_requests{"));
  EXPECT_THAT(text, HasSubstr("metacontroller_sync_request_duration_histogram_seconds_count{"));
  EXPECT_THAT(text, Not(HasSubstr("q5")));
}

// A reply's call is let go in a turn of its own, when its controller may be gone.
TEST_F(WebhookCallerTest, ACallThatIsOverMayOutliveItsCaller) {
  auto open = start();
  scheduler.run_posted();
  transport.last().answer(200, "{}");
  caller.reset();
  open.reset();
  EXPECT_EQ(replies.size(), 1u);
  EXPECT_THAT(metrics.text(), Not(HasSubstr("in_flight_requests{")));
}

}  // namespace
}  // namespace hookd::metacontroller
