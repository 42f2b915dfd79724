#include "trigger/http_source.h"

#include <gmock/gmock.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <filesystem>

#include "base/fd.h"
#include "base/json_read.h"
#include "kube/base64.h"
#include "net/hmac.h"
#include "unit/support/fake_launcher.h"
#include "unit/support/log_tap.h"
#include "unit/support/scratch_folder.h"

namespace hookd::trigger {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Check = hook::SourceBinding::Check;

TEST(SeenDeliveries, ForgetsWhatIsOldAndWhatIsTooMuch) {
  SeenDeliveries seen;
  const SteadyTime start{};
  seen.note("a", start);
  seen.note("b", start + 1s);
  seen.note("a", start + 2s);  // its first time counts
  EXPECT_TRUE(seen.seen("a"));
  seen.forget_before(start + 1s);
  EXPECT_FALSE(seen.seen("a"));
  EXPECT_TRUE(seen.seen("b"));
  for (size_t i = 0; i < SeenDeliveries::kMost; ++i) seen.note(std::to_string(i), start + 3s);
  EXPECT_FALSE(seen.seen("b"));
  EXPECT_EQ(seen.size(), SeenDeliveries::kMost);
}

// A Secret that changes; requests are answered on the loop.
struct SecretApi final : kube::Api {
  explicit SecretApi(Scheduler& s) : scheduler(s) {}
  struct Call final : kube::ApiCall {
    Timer timer;
  };
  std::unique_ptr<kube::ApiCall> request(kube::ApiRequest request, kube::ApiCallback callback) override {
    paths.push_back(request.path);
    auto call = std::make_unique<Call>();
    call->timer = scheduler.after(0ms, [this, callback] {
      if (value.empty()) return callback(fail(Errc::kForbidden, "no rights"));
      kube::ApiResponse response;
      response.status = 200;
      response.body = "{\"data\":{\"k\":\"" + kube::base64_encode(value) + "\"}}";
      callback(std::move(response));
    });
    return call;
  }
  std::unique_ptr<kube::ApiCall> stream(kube::ApiRequest, kube::StreamHandlers) override { return nullptr; }
  Scheduler& scheduler;
  std::string value;
  std::vector<std::string> paths;
};

class HttpSourceTest : public testing::Test {
 protected:
  using Headers = std::vector<std::pair<std::string, std::string>>;
  HttpSourceTest() {
    hook->name = "h";
    binding.name = "push";
    binding.http = "/github";
    binding.secret_from.file = folder + "/secret";
    EXPECT_TRUE(write_file(binding.secret_from.file, "s3cret\n"));
    auto made = net::HttpServer::listen(scheduler, "127.0.0.1:0",
                                        [this](net::ServerRequest request, const net::Responder& respond) {
                                          if (!routes.serve(request, respond)) respond({.status = 404});
                                        });
    EXPECT_TRUE(made);
    server = *std::move(made);
  }

  void start() {
    hook->sources = {binding};
    source = SourceTrigger::make(hook, hook->sources.front(),
                                 {scheduler, random, metrics, launcher, nullptr, &routes, &api, "", {}},
                                 [this](const std::string&, hook::Event event, bool) {
                                   data.push_back(*event.data);
                                   if (settle)
                                     scheduler.post([answer = event.answer, how = *settle] { (*answer)(how); });
                                   if (keep) events.push_back(std::move(event));
                                 });
    source->start();
  }
  // "202", the status of the answer; all of it is in `answer`.
  std::string post(std::string_view body, const Headers& headers, std::string_view method = "POST",
                   std::string_view path = "/github") {
    std::string request = fmt::format("{} {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n",
                                      method, path, body.size());
    for (const auto& [name, value] : headers) request += name + ": " + value + "\r\n";
    request += "\r\n";
    request += body;
    boost::asio::ip::tcp::socket socket(context);
    socket.connect({boost::asio::ip::make_address("127.0.0.1"), server->port()});
    answer.clear();
    bool over = false;
    boost::asio::async_write(socket, boost::asio::buffer(request), [](auto, size_t) {});
    boost::asio::async_read(socket, boost::asio::dynamic_buffer(answer), [&](auto, size_t) { over = true; });
    const SteadyTime end = scheduler.now() + 5s;
    while (!over && scheduler.now() < end) {
      context.restart();
      context.run_one_for(20ms);
    }
    return answer.size() > 12 ? answer.substr(9, 3) : "no answer";
  }
  std::string signed_post(std::string_view body, Headers headers = {}, std::string_view secret = "s3cret") {
    headers.emplace_back("X-Hub-Signature-256", "sha256=" + net::hmac_sha256_hex(secret, body));
    return post(body, headers);
  }

