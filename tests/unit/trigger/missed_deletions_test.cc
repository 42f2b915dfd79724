// What went while the daemon was down, from the hook's side: a trigger that goes and comes again over one store.
#include "trigger/missed_deletions.h"

#include <gmock/gmock.h>

#include "hook/call_writer.h"
#include "state/sqlite_store.h"
#include "trigger/watch_trigger.h"
#include "unit/support/fake_cluster.h"
#include "unit/support/log_tap.h"
#include "unit/support/scratch_folder.h"

namespace hookd::trigger {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class MissedDeletionsTest : public testing::Test {
 protected:
  MissedDeletionsTest() {
    EXPECT_TRUE(store.emplace(scheduler, state::SqliteStore::Options{folder.path()}).open());
    cluster.serve(test::pods());
    binding.name = "pods";
    binding.kind = "Pod";
    cluster.intercept = [this](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
      if (request.method == "GET" && request.path.find("/pods/") != std::string::npos) {
        ++asked;
        if (refuse) return fail(*refuse);
      }
      return std::nullopt;
    };
  }

  void start() {
    auto hook = std::make_shared<hook::Hook>();
    hook->name = "h";
    hook->watches = {binding};
    pool.emplace(kube::Informer::Context{cluster, discovery, scheduler, random, 500}, [] {});
    trigger = std::make_unique<WatchTrigger>(
        hook, hook->watches.front(), *pool, scheduler, metrics,
        [this](const std::string&, hook::Event event, bool) { events.push_back(std::move(event)); }, [] {},
        WatchMemory{&*store, server});
    trigger->start();
    scheduler.advance(0s);
  }
  // The daemon ends as by SIGKILL: what was told and not handled stays so.
  void down() {
    trigger.reset();
    pool.reset();
    store->flush();
  }
  void restart() {
    down();
    events.clear();
    start();
  }
  std::vector<std::string> taken() {
    scheduler.advance(0s);
    std::vector<std::string> shown;
    for (const auto& event : std::exchange(events, {})) {
      shown.push_back(fmt::format("{} {} {}{}", to_string(event.type), event.object->key(), event.object->uid,
                                  event.final_state_unknown ? " unseen" : ""));
      last.push_back(event);
    }
    return shown;
  }
  void handle_all() {
    for (const auto& event : std::exchange(last, {}))
      if (event.type == hook::Event::Type::kDeleted) trigger->deletion_handled(*event.object);
  }
  size_t known() const {
    size_t count = 0;
    store->each("known", "", [&](std::string_view, std::string_view) { ++count; });
    return count;
  }
  void pod(const std::string& name, const std::string& uid, std::string_view meta = "") {
    cluster.put(test::pods(), test::object_json(test::pods(), "a", name, uid, meta));
  }
  void gone(const std::string& name) { cluster.remove(test::pods(), "a", name); }

