#include "state/config_map_store.h"

#include <gmock/gmock.h>

#include "base/json_read.h"
#include "base/json_writer.h"
#include "kube/status.h"
#include "unit/support/log_tap.h"

namespace hookd::state {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// One ConfigMap, with the server's rules for resourceVersion.
class OneConfigMap final : public kube::Api {
 public:
  explicit OneConfigMap(Scheduler& scheduler) : scheduler_(scheduler) {}

  std::unique_ptr<kube::ApiCall> request(kube::ApiRequest request, kube::ApiCallback callback) override {
    auto alive = std::make_shared<kube::ApiCallback>(std::move(callback));
    requests.push_back(request.method + " " + request.path);
    scheduler_.post([this, request, alive] {
      if (*alive) (*alive)(answer(request));
    });
    return std::make_unique<Call>(alive);
  }
  std::unique_ptr<kube::ApiCall> stream(kube::ApiRequest, kube::StreamHandlers) override { return nullptr; }

  std::string data(std::string_view table) const {
    const auto found = content.find(table);
    return found == content.end() ? "" : found->second;
  }
  // Somebody else writes.
  void touch(std::string by) {
    ++version;
    holder = std::move(by);
  }

  std::map<std::string, std::string, std::less<>> content;
  std::string holder;
  int version = 0;  // 0 = it is not there
  std::optional<Error> refuse;
  bool restless = false;  // somebody writes after each GET
  bool garbled = false;   // a GET gets something that is no object
  std::vector<std::string> requests;

 private:
  struct Call final : kube::ApiCall {
    explicit Call(std::shared_ptr<kube::ApiCallback> c) : callback(std::move(c)) {}
    ~Call() override { *callback = nullptr; }
    std::shared_ptr<kube::ApiCallback> callback;
  };

  Result<kube::ApiResponse> answer(const kube::ApiRequest& request) {
    if (refuse) return fail(*refuse);
    if (request.method == "GET") {
      if (version == 0) return fail(Error{Errc::kNotFound, "configmaps \"state\" not found", 404, "NotFound", {}});
      if (garbled) return kube::ApiResponse{200, "<html>maintenance</html>", "text/html", {}};
      const std::string now = object();
      if (restless) ++version;
      return kube::ApiResponse{200, now, "application/json", {}};
    }
    if (request.method == "POST" && version != 0) return fail(Error{Errc::kExists, "exists", 409, "AlreadyExists", {}});
    const auto given = json_string_at(request.body, {"metadata", "resourceVersion"}).value_or("");
    if (request.method == "PATCH" && given != std::to_string(version))
      return fail(Error{Errc::kConflict, "modified", 409, "Conflict", {}});
    const auto body = *parse_json(request.body);
    for (const auto& [key, value] : body.at("data").as_object()) {
      if (value.is_null())
        content.erase(std::string(key));
      else
        content.insert_or_assign(std::string(key), std::string(value.as_string()));
    }
    holder = json_string_at(request.body, {"metadata", "annotations", ConfigMapStore::kHolder}).value_or("");
    ++version;
    return kube::ApiResponse{200, object(), "application/json", {}};
  }

  std::string object() const {
    JsonWriter out;
    out.begin_object().key("metadata").begin_object().key("resourceVersion").string(std::to_string(version));
    out.key("annotations").begin_object().key(ConfigMapStore::kHolder).string(holder).end_object().end_object();
    out.key("data").begin_object();
    for (const auto& [key, value] : content) out.key(key).string(value);
    out.end_object().end_object();
    return std::move(out).take();
  }

  Scheduler& scheduler_;
};

class ConfigMapStoreTest : public testing::Test {
 protected:
  std::unique_ptr<ConfigMapStore> make(std::string holder) {
    auto made = std::make_unique<ConfigMapStore>(scheduler, random, "hookd", "state", std::move(holder));
    made->open(server, [this] { ++known; });
    return made;
  }
  void start() {
    store = make("me");
    scheduler.advance(0s);
  }
  std::vector<std::string> asked() { return std::exchange(server.requests, {}); }

