// Rules: k8s-client.md section 3.4 (table), A7, A14, A18, A21, A24, A25, D5, R2, R30, R56-R59, W11, W14; T36, T38 (its
// last part).
#include "kube/rest_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "unit/kube/scripted_api.h"
#include "unit/kube/scripted_transport.h"

namespace hookd::kube {
namespace {

using namespace std::chrono_literals;
using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class RestClientTest : public testing::Test {
 protected:
  RestClientTest() {
    config_.server = "https://h:6443";
    config_.token = "abc";
    log::set_tap([](log::Level, std::string_view) {});
  }
  ~RestClientTest() override { log::set_tap({}); }

  RestClient& client() {
    if (!client_) {
      credentials_.emplace(config_, scheduler_);
      client_.emplace(transport_, *credentials_, config_, scheduler_);
    }
    return *client_;
  }
  void send(ApiRequest request) {
    call_ = client().request(std::move(request), [this](Result<ApiResponse> result) { result_ = std::move(result); });
  }
  void send(const std::string& method) {
    ApiRequest request;
    request.method = method;
    request.path = "/api/v1/pods";
    send(std::move(request));
  }
  HttpExchange& last() { return *transport_.last(); }
  const Error& error() { return result_->error(); }

  ManualScheduler scheduler_;
  ScriptedTransport transport_;
  ConnectionConfig config_;
  std::optional<Credentials> credentials_;
  std::optional<RestClient> client_;
  std::unique_ptr<ApiCall> call_;
  std::optional<Result<ApiResponse>> result_;
};

TEST_F(RestClientTest, MakesTheHttpRequest) {
  config_.server = "https://h:6443/";
  config_.base_path = "/k8s/clusters/c1";
  config_.proxy_url = "http://proxy:3128";
  ApiRequest request;
  request.method = "PATCH";
  request.path = "/api/v1/namespaces/a/pods/b";
  request.query = {{"fieldManager", "hookd-x y/z"}, {"labelSelector", "a=b,c in (d)"}};
  request.content_type = "application/apply-patch+yaml";
  request.body = "{}";
  request.total_timeout = 7s;
  request.idle_timeout = 3s;
  request.fresh_connection = true;
  config_.server = "https://h:6443";
  send(request);
  const auto& http = last().request;
  EXPECT_EQ(http.method, "PATCH");
  EXPECT_EQ(http.url,
            "https://h:6443/k8s/clusters/c1/api/v1/namespaces/a/pods/"
            "b?fieldManager=hookd-x%20y%2Fz&labelSelector=a%3Db%2Cc%20in%20%28d%29");
  EXPECT_EQ(http.body, "{}");
  EXPECT_EQ(last().header("Content-Type"), "application/apply-patch+yaml");
  EXPECT_EQ(last().header("Accept"), "application/json");
  EXPECT_EQ(last().header("Authorization"), "Bearer abc");
  EXPECT_THAT(last().header("User-Agent"),
              testing::StartsWith("hookd/"));  // R57: not curl's, that gets pretty-printed text
  EXPECT_EQ(last().header("If-None-Match"), "");
  EXPECT_EQ(http.proxy, "http://proxy:3128");
  EXPECT_EQ(http.total_timeout, 7s);
  EXPECT_EQ(http.idle_timeout, 3s);
  EXPECT_TRUE(http.fresh_connection);
  EXPECT_EQ(http.pool, net::Pool::kRest);
  EXPECT_NE(http.tls, nullptr);
}

TEST_F(RestClientTest, GivesTheAnswer) {
  send("GET");
  last().reply(200, R"({"kind":"Pod"})",
               {{"content-type", "application/json"},
                {"etag", "\"e\""},
                {"warning", R"(299 - "one", 299 - "two")"},
                {"warning", R"(299 - "three")"}});
  ASSERT_TRUE(result_ && *result_);
  EXPECT_EQ((*result_)->status, 200);
  EXPECT_EQ((*result_)->body, R"({"kind":"Pod"})");
  EXPECT_EQ((*result_)->content_type, "application/json");
  EXPECT_EQ((*result_)->etag, "\"e\"");
  EXPECT_THAT((*result_)->warnings, ElementsAre("one", "two", "three"));  // W14
}

TEST_F(RestClientTest, NotModifiedIsAnAnswerToWhoAskedForIt) {  // D5
  ApiRequest request;
  request.path = "/apis";
  request.if_none_match = "\"e\"";
  send(request);
  EXPECT_EQ(last().header("If-None-Match"), "\"e\"");
  last().reply(304);
  ASSERT_TRUE(result_ && *result_);
  EXPECT_EQ((*result_)->status, 304);
  send("GET");
  last().reply(304);
  EXPECT_FALSE(*result_);
}

TEST_F(RestClientTest, AFailedStatusInASuccessIsAnError) {  // W11, T38
  send("POST");
  last().reply(201, status_of(500, "InternalError", "several budgets"));
  ASSERT_TRUE(result_ && !*result_);
  EXPECT_EQ(error().http_status, 500);
  EXPECT_THAT(error().what, HasSubstr("several budgets"));
  send("DELETE");
  last().reply(200, R"({"kind":"Status","apiVersion":"v1","status":"Success"})");
  EXPECT_TRUE(*result_);
}

// ---- the table of section 3.4

struct Retrying {
  const char* name;
  const char* method;
  std::function<void(HttpExchange&)> answer;
  size_t tries;
  Duration between = 0s;
};
class RestClientRetries : public RestClientTest, public testing::WithParamInterface<Retrying> {};

TEST_P(RestClientRetries, AsTheTableSays) {
  send(GetParam().method);
  for (int i = 0; i < 60 && !result_; ++i) {
    const size_t before = transport_.count();
    GetParam().answer(last());
    if (result_) break;
    ASSERT_EQ(transport_.count(), before);
    scheduler_.advance(GetParam().between - 1ms);
    ASSERT_EQ(transport_.count(), before) << "sent again too early";
    scheduler_.advance(1ms);
    ASSERT_EQ(transport_.count(), before + 1);
  }
  ASSERT_TRUE(result_ && !*result_);
  EXPECT_EQ(transport_.count(), GetParam().tries);
}

std::function<void(HttpExchange&)> http(int status, const char* retry_after = nullptr, std::string body = {}) {
  return [=](HttpExchange& e) {
    e.reply(status, body, retry_after ? HttpExchange::Headers{{"retry-after", retry_after}} : HttpExchange::Headers{});
  };
}
const std::function<void(HttpExchange&)> kCut = [](HttpExchange& e) { e.cut(); };
const std::function<void(HttpExchange&)> kCutInTheBody = [](HttpExchange& e) {
  e.head(200);
  e.data("{");
  e.cut();
};

INSTANTIATE_TEST_SUITE_P(
    All, RestClientRetries,
    testing::Values(
        Retrying{"Get429", "GET", http(429, "1"), 11, 1s},
        Retrying{"Patch429", "PATCH", http(429, "2"), 11, 2s},  // T36
        Retrying{"Post503", "POST", http(503, "1"), 11, 1s}, Retrying{"Delete500", "DELETE", http(500, "3"), 11, 3s},
        Retrying{"Patch503WithoutHeader", "PATCH", http(503), 1},
        Retrying{"Patch429WithoutHeader", "PATCH", http(429), 1}, Retrying{"Get500WithoutHeader", "GET", http(500), 1},
        Retrying{"ConflictWithHeader", "PUT", http(409, "1"), 1},
        Retrying{"RetryAfterAsDate", "GET", http(503, "Wed, 21 Oct 2026 07:28:00 GMT"), 1},
        Retrying{"GetCut", "GET", kCut, 11, 1s}, Retrying{"GetCutInTheBody", "GET", kCutInTheBody, 11, 1s},
        Retrying{"PostCut", "POST", kCut, 1}, Retrying{"DeleteCut", "DELETE", kCut, 1},
        Retrying{"PatchCutInTheBody", "PATCH", kCutInTheBody, 1}, Retrying{"NotFound", "GET", http(404, "1"), 1},
        Retrying{"Forbidden", "GET", http(403), 1}, Retrying{"Invalid", "PATCH", http(422), 1},
        Retrying{"TooLarge", "GET", http(504, "1", status_of(504, "Timeout", "Too large resource version: 5")),
                 1},  // R30
        Retrying{"PastTheDeadline", "GET", http(503, "50"), 2, 50s}),
    [](const auto& test) { return test.param.name; });

TEST_F(RestClientTest, WhoWantsNoRetryGetsNone) {
  ApiRequest request;
  request.path = "/x";
  request.retry = false;
  send(request);
  last().reply(503, "", {{"retry-after", "1"}});
  ASSERT_TRUE(result_ && !*result_);
  EXPECT_EQ(error().retry_after, 1s);
  send(request);
  last().cut();
  EXPECT_FALSE(*result_);
  EXPECT_EQ(transport_.count(), 2U);
}

TEST_F(RestClientTest, OneDeadlineHoldsForAllTries) {  // A24
  send("GET");
  EXPECT_EQ(last().request.total_timeout, 60s);
  scheduler_.advance(20s);
  last().reply(503, "", {{"retry-after", "30"}});
  scheduler_.advance(30s);
  EXPECT_EQ(last().request.total_timeout, 10s);
}

TEST_F(RestClientTest, TheLastErrorCarriesTheOneBefore) {  // A24
  send("GET");
  last().cut();
  scheduler_.advance(1s);
  last().reply(403, status_of(403, "Forbidden", "not you"));
  EXPECT_EQ(error().code, Errc::kForbidden);
  EXPECT_EQ(error().what, "not you (2 tries; before: connection reset)");
}

TEST_F(RestClientTest, AfterARetryTheAnswerIsTheNewOne) {
  send("GET");
  last().reply(503, "old old old", {{"retry-after", "1"}});
  scheduler_.advance(1s);
  last().reply(200, "new");
  ASSERT_TRUE(result_ && *result_);
  EXPECT_EQ((*result_)->body, "new");
}

TEST_F(RestClientTest, A401IsTriedOnceMoreForAnyVerb) {  // A18, A21: it was not acted upon
  for (const auto* method : {"GET", "POST", "DELETE"}) {
    result_.reset();
    const size_t before = transport_.count();
    send(method);
    last().reply(401);
    scheduler_.advance(0s);
    ASSERT_EQ(transport_.count(), before + 2);
    last().reply(401);
    scheduler_.advance(1min);
    EXPECT_EQ(transport_.count(), before + 2);
    ASSERT_TRUE(result_ && !*result_);
    EXPECT_EQ(error().code, Errc::kUnauthorized);
  }
}

TEST_F(RestClientTest, AnErrorWhoseBodyIsCutIsStillThatError) {
  send("GET");
  last().head(403);
  last().data("forb");
  last().cut();
  ASSERT_TRUE(result_ && !*result_);
  EXPECT_EQ(error().code, Errc::kForbidden);
}

TEST_F(RestClientTest, OfAnEndlessErrorOnlyTheBeginningIsRead) {  // R59
  send("GET");
  last().head(500);
  size_t read = 0;
  while (!result_ && read < (10u << 20)) {
    last().data(std::string(8192, 'x'));
    read += 8192;
  }
  ASSERT_TRUE(result_ && !*result_);
  EXPECT_EQ(error().code, Errc::kUnavailable);
  EXPECT_LE(read, RestClient::kMaxErrorBytes + 8192);
}

TEST_F(RestClientTest, AnAnswerOverTheBoundIsAnErrorWithTheNumber) {
  send("GET");
  last().head(200);
  const std::string piece(1u << 20, 'x');
  for (int i = 0; i < 100 && !result_; ++i) last().data(piece);
  ASSERT_TRUE(result_ && !*result_);
  EXPECT_EQ(error().code, Errc::kTooLarge);
  EXPECT_THAT(error().what, HasSubstr("67108864"));
}

TEST_F(RestClientTest, AnErrorNamesWhereItWasSent) {
  send("POST");
  last().cut();
  EXPECT_EQ(error().what, "POST https://h:6443/api/v1/pods: connection reset");
  EXPECT_THAT(error().what, Not(HasSubstr("abc")));
}

// ---- streams

class RestClientStream : public RestClientTest {
 protected:
  void open() {
    ApiRequest request;
    request.path = "/api/v1/pods";
    request.pool = net::Pool::kWatch;
    request.total_timeout = 330s;
    StreamHandlers handlers;
    handlers.on_head = [this](const net::HttpHead&) { heard_.emplace_back("head"); };
    handlers.on_data = [this](std::string_view bytes) {
      heard_.emplace_back(bytes);
      return bytes != "stop";
    };
    handlers.on_done = [this](Result<void> result) {
      heard_.emplace_back(result ? "done" : "failed");
      if (!result) stream_error_ = result.error();
    };
    call_ = client().stream(request, std::move(handlers));
  }
  std::vector<std::string> heard_;
  std::optional<Error> stream_error_;
};

TEST_F(RestClientStream, PiecesComeAsTheyAre) {
  open();
  EXPECT_EQ(last().request.total_timeout, 330s);
  EXPECT_FALSE(last().request.accept_gzip);  // R56
  last().head(200);
  last().data("a");
  last().data("b");
  last().end();
  EXPECT_THAT(heard_, ElementsAre("head", "a", "b", "done"));
}

TEST_F(RestClientStream, OnlyA200IsAStream) {  // R2
  for (const int status : {201, 204, 206, 302}) {
    heard_.clear();
    open();
    last().reply(status, "x");
    EXPECT_THAT(heard_, ElementsAre("failed")) << status;
  }
}

TEST_F(RestClientStream, AnErrorIsDecodedAndNeverRetried) {
  open();
  last().reply(429, status_of(429, "TooManyRequests", "later"), {{"retry-after", "4"}});
  EXPECT_THAT(heard_, ElementsAre("failed"));
  EXPECT_EQ(stream_error_->code, Errc::kThrottled);
  EXPECT_EQ(stream_error_->retry_after, 4s);
  open();
  last().cut();
  EXPECT_EQ(stream_error_->code, Errc::kTransport);
  EXPECT_EQ(stream_error_->http_status, 0);
  open();
  last().reply(401);
  EXPECT_EQ(stream_error_->code, Errc::kUnauthorized);
  scheduler_.advance(10min);
  EXPECT_EQ(transport_.count(), 3U);
}

TEST_F(RestClientStream, TheReaderMayStop) {
  open();
  last().head(200);
  last().data("stop");
  EXPECT_THAT(heard_, ElementsAre("head", "stop", "failed"));
  EXPECT_EQ(stream_error_->code, Errc::kCancelled);
}

TEST_F(RestClientStream, EachCallbackMayDropTheCall) {  // ASan is the judge
  for (const std::string at : {"head", "data", "done", "answer"}) {
    std::unique_ptr<ApiCall> call;
    const std::string kept(100, 'x');
    bool called = false;
    const auto drop = [&, kept](std::string_view where) {
      if (where != at) return;
      called = true;
      call.reset();
      EXPECT_EQ(kept, std::string(100, 'x'));
    };
    ApiRequest request;
    request.path = "/x";
    if (at == "answer") {
      call = client().request(request, [drop](const Result<ApiResponse>&) { drop("answer"); });
    } else {
      StreamHandlers handlers;
      handlers.on_head = [drop](const net::HttpHead&) { drop("head"); };
      handlers.on_data = [drop](std::string_view) {
        drop("data");
        return true;
      };
      handlers.on_done = [drop](const Result<void>&) { drop("done"); };
      call = client().stream(request, std::move(handlers));
    }
    last().reply(200, "{}");
    EXPECT_TRUE(called) << at;
    EXPECT_TRUE(last().dropped()) << at;
  }
}

TEST_F(RestClientTest, ADroppedCallIsNotTriedAgain) {
  send("GET");
  last().reply(503, "", {{"retry-after", "1"}});
  call_.reset();
  scheduler_.advance(1min);
  EXPECT_EQ(transport_.count(), 1U);
  EXPECT_FALSE(result_);
}

}  // namespace
}  // namespace hookd::kube