  const test::ScratchFolder scratch;
  const std::string& folder = scratch.path();
  boost::asio::io_context context{1};
  AsioScheduler scheduler{context};
  SeededRandom random;
  metrics::Registry metrics;
  test::FakeLauncher launcher{scheduler};
  net::HttpRoutes routes;
  SecretApi api{scheduler};
  std::unique_ptr<net::HttpServer> server;
  std::shared_ptr<hook::Hook> hook = std::make_shared<hook::Hook>();
  hook::SourceBinding binding;
  std::vector<std::string> data;
  std::vector<hook::Event> events;
  bool keep = false;
  std::optional<bool> settle;  // unset: nothing becomes of it yet
  std::string answer;
  std::unique_ptr<SourceTrigger> source;
};

TEST_F(HttpSourceTest, TakesASignedPostAndTellsItWithoutItsSignature) {
  start();
  EXPECT_EQ(
      signed_post(
          "{\"ref\":\n \"main\"}",
          {{"Content-Type", "application/json"}, {"X-GitHub-Event", "push"}, {"Authorization", "x"}, {"Cookie", "y"}}),
      "202");
  ASSERT_EQ(data.size(), 1u);
  EXPECT_EQ(data[0].find('\n'), std::string::npos);
  const auto value = *parse_json(data[0]);
  EXPECT_EQ(value.at("method"), "POST");
  EXPECT_EQ(value.at("path"), "/github");
  EXPECT_EQ(value.at("body").at("ref"), "main");
  const auto& headers = value.at("headers").as_object();
  EXPECT_EQ(headers.at("x-github-event"), "push");
  for (const char* hidden : {"authorization", "cookie", "x-hub-signature-256"}) EXPECT_FALSE(headers.contains(hidden));
}

TEST_F(HttpSourceTest, RefusesWhatIsNotOrWronglySigned) {
  start();
  EXPECT_EQ(post("{}", {}), "401");
  EXPECT_THAT(answer, Not(HasSubstr("signature")));
  EXPECT_EQ(post("{}", {{"X-Hub-Signature-256", "sha256="}}), "401");
  EXPECT_EQ(post("{}", {{"X-Hub-Signature-256", "sha256=" + std::string(64, '0')}}), "401");
  EXPECT_EQ(signed_post("{}", {}, "other"), "401");
  EXPECT_EQ(post("{} ", {{"X-Hub-Signature-256", "sha256=" + net::hmac_sha256_hex("s3cret", "{}")}}), "401");
  EXPECT_EQ(post("", {}, "GET"), "405");
  EXPECT_THAT(answer, HasSubstr("Allow: POST"));
  EXPECT_THAT(data, IsEmpty());
}

TEST_F(HttpSourceTest, ADeliveryIsTakenOnce) {
  start();
  EXPECT_EQ(signed_post("{\"n\":1}", {{"X-GitHub-Delivery", "d1"}}), "202");
  EXPECT_EQ(signed_post("{\"n\":1}", {{"X-GitHub-Delivery", "d1"}}), "409");
  EXPECT_EQ(signed_post("{\"n\":1}", {{"X-GitHub-Delivery", "d2"}}), "409");  // anybody can make up an id
  EXPECT_EQ(signed_post("{\"n\":2}", {{"X-GitHub-Delivery", "d1"}}), "409");
  EXPECT_EQ(signed_post("{\"n\":2}", {{"X-GitHub-Delivery", "d3"}}), "202");
  EXPECT_EQ(data.size(), 2u);
}

// The sender keeps the event until the hook has it.
TEST_F(HttpSourceTest, WithReplyHandledTheAnswerTellsWhatBecameOfIt) {
  binding.reply_handled = true;
  binding.reply_within = 50ms;
  start();
  settle = true;
  EXPECT_EQ(signed_post("1"), "200");
  EXPECT_EQ(signed_post("1"), "409");
  settle = false;
  EXPECT_EQ(signed_post("2"), "500");
  settle = true;
  EXPECT_EQ(signed_post("2"), "200");  // what was given up may be sent again
  settle.reset();
  EXPECT_EQ(signed_post("3"), "503");  // it got lost
  EXPECT_THAT(answer, HasSubstr("Retry-After"));
  keep = true;
  EXPECT_EQ(signed_post("3"), "504");
  const size_t told = data.size();
  EXPECT_EQ(signed_post("3"), "504");  // the same one, which still waits
  EXPECT_EQ(data.size(), told);
  const Timer soon = scheduler.after(10ms, [this] { (*events.back().answer)(true); });
  EXPECT_EQ(signed_post("3"), "200");
  EXPECT_EQ(data.size(), told);
  EXPECT_EQ(signed_post("3"), "409");
}

// A sender that ran out of patience takes no place from one that waits.
TEST_F(HttpSourceTest, WithReplyHandledWhoWentDoesNotWait) {
  binding.reply_handled = true;
  binding.reply_within = 60s;
  start();
  keep = true;
  for (size_t i = 0; i < HttpSource::kMostWaiting; ++i) {
    const std::string body = std::to_string(i);
    boost::asio::ip::tcp::socket socket(context);
    socket.connect({boost::asio::ip::make_address("127.0.0.1"), server->port()});
    const std::string request =
        fmt::format("POST /github HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\nX-Hub-Signature-256: {}\r\n\r\n{}",
                    body.size(), net::hmac_sha256_hex("s3cret", body), body);
    boost::asio::write(socket, boost::asio::buffer(request));
    while (data.size() <= i) ASSERT_GT(context.run_one_for(5s), 0u);
  }
  settle = true;
  const SteadyTime end = scheduler.now() + 5s;
  std::string status = "429";
  while (status == "429" && scheduler.now() < end) status = signed_post("last");
  EXPECT_EQ(status, "200");
}

TEST_F(HttpSourceTest, WithoutAWindowEveryDeliveryIsTaken) {
  binding.replay_window = 0s;
  start();
  EXPECT_EQ(signed_post("{}"), "202");
  EXPECT_EQ(signed_post("{}"), "202");
}

TEST_F(HttpSourceTest, ASignedTimeMustBeNear) {
  binding.timestamp_header = "x-time";
  start();
  const auto now = std::chrono::floor<std::chrono::seconds>(scheduler.wall_now()).time_since_epoch().count();
  const auto at = [&](int64_t time, std::string_view body) {
    const std::string text = std::to_string(time);
    return post(body, {{"X-Time", text},
                       {"X-Hub-Signature-256", net::hmac_sha256_hex("s3cret", text + "." + std::string(body))}});
  };
  EXPECT_EQ(at(now, "1"), "202");
  EXPECT_EQ(at(now, "1"), "409");
  EXPECT_EQ(at(now - 301, "2"), "409");
  EXPECT_EQ(at(now + 310, "3"), "409");
  EXPECT_EQ(signed_post("4"), "401");  // without a time
  EXPECT_EQ(post("5", {{"X-Time", std::to_string(now)}, {"X-Hub-Signature-256", net::hmac_sha256_hex("s3cret", "5")}}),
            "401");
}

// Its time is near for two windows when it was ahead at first.
TEST_F(HttpSourceTest, ASignedTimeAheadIsNotGoodTwice) {
  binding.timestamp_header = "x-time";
  binding.replay_window = 1s;
  start();
  const auto now = std::chrono::floor<std::chrono::seconds>(scheduler.wall_now()).time_since_epoch().count();
  const std::string time = std::to_string(now + 1);
  const Headers headers{{"X-Time", time}, {"X-Hub-Signature-256", net::hmac_sha256_hex("s3cret", time + ".1")}};
  EXPECT_EQ(post("1", headers), "202");
  const SteadyTime later = scheduler.now() + 1100ms;
  while (scheduler.now() < later) {
    context.restart();
    context.run_one_for(20ms);
  }
  EXPECT_EQ(post("1", headers), "409");
}

TEST_F(HttpSourceTest, BodiesAreJsonOrText) {
  start();
  const Headers json{{"Content-Type", "application/json; charset=utf-8"}};
  EXPECT_EQ(signed_post("{\"a\":", json), "400");
  EXPECT_EQ(signed_post("plain"), "202");
  EXPECT_EQ(signed_post("\xff\xfe"), "415");
  EXPECT_EQ(signed_post(""), "202");
  EXPECT_EQ(signed_post("[1]", {{"Content-Type", "application/x-www-form-urlencoded"}}), "202");  // as curl -d sends it
  ASSERT_EQ(data.size(), 3u);
  EXPECT_THAT(data[0], HasSubstr("\"body\":\"plain\""));
  EXPECT_THAT(data[1], HasSubstr("\"body\":null"));
  EXPECT_THAT(data[2], HasSubstr("\"body\":[1]"));
}

TEST_F(HttpSourceTest, WhatIsTooLargeOrTooMuchIsRefused) {
  binding.max_body_bytes = 10;
  binding.buffer = 2;
  keep = true;
  start();
  EXPECT_EQ(signed_post("01234567890"), "413");
  EXPECT_EQ(signed_post("1"), "202");
  EXPECT_EQ(signed_post("2"), "202");
  EXPECT_EQ(signed_post("3"), "429");
  EXPECT_THAT(answer, HasSubstr("Retry-After: 1"));
  events.clear();
  EXPECT_EQ(signed_post("3"), "202");  // what was refused is no replay
  EXPECT_THAT(metrics.text(), HasSubstr(R"(hookd_source_refused_total{binding="push",hook="h",status="429"} 1)"));
}

TEST_F(HttpSourceTest, ATokenIsTakenInsteadOfASignature) {
  binding.check = Check::kBearer;
  start();
  EXPECT_EQ(post("1", {{"Authorization", "Bearer s3cret"}}), "202");
  EXPECT_EQ(post("1", {{"Authorization", "bearer s3cret"}}), "202");  // nothing tells a replay
  EXPECT_EQ(post("1", {{"Authorization", "Bearer s3cre"}}), "401");
  EXPECT_THAT(answer, HasSubstr("WWW-Authenticate: Bearer"));
  EXPECT_EQ(post("1", {{"Authorization", "s3cret"}}), "401");
  EXPECT_EQ(post("1", {{"Authorization", "Bearer "}}), "401");
  EXPECT_EQ(post("1", {{"Authorization", "Bearer s3cret"}, {"X-GitHub-Delivery", "d"}}), "202");
  EXPECT_EQ(post("1", {{"Authorization", "Bearer s3cret"}, {"X-GitHub-Delivery", "d"}}), "409");
}

TEST_F(HttpSourceTest, ATokenMayComeInAHeaderOfItsOwn) {
  binding.check = Check::kBearer;
  binding.header = "x-gitlab-token";
  start();
  EXPECT_EQ(post("1", {{"X-Gitlab-Token", "s3cret"}}), "202");
  EXPECT_EQ(post("1", {{"Authorization", "Bearer s3cret"}}), "401");
  EXPECT_THAT(data[0], Not(HasSubstr("s3cret")));
}

TEST_F(HttpSourceTest, WithoutACheckEverybodyIsTaken) {
  binding.check = Check::kNone;
  binding.secret_from = {};
  start();
  EXPECT_EQ(post("1", {}), "202");
  EXPECT_EQ(post("1", {}), "202");
  EXPECT_FALSE(source->trouble());
}

TEST_F(HttpSourceTest, AFileWithANewSecretHoldsAtOnceAndAMissingOneIsTrouble) {
  start();
  ASSERT_TRUE(write_file(binding.secret_from.file, "new"));
  EXPECT_EQ(signed_post("1"), "401");
  EXPECT_EQ(signed_post("1", {}, "new"), "202");
  ASSERT_TRUE(write_file(binding.secret_from.file, " \n"));
  EXPECT_EQ(signed_post("2", {}, ""), "503");
  ASSERT_TRUE(source->trouble());
  EXPECT_THAT(source->trouble()->what, HasSubstr("empty"));
}

TEST_F(HttpSourceTest, ASecretOfTheClusterIsReadAnewWhenASignatureDoesNotFit) {
  binding.secret_from = {"", "ns", "name", "k"};
  api.value = "one\n";
  start();
  EXPECT_EQ(signed_post("1", {}, "one"), "202");
  ASSERT_THAT(api.paths, ElementsAre("/api/v1/namespaces/ns/secrets/name"));
  EXPECT_EQ(signed_post("2", {}, "two"), "401");  // just read: not asked again so soon
  EXPECT_EQ(api.paths.size(), 1u);
  EXPECT_FALSE(source->trouble());
}

TEST_F(HttpSourceTest, ASecretThatCannotBeReadIsTroubleAnd503) {
  const test::LogTap log;
  binding.secret_from = {"", "ns", "name", "k"};
  start();
  EXPECT_EQ(signed_post("1"), "503");
  EXPECT_THAT(answer, HasSubstr("Retry-After"));
  ASSERT_TRUE(source->trouble());
  EXPECT_THAT(source->trouble()->what, HasSubstr("no rights"));
}

TEST_F(HttpSourceTest, APathThatAnotherHookHasIsTroubleUntilItIsFree) {
  auto other = routes.add("/github", [](net::ServerRequest, const net::Responder& respond) { respond({}); });
  start();
  ASSERT_TRUE(source->trouble());
  EXPECT_THAT(source->trouble()->what, HasSubstr("taken"));
}

TEST_F(HttpSourceTest, StoppedItGivesItsPathBack) {
  start();
  source->stop();
  EXPECT_EQ(signed_post("1"), "404");
}

}  // namespace

