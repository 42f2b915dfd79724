#include "hook/url_caller.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "net/certificate.h"
#include "net/hmac.h"
#include "unit/support/fake_launcher.h"
#include "unit/support/log_tap.h"
#include "unit/support/objects.h"
#include "unit/support/scratch_folder.h"
#include "unit/support/scripted_transport.h"

namespace hookd::hook {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Kind = Reply::Kind;

std::string text_of(const test::LogTap& tap) {
  std::string text;
  for (const auto& record : tap.records) text += record.line + "\n";
  return text;
}

class UrlCallerTest : public testing::Test {
 protected:
  UrlCallerTest() {
    hook->name = "h";
    hook->run.mode = Run::Mode::kUrl;
    hook->run.url.url = "https://hooks.example.com/pods?key=q5";
  }

  std::string file(const std::string& name, const std::string& content) { return scratch.file(name, content); }

  void make() {
    caller = std::make_unique<UrlCaller>(
        hook, CallerServices{scheduler, random, launcher, &transport, metrics, 1000, folder, "", {}, &breakers});
  }
  // `objects`: how many of 10 KiB the call has.
  std::unique_ptr<OpenCall> start(size_t objects = 0, const std::string& id = "c1") {
    if (!caller) make();
    auto call = std::make_shared<Call>();
    call->hook = "h";
    call->id = id;
    call->attempt = 3;
    for (size_t i = 0; i < objects; ++i) {
      std::string object = test::object_json(test::pods(), "a", "p", "u");
      object.insert(1, "\"pad\":\"" + std::string(10'000, 'x') + "\",");
      call->objects["pods"].entries.push_back({test::make_object("a", "p", "u", "1", object), nullptr});
    }
    CallRequest request;
    request.call = call;
    request.replied = [this](Reply reply) { replies.push_back(std::move(reply)); };
    auto open = caller->start(std::move(request));
    EXPECT_TRUE(transport.asked.empty() || transport.last().over || id != "c1") << "nothing is sent inside start()";
    return open;
  }
  const Reply& reply() {
    scheduler.run_posted();
    EXPECT_FALSE(replies.empty());
    return replies.back();
  }
  // One call from start to reply.
  Reply call(const std::function<void(test::ScriptedTransport::Asked&)>& answer) {
    const size_t before = replies.size();
    const auto open = start(0, "again");
    scheduler.run_posted();
    if (replies.size() == before) answer(transport.last());
    return reply();
  }

  ManualScheduler scheduler;
  SeededRandom random;
  test::FakeLauncher launcher{scheduler};
  test::ScriptedTransport transport;
  metrics::Registry metrics;
  Breakers breakers{scheduler, random, metrics};
  std::shared_ptr<Hook> hook = std::make_shared<Hook>();
  std::unique_ptr<UrlCaller> caller;
  const test::ScratchFolder scratch;
  const std::string& folder = scratch.path();
  std::vector<Reply> replies;
};

TEST_F(UrlCallerTest, PostsTheCallAndReadsTheAnswer) {
  hook->run.url.headers = {{"X-Team", "red"}};
  const auto open = start();
  scheduler.run_posted();
  ASSERT_EQ(transport.asked.size(), 1u);
  auto& asked = transport.last();
  EXPECT_EQ(asked.request.method, "POST");
  EXPECT_EQ(asked.request.url, "https://hooks.example.com/pods?key=q5");
  EXPECT_EQ(asked.request.pool, net::Pool::kHook);
  EXPECT_TRUE(asked.request.repeatable);
  EXPECT_EQ(asked.request.total_timeout, 30s);
  EXPECT_EQ(asked.request.connect_timeout, 10s);
  EXPECT_EQ(asked.header("Content-Type"), "application/json");
  EXPECT_EQ(asked.header("X-Hookd-Hook"), "h");
  EXPECT_EQ(asked.header("X-Hookd-Call-Id"), "c1");
  EXPECT_EQ(asked.header("X-Hookd-Attempt"), "3");
  EXPECT_EQ(asked.header("X-Team"), "red");
  EXPECT_THAT(asked.header("User-Agent"), testing::StartsWith("hookd/"));
  EXPECT_EQ(asked.header("Authorization"), "");
  EXPECT_THAT(asked.read_body(), HasSubstr(R"("id":"c1")"));
  asked.head(200);
  asked.data("{\"opera");
  asked.data("tions\":[]}");
  asked.done();
  EXPECT_EQ(reply().kind, Kind::kAnswered);
  EXPECT_EQ(reply().text, "{\"operations\":[]}");
  EXPECT_EQ(replies.size(), 1u);
}

TEST_F(UrlCallerTest, ALargeCallIsSignedAndStreamedWithItsLengthKnown) {
  hook->run.url.hmac_file = file("key", "s3cr3t\n");
  const auto open = start(300);  // 3 MB
  scheduler.run_posted();
  ASSERT_EQ(transport.asked.size(), 1u);
  auto& asked = transport.last();
  ASSERT_TRUE(asked.request.body_source.open);
  EXPECT_TRUE(asked.request.body.empty());
  const std::string body = asked.read_body();
  EXPECT_GT(body.size(), 3'000'000u);
  EXPECT_LT(asked.largest_piece, 128u << 10);
  EXPECT_EQ(asked.header("X-Hub-Signature-256"), "sha256=" + net::hmac_sha256_hex("s3cr3t", body));
  EXPECT_EQ(asked.read_body(), body) << "opened anew it is the same";
}

TEST_F(UrlCallerTest, ReadsItsFilesAnewWhenTheyChange) {
  hook->run.url.bearer_file = file("token", "one\n");
  call([&](auto& asked) {
    EXPECT_EQ(asked.header("Authorization"), "Bearer one");
    asked.answer(200, "");
  });
  file("token.new", "second");
  std::filesystem::rename(folder + "/token.new", folder + "/token");
  call([&](auto& asked) {
    EXPECT_EQ(asked.header("Authorization"), "Bearer second");
    asked.answer(200, "");
  });
  // A bad new version does not replace what worked, and is told once.
  test::LogTap tap;
  file("token", "two s3cr3ts");
  for (int i = 0; i < 2; ++i)
    call([&](auto& asked) {
      EXPECT_EQ(asked.header("Authorization"), "Bearer second");
      asked.answer(200, "");
    });
  EXPECT_EQ(tap.count("former content"), 1u);
  EXPECT_THAT(text_of(tap), Not(HasSubstr("s3cr3ts")));
}

TEST_F(UrlCallerTest, AMissingFileIsNamedAndMended) {
  hook->run.url.bearer_file = folder + "/token";
  const Reply missing = call([](auto&) { ADD_FAILURE() << "sent without its token"; });
  EXPECT_EQ(missing.kind, Kind::kFailed);
  EXPECT_THAT(missing.why, AllOf(HasSubstr("run.auth.bearer"), HasSubstr(folder + "/token")));
  file("token", "x");
  EXPECT_EQ(call([](auto& asked) { asked.answer(204, ""); }).kind, Kind::kAnswered);
}

TEST_F(UrlCallerTest, ReadsTlsFilesAndNamesAPairThatDoesNotBelongTogether) {
  const net::Validity validity{ManualScheduler::kStart, ManualScheduler::kStart + 24h};
  const auto ca = net::CertificateAuthority::create("ca", validity).value();
  const auto a = ca.issue({.common_name = "a", .client = true, .validity = validity}).value();
  const auto b = ca.issue({.common_name = "b", .client = true, .validity = validity}).value();
  hook->run.url.ca_file = file("ca", ca.certificate_pem);
  hook->run.url.certificate_file = file("crt", a.certificate_pem);
  hook->run.url.key_file = file("key", b.key_pem);
  hook->run.url.server_name = "inner";
  EXPECT_THAT(call([](auto&) { ADD_FAILURE(); }).why, HasSubstr("run.tls.certificate"));
  file("key", a.key_pem);
  call([&](auto& asked) {
    EXPECT_EQ(asked.request.tls->certificate_pem, a.certificate_pem);
    EXPECT_EQ(asked.request.tls->key_pem, a.key_pem);
    EXPECT_EQ(asked.request.tls->server_name, "inner");
    EXPECT_THAT(asked.request.tls->ca_pem, HasSubstr("BEGIN CERTIFICATE"));
    asked.answer(200, "");
  });
}

TEST_F(UrlCallerTest, TellsWhatBrokeTheTransfer) {
  const Reply refused = call([](auto& asked) { asked.refuse(); });
  EXPECT_EQ(refused.kind, Kind::kFailed);
  EXPECT_THAT(refused.why, AllOf(HasSubstr("https://hooks.example.com/pods: "), HasSubstr("connection refused"),
                                 Not(HasSubstr("q5"))));
  const Reply half = call([](auto& asked) {
    asked.head(200);
    asked.data("{\"operations\":[{");
    asked.refuse("h:443: disconnected");
  });
  EXPECT_EQ(half.kind, Kind::kFailed);
  EXPECT_THAT(half.why, HasSubstr("the answer (status 200) was cut after 16 bytes, nothing was applied"));
  const Reply late = call([](auto& asked) { asked.done(fail(Errc::kTimeout, "no complete answer within 30000 ms")); });
  EXPECT_EQ(late.result, "timeout");
  EXPECT_THAT(late.why, HasSubstr("timed out after 30s"));
}

TEST_F(UrlCallerTest, AnAnswerIsBoundedAndOfAnErrorPageTheBeginningIsEnough) {
  const Reply large = call([](auto& asked) {
    asked.head(200);
    asked.data(std::string(600, 'x'));
    asked.data(std::string(600, 'x'));
    EXPECT_FALSE(asked.took_all);
  });
  EXPECT_EQ(large.kind, Kind::kFailed);
  EXPECT_THAT(large.why, HasSubstr("more than 1000 bytes"));
  const Reply page = call([](auto& asked) { asked.answer(500, std::string(1u << 20, 'x')); });
  EXPECT_THAT(page.why, HasSubstr("500 Internal Server Error"));
}

TEST_F(UrlCallerTest, EndsWithItsOpenCallOrIsTerminated) {
  auto open = start();
  scheduler.run_posted();
  open.reset();
  EXPECT_TRUE(transport.last().cancelled);
  scheduler.advance(1min);
  EXPECT_TRUE(replies.empty());

  open = start(0, "c2");
  scheduler.run_posted();
  open->terminate();
  EXPECT_TRUE(transport.last().cancelled);
  EXPECT_TRUE(replies.empty());
  EXPECT_THAT(reply().why, HasSubstr("hookd stops"));
}

TEST_F(UrlCallerTest, OpensTheBreakerAndProbesWithoutUsingUpAttempts) {
  for (int i = 0; i < 5; ++i) {
    const Reply failed = call([&](auto& asked) { i % 2 ? asked.refuse() : asked.answer(503, ""); });
    EXPECT_TRUE(failed.counted);
  }
  EXPECT_FALSE(caller->ready());
  EXPECT_THAT(caller->trouble().value(),
              HasSubstr("https://hooks.example.com:443/pods: 5 failures in a row (status 503)"));
  // Whoever does not ask first is told to wait, and nothing is sent.
  const size_t sent = transport.asked.size();
  const Reply waits = call([](auto&) { ADD_FAILURE(); });
  EXPECT_EQ(waits.kind, Kind::kLater);
  EXPECT_FALSE(waits.counted);
  EXPECT_GE(waits.at_least, 5s);
  EXPECT_EQ(transport.asked.size(), sent);

  int looks = 0;
  caller->on_ready([&] { ++looks; });
  scheduler.advance(7s);
  EXPECT_EQ(looks, 1);
  EXPECT_FALSE(call([](auto& asked) { asked.refuse(); }).counted);
  scheduler.advance(20s);
  EXPECT_FALSE(call([](auto& asked) { asked.answer(502, ""); }).counted);
  scheduler.advance(40s);
  EXPECT_TRUE(call([](auto& asked) { asked.answer(500, ""); }).counted) << "the hook itself said so, of this event";
  scheduler.advance(80s);
  EXPECT_EQ(call([](auto& asked) { asked.answer(200, ""); }).kind, Kind::kAnswered);
  EXPECT_EQ(caller->trouble(), std::nullopt);
}

TEST_F(UrlCallerTest, AnothersWrongCertificateShutsNobodyOut) {
  make();
  const auto good = std::move(caller);
  hook = std::make_shared<Hook>(*hook);
  hook->run.url.server_name = "elsewhere.example.com";
  for (int i = 0; i < 5; ++i)
    call([](auto& asked) { asked.refuse("the certificate is not for elsewhere.example.com"); });
  EXPECT_FALSE(caller->ready());
  EXPECT_TRUE(good->ready());
}

TEST_F(UrlCallerTest, AnotherHookOfTheSameHostThatHangsShutsNobodyOut) {
  make();
  const auto good = std::move(caller);
  hook = std::make_shared<Hook>(*hook);
  hook->run.url.url = "https://hooks.example.com/hangs";
  for (int i = 0; i < 5; ++i) call([](auto& asked) { asked.done(fail(Errc::kTimeout, "no answer")); });
  EXPECT_FALSE(caller->ready());
  EXPECT_TRUE(good->ready());
}

TEST_F(UrlCallerTest, TheProbeIsTakenWhenTheCallIsStarted) {
  for (int i = 0; i < 5; ++i) call([](auto& asked) { asked.refuse(); });
  scheduler.advance(7s);
  ASSERT_TRUE(caller->ready());
  const auto probe = start(0, "probe");
  EXPECT_FALSE(caller->ready()) << "a queue would start a second one at once";
  scheduler.run_posted();
  transport.last().answer(200, "");
  scheduler.run_posted();
  EXPECT_TRUE(caller->ready());
}

TEST_F(UrlCallerTest, AnEndpointThatDoesNotLetUsInIsATrouble) {
  call([](auto& asked) { asked.answer(401, ""); });
  EXPECT_THAT(caller->trouble().value(), HasSubstr("401"));
  EXPECT_TRUE(caller->ready());
  call([](auto& asked) { asked.answer(200, ""); });
  EXPECT_EQ(caller->trouble(), std::nullopt);
}

TEST_F(UrlCallerTest, SecretsAreInNoText) {
  hook->run.url.bearer_file = file("token", "t0ken-value");
  hook->run.url.headers = {{"X-Key", "header-value-1"}};
  test::LogTap tap;
  std::string texts;
  for (int i = 0; i < 6; ++i)
    texts += call([](auto& asked) {
               asked.answer(500, "you sent t0ken-value and header-value-1 to me", {{"content-type", "text/plain"}});
             }).why;
  texts += caller->trouble().value_or("") + text_of(tap);
  EXPECT_THAT(texts, AllOf(HasSubstr("you sent *** and *** to me"), Not(HasSubstr("t0ken")),
                           Not(HasSubstr("header-value")), Not(HasSubstr("q5"))));
}

TEST(EndpointOf, IsTheUrlWithItsPortAndWithoutQuery) {
  EXPECT_EQ(endpoint_of("https://me:pw@Hooks.example.com/A?b"), "https://hooks.example.com:443/A");
  EXPECT_EQ(endpoint_of("http://h/"), "http://h:80");
  EXPECT_EQ(endpoint_of("http://h"), "http://h:80");
  EXPECT_EQ(endpoint_of("http://h:8080/x:y"), "http://h:8080/x:y");
  EXPECT_EQ(endpoint_of("http://[::1]/x"), "http://[::1]:80/x");
  EXPECT_EQ(endpoint_of("http://[::1]:90/x"), "http://[::1]:90/x");
  EXPECT_EQ(endpoint_of("ftp://h"), "");
  EXPECT_EQ(endpoint_of("h/x"), "");
}

}  // namespace
}  // namespace hookd::hook