  ManualScheduler scheduler;
  SeededRandom random;
  OneConfigMap server{scheduler};
  std::unique_ptr<ConfigMapStore> store;
  int known = 0;
};

TEST_F(ConfigMapStoreTest, IsMadeWhereThereIsNoneAndReadAfterARestart) {
  start();
  EXPECT_EQ(known, 1);
  EXPECT_THAT(asked(),
              ElementsAre("GET /api/v1/namespaces/hookd/configmaps/state", "POST /api/v1/namespaces/hookd/configmaps"));
  store->put("state", "h", "{\"n\":\n 1.10}");
  store->put("state", "h\npods./a/x", "2");
  store->put("known", "h\npods\nx", "1");
  scheduler.advance(1s);
  EXPECT_EQ(server.data("state"), "\"h\": {\"n\":  1.10}\n\"h\\npods./a/x\": 2\n");
  EXPECT_EQ(server.content.size(), 1u) << "nothing of `known`";
  EXPECT_FALSE(store->keeps("known"));
  EXPECT_TRUE(store->settled());
  auto next = make("me again");
  scheduler.advance(0s);
  EXPECT_EQ(next->get("state", "h"), "{\"n\":  1.10}") << "every digit";
  EXPECT_EQ(next->get("state", "h\npods./a/x"), "2");
}

TEST_F(ConfigMapStoreTest, ManyChangesAreOneWrite) {
  start();
  asked();
  for (int i = 0; i < 100; ++i) store->put("state", "h", std::to_string(i));
  store->put("state", "h", "99");
  EXPECT_FALSE(store->settled());
  scheduler.advance(999ms);
  EXPECT_THAT(asked(), IsEmpty());
  scheduler.advance(1ms);
  EXPECT_THAT(asked(), ElementsAre("PATCH /api/v1/namespaces/hookd/configmaps/state"));
  store->put("state", "h", "99");
  scheduler.advance(10s);
  EXPECT_THAT(asked(), IsEmpty()) << "no change, no write";
  store->put("ticked", "h\ns", "1");
  scheduler.advance(59s);
  EXPECT_THAT(asked(), IsEmpty()) << "ticks can wait";
  store->put("paused", "h", "{}");
  store->flush();
  scheduler.advance(0s);
  EXPECT_EQ(server.data("paused"), "\"h\": {}\n");
  EXPECT_EQ(server.data("ticked"), "\"h\\ns\": 1\n");
  store->erase("paused", "h");
  scheduler.advance(1s);
  EXPECT_EQ(server.content.count("paused"), 0u);
}

TEST_F(ConfigMapStoreTest, NothingIsKnownBeforeItIsRead) {
  server.version = 3;
  server.content["state"] = "\"h\": 7\nrubbish\n\"half\n";
  server.refuse = Error{Errc::kForbidden, "may not get", 403, "Forbidden", {}};
  test::LogTap log;
  store = make("me");
  scheduler.advance(90s);
  EXPECT_EQ(known, 0);
  ASSERT_TRUE(store->trouble());
  EXPECT_THAT(store->trouble()->what, AllOf(HasSubstr("hookd/state"), HasSubstr("may not get")));
  EXPECT_EQ(log.count("no hook starts before that"), 1u) << "said once";
  server.refuse.reset();
  scheduler.advance(70s);
  EXPECT_EQ(known, 1);
  EXPECT_FALSE(store->trouble());
  EXPECT_EQ(store->get("state", "h"), "7");
  EXPECT_NE(log.first("were not understood").line.find("2"), std::string::npos);
}

TEST_F(ConfigMapStoreTest, ChangesByPeopleAreWrittenOver) {
  start();
  server.touch("me");  // kubectl label
  store->put("state", "h", "1");
  scheduler.advance(1s);
  EXPECT_EQ(server.data("state"), "\"h\": 1\n");
  EXPECT_FALSE(store->trouble());
  server.version = 0;  // kubectl delete
  server.content.clear();
  store->put("state", "h", "2");
  // As the server says of a PATCH to what is not there.
  server.refuse = Error{Errc::kNotFound, "not found", 404, "NotFound", {}};
  scheduler.advance(1s);
  server.refuse.reset();
  scheduler.advance(10s);
  EXPECT_EQ(server.data("state"), "\"h\": 2\n");
}

// Else the pause of a guard would be lifted by a proxy's page.
TEST_F(ConfigMapStoreTest, AnAnswerThatIsNoObjectIsNotAnEmptyState) {
  server.version = 1;
  server.content = {{"paused", "\"h\": {\"why\":\"guard\"}\n"}};
  server.holder = "before";
  server.garbled = true;
  start();
  scheduler.advance(30s);
  EXPECT_FALSE(store->ready());
  EXPECT_TRUE(store->trouble());
  EXPECT_EQ(known, 0);
  server.garbled = false;
  scheduler.advance(60s);
  EXPECT_EQ(known, 1);
  EXPECT_TRUE(store->get("paused", "h"));
}

TEST_F(ConfigMapStoreTest, AConflictAtEachTryIsNoBusyLoop) {
  start();
  server.restless = true;
  server.touch("me");
  asked();
  store->put("state", "h", "1");
  scheduler.advance(60s);
  EXPECT_LT(asked().size(), 20u);
  server.restless = false;
  scheduler.advance(60s);
  EXPECT_EQ(server.data("state"), "\"h\": 1\n");
}

TEST_F(ConfigMapStoreTest, OfTwoDaemonsTheOneThatStartedLastHasIt) {
  start();
  store->put("state", "h", "1");
  scheduler.advance(1s);
  auto other = make("other pid 9");
  scheduler.advance(0s);
  EXPECT_EQ(other->get("state", "h"), "1");
  test::LogTap log;
  store->put("state", "h", "mine");
  scheduler.advance(20s);
  ASSERT_TRUE(store->trouble());
  EXPECT_THAT(store->trouble()->what,
              AllOf(HasSubstr("another hookd now (other pid 9)"), HasSubstr("ConfigMap of its own")));
  EXPECT_EQ(log.count("another hookd"), 1u);
  EXPECT_EQ(store->get("state", "h"), "mine") << "it goes on in memory";
  other->put("state", "h", "2");
  scheduler.advance(1s);
  EXPECT_EQ(server.data("state"), "\"h\": 2\n");
  EXPECT_FALSE(other->trouble());
}

// One hook that keeps too much does not cost the others their state, nor anybody their pause.
TEST_F(ConfigMapStoreTest, WhatDoesNotFitStaysInMemoryAndAllElseIsKept) {
  const test::LogTap log;
  start();
  for (int i = 0; i < 10; ++i)
    store->put("state", fmt::format("big\npods./a/x{}", i), json_string(std::string(100 << 10, 'x')));
  store->put("state", "small", "1");
  store->put("paused", "big", "{}");
  scheduler.advance(1s);
  ASSERT_TRUE(store->trouble());
  EXPECT_THAT(store->trouble()->what,
              AllOf(HasSubstr("is full (921600 bytes"), HasSubstr("2 row(s) of `state` of hook big;")));
  EXPECT_EQ(log.count("not all of the state is kept"), 1u);
  EXPECT_THAT(server.data("state"), AllOf(HasSubstr("\"small\": 1"), HasSubstr("x7"), Not(HasSubstr("x8"))));
  EXPECT_EQ(server.data("paused"), "\"big\": {}\n");
  EXPECT_TRUE(store->get("state", "big\npods./a/x9"));
  store->put("paused", "small", "{}");  // and what changes later is written too
  scheduler.advance(1s);
  EXPECT_THAT(server.data("paused"), HasSubstr("small"));
  for (const int i : {0, 1}) store->erase("state", fmt::format("big\npods./a/x{}", i));
  scheduler.advance(1s);
  EXPECT_FALSE(store->trouble());
}

TEST_F(ConfigMapStoreTest, ParkedItemsHaveAShare) {
  start();
  for (int i = 0; i < 7; ++i) store->put("parked", fmt::format("h\np{}", i), json_string(std::string(100 << 10, 'x')));
  scheduler.advance(1s);
  ASSERT_TRUE(store->trouble());
  EXPECT_THAT(store->trouble()->what, HasSubstr("2 row(s) of `parked` of hook h;"));
  EXPECT_THAT(server.data("parked"), AllOf(HasSubstr("p4"), Not(HasSubstr("p5"))));
}

TEST_F(ConfigMapStoreTest, AFailedWriteIsTriedAgain) {
  start();
  server.refuse = Error{Errc::kUnavailable, "etcd has no leader", 503, "ServiceUnavailable", {}};
  store->put("state", "h", "1");
  scheduler.advance(2s);
  EXPECT_TRUE(store->trouble());
  EXPECT_TRUE(store->settled()) << "a stop does not wait for it";
  store->put("state", "h", "2");
  server.refuse.reset();
  scheduler.advance(20s);
  EXPECT_FALSE(store->trouble());
  EXPECT_EQ(server.data("state"), "\"h\": 2\n");
}

TEST_F(ConfigMapStoreTest, AfterCloseNothingIsAsked) {
  start();
  store->put("state", "h", "1");
  store->close();
  asked();
  scheduler.advance(100s);
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_TRUE(store->settled());
}

}  // namespace
}  // namespace hookd::state