// In virtual time: when a Secret is asked for again.
TEST(HttpSecret, WithoutAServerNobodyIsKeptWaiting) {
  ManualScheduler scheduler;
  const hook::SourceBinding::SecretFrom from{"", "a", "b", "k"};
  HttpSecret secret(from, scheduler, nullptr);
  secret.start();
  EXPECT_FALSE(secret.refresh([] {}));
  EXPECT_TRUE(secret.trouble());
}

TEST(HttpSecret, IsReadEveryMinuteAndAfterAMisfitEveryFewSeconds) {
  ManualScheduler scheduler;
  SecretApi api(scheduler);
  api.value = "one";
  hook::SourceBinding::SecretFrom from{"", "ns", "name", "k"};
  HttpSecret secret(from, scheduler, &api);
  secret.start();
  EXPECT_FALSE(secret.get());
  scheduler.advance(0s);
  EXPECT_EQ(secret.get().value_or(""), "one");
  int asked = 0;
  EXPECT_FALSE(secret.refresh([&] { ++asked; }));
  scheduler.advance(HttpSecret::kLeast);
  api.value = "two";
  EXPECT_TRUE(secret.refresh([&] { ++asked; }));
  EXPECT_TRUE(secret.refresh([&] { ++asked; }));  // while one is under way
  EXPECT_EQ(asked, 0);
  scheduler.advance(0s);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(secret.get().value_or(""), "two");
  EXPECT_EQ(api.paths.size(), 2u);
  api.value = "three";
  scheduler.advance(HttpSecret::kRefresh);
  EXPECT_EQ(secret.get().value_or(""), "three");
  api.value = "";  // no rights any more: the old one stays
  scheduler.advance(HttpSecret::kRefresh);
  EXPECT_TRUE(secret.trouble());
  EXPECT_EQ(secret.get().value_or(""), "three");
}

}  // namespace hookd::trigger