  const test::ScratchFolder folder;
  ManualScheduler scheduler;
  SeededRandom random;
  test::FakeCluster cluster{scheduler};
  kube::Discovery discovery{cluster, scheduler};
  metrics::Registry metrics;
  std::optional<state::SqliteStore> store;
  std::optional<kube::InformerPool> pool;
  hook::WatchBinding binding;
  std::string server = "https://one:6443";
  std::unique_ptr<WatchTrigger> trigger;
  std::vector<hook::Event> events, last;
  int asked = 0;
  std::optional<Error> refuse;
};

TEST_F(MissedDeletionsTest, AreToldAfterTheFirstListWithTheIdentityAlone) {
  pod("x", "u1");
  pod("y", "u2");
  start();
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1", "Added a/y u2"));
  EXPECT_EQ(known(), 2u);
  down();
  gone("x");
  test::LogTap log;
  restart();
  EXPECT_THAT(taken(), ElementsAre("Added a/y u2", "Deleted a/x u1 unseen"));
  EXPECT_THAT(log.first("went while hookd was down").line, HasSubstr("hook=h binding=pods objects=1"));
  EXPECT_EQ(asked, 1) << "the server was asked whether it is really gone";
  EXPECT_TRUE(last.back().object->text.empty());
  EXPECT_THAT(hook::object_text(*last.back().object, last.back().resource.get()),
              R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","namespace":"a","uid":"u1"}})");
  EXPECT_TRUE(trigger->caught_up());
}

TEST_F(MissedDeletionsTest, AreToldAgainUntilTheHookHandledThem) {
  pod("x", "u1");
  start();
  taken();
  down();
  gone("x");
  restart();
  EXPECT_THAT(taken(), ElementsAre("Deleted a/x u1 unseen"));
  restart();
  EXPECT_THAT(taken(), ElementsAre("Deleted a/x u1 unseen"));
  handle_all();
  EXPECT_EQ(known(), 0u);
  restart();
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(MissedDeletionsTest, ALiveDeletionThatWasNotHandledIsToldAfterTheRestart) {
  pod("x", "u1");
  start();
  taken();
  gone("x");
  EXPECT_THAT(taken(), ElementsAre("Deleted a/x u1"));
  restart();
  EXPECT_THAT(taken(), ElementsAre("Deleted a/x u1 unseen"));
  handle_all();
  restart();
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(MissedDeletionsTest, ANamesakeComesAfterTheDeletionOfTheOneBefore) {
  pod("x", "u1");
  start();
  taken();
  down();
  gone("x");
  pod("x", "u2");
  restart();
  EXPECT_THAT(taken(), ElementsAre("Deleted a/x u1 unseen", "Added a/x u2"));
  EXPECT_EQ(asked, 0);
  handle_all();
  EXPECT_EQ(known(), 1u) << "the new one is known";
  restart();
  EXPECT_THAT(taken(), ElementsAre("Added a/x u2"));
}

TEST_F(MissedDeletionsTest, AnObjectThatIsThereThoughNotListedIsNotToldAsDeleted) {
  pod("x", "u1");
  start();
  taken();
  down();
  cluster.intercept = [this](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
    if (request.path.find("/pods/") != std::string::npos)
      return kube::ApiResponse{200, test::object_json(test::pods(), "a", "x", "u1"), "application/json", {}};
    return std::nullopt;
  };
  gone("x");  // the list is wrong: the server has it
  test::LogTap log;
  restart();
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_EQ(log.count("not told as deleted"), 1u);
}

TEST_F(MissedDeletionsTest, AnErrorDecidesNothing) {
  pod("x", "u1");
  start();
  taken();
  down();
  gone("x");
  refuse = Error{Errc::kUnavailable, "etcd has no leader", 503, "ServiceUnavailable", {}};
  restart();
  scheduler.advance(70s);
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_FALSE(trigger->caught_up());
  refuse.reset();
  scheduler.advance(30s);
  EXPECT_THAT(taken(), ElementsAre("Deleted a/x u1 unseen"));
}

TEST_F(MissedDeletionsTest, WhereReadingByNameIsForbiddenTheListDecides) {
  pod("x", "u1");
  start();
  taken();
  down();
  gone("x");
  refuse = Error{Errc::kForbidden, "cannot get pods", 403, "Forbidden", {}};
  restart();
  EXPECT_THAT(taken(), ElementsAre("Deleted a/x u1 unseen"));
}

TEST_F(MissedDeletionsTest, AnAnswerThatIsNoObjectDecidesNothing) {
  pod("x", "u1");
  start();
  taken();
  down();
  gone("x");  // from the list; what stands before the server answers anything with a page of its own
  bool broken = true;
  cluster.intercept = [&](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
    if (broken && request.path.find("/pods/") != std::string::npos)
      return kube::ApiResponse{200, "<html>maintenance</html>", "text/html", {}};
    return std::nullopt;
  };
  restart();
  scheduler.advance(70s);
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_EQ(known(), 1u);
  broken = false;
  scheduler.advance(30s);
  EXPECT_THAT(taken(), ElementsAre("Deleted a/x u1 unseen"));
}

TEST_F(MissedDeletionsTest, WhatANamesakeBroughtToLightIsNotToldOnceMoreBehindIt) {
  pod("x", "u1");
  start();
  taken();
  down();
  gone("x");
  refuse = Error{Errc::kUnavailable, "etcd has no leader", 503, "ServiceUnavailable", {}};
  restart();
  pod("x", "u2");
  EXPECT_THAT(taken(), ElementsAre("Deleted a/x u1 unseen", "Added a/x u2"));
  handle_all();
  refuse.reset();
  scheduler.advance(70s);
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_TRUE(trigger->caught_up());
  EXPECT_EQ(known(), 1u);
}

TEST_F(MissedDeletionsTest, WhatWasHandledWhileTheServerWasAskedIsNotTold) {
  pod("x", "u1");
  start();
  taken();
  down();
  gone("x");
  cluster.intercept = [&](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
    if (request.path.find("/pods/") == std::string::npos) return std::nullopt;
    cache::Object object;
    object.ns = "a";
    object.name = "x";
    object.uid = "u1";
    trigger->deletion_handled(object);  // a namesake came and went meanwhile
    return std::nullopt;
  };
  restart();
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_TRUE(trigger->caught_up());
}

TEST_F(MissedDeletionsTest, NothingIsToldBeforeTheListIsComplete) {
  pod("x", "u1");
  start();
  taken();
  down();
  gone("x");
  cluster.hold("/api/v1/pods");
  restart();
  scheduler.advance(10s);
  EXPECT_THAT(taken(), IsEmpty());
  cluster.release("/api/v1/pods");
  EXPECT_THAT(taken(), ElementsAre("Deleted a/x u1 unseen"));
}

TEST_F(MissedDeletionsTest, ATypeThatVanishedDeletesNothing) {
  pod("x", "u1");
  start();
  taken();
  down();
  cluster.unserve("pods");
  discovery.invalidate();
  restart();
  scheduler.advance(100s);
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_EQ(known(), 1u);
}

TEST_F(MissedDeletionsTest, AnotherSelectionOrClusterForgets) {
  pod("x", "u1", R"("labels":{"app":"web"})");
  start();
  taken();
  down();
  binding.label_selector = *cache::LabelSelector::parse("app=db");
  restart();
  EXPECT_THAT(taken(), IsEmpty()) << "it only does not match the new selector";
  EXPECT_EQ(known(), 0u);
  binding.label_selector.reset();
  restart();
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1"));
  down();
  gone("x");
  server = "https://other:6443";
  restart();
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_EQ(known(), 0u);
}

TEST_F(MissedDeletionsTest, LeavingWhenWhileDownIsToldWithTheObject) {
  binding.when = *filter::Filter::compile(".metadata.labels.on == \"1\"");
  pod("x", "u1", R"("labels":{"on":"1"})");
  start();
  taken();
  down();
  pod("x", "u1", R"("labels":{"on":"2"})");
  restart();
  EXPECT_THAT(taken(), ElementsAre("Deleted a/x u1"));
  EXPECT_THAT(last.back().object->text.unpack(), HasSubstr(R"("on":"2")"));
  EXPECT_EQ(asked, 0);
}

TEST_F(MissedDeletionsTest, ALabelThatWasTakenAwayWhileDownIsADeletion) {
  binding.label_selector = *cache::LabelSelector::parse("app=web");
  pod("x", "u1", R"("labels":{"app":"web"})");
  start();
  taken();
  down();
  pod("x", "u1", R"("labels":{"app":"db"})");
  restart();
  EXPECT_THAT(taken(), ElementsAre("Deleted a/x u1 unseen"));
}

TEST_F(MissedDeletionsTest, AnObjectThatWaitsForItsTimeAgainIsNotGone) {
  binding.hold_for = 10s;
  pod("x", "u1");
  start();
  scheduler.advance(10s);
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1"));
  restart();
  scheduler.advance(5s);
  EXPECT_THAT(taken(), IsEmpty());
  gone("x");
  EXPECT_THAT(taken(), ElementsAre("Deleted a/x u1")) << "the hook knows it from before";
}

TEST_F(MissedDeletionsTest, WithoutDeletedEventsNothingIsKept) {
  binding.deleted = false;
  pod("x", "u1");
  std::vector<std::string> left;
  start();
  trigger->on_silent_leave(
      [&](const std::string& key, const cache::Object& object) { left.push_back(key + " " + object.uid); });
  EXPECT_EQ(known(), 0u);
  gone("x");
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1"));
  EXPECT_THAT(left, ElementsAre("pods./a/x u1"));
}

TEST_F(MissedDeletionsTest, ManyAreToldInSlicesAndTheListIsBelievedInTheEnd) {
  for (int i = 0; i < 1000; ++i) pod(fmt::format("p{:04}", i), fmt::format("u{:04}", i));
  start();
  EXPECT_EQ(taken().size(), 1000u);
  down();
  for (int i = 0; i < 990; ++i) gone(fmt::format("p{:04}", i));
  restart();
  scheduler.advance(1s);
  EXPECT_EQ(taken().size(), 1000u) << "10 added, 990 deleted";
  EXPECT_EQ(asked, static_cast<int>(MissedDeletions::kAsked));
  handle_all();
  EXPECT_EQ(known(), 10u);
}

TEST_F(MissedDeletionsTest, WhatComesBackBeforeItsDeletionWasHandledStaysKnown) {
  binding.when = *filter::Filter::compile(".metadata.labels.on == \"1\"");
  pod("x", "u1", R"("labels":{"on":"1"})");
  start();
  pod("x", "u1", R"("labels":{"on":"2"})");
  pod("x", "u1", R"("labels":{"on":"1"})");
  EXPECT_THAT(taken(), ElementsAre("Added a/x u1", "Deleted a/x u1", "Added a/x u1"));
  handle_all();
  EXPECT_EQ(known(), 1u);
}

}  // namespace
}  // namespace hookd::trigger
