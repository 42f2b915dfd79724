// What a hook keeps over restarts, from the answer to the next call.
#include "state/sqlite_store.h"
#include "unit/app/hook_unit_fixture.h"

namespace hookd::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Per = hook::StateOptions::Per;

class HookUnitMemoryTest : public HookUnitTest {
 protected:
  HookUnitMemoryTest() { open(); }
  ~HookUnitMemoryTest() override { unit.reset(); }  // before its store
  void open() {
    sqlite.reset();
    sqlite.emplace(scheduler, state::SqliteStore::Options{runtime.path()});
    EXPECT_TRUE(sqlite->open());
    store = &*sqlite;
  }
  // As after SIGKILL: only what was flushed is there (nothing is between a call's end and here).
  void restart() {
    unit.reset();
    open();
    start();
  }
  // Pod x has one: what it stands for outside.
  void start_with_a_pods_state() {
    watch("pods", "Pod");
    hook->state = hook::StateOptions{Per::kObject};
    start();
    output = R"({"state":{"external":"id-7"}})";
    pod("x", "u1");
  }
  std::string state_of_last_call() const { return std::string(json_raw_at(inputs.back(), {"state"}).value_or("none")); }
  size_t rows(std::string_view table) const {
    size_t count = 0;
    sqlite->each(table, "", [&](std::string_view, std::string_view) { ++count; });
    return count;
  }

  std::optional<state::SqliteStore> sqlite;
};

TEST_F(HookUnitMemoryTest, TheStateOfAnAnswerComesBackInTheNextCallAlsoAfterARestart) {
  watch("pods", "Pod");
  hook->state = hook::StateOptions{};
  start();
  output = R"({"state":{"seen":1.10}})";
  pod("x", "u1");
  EXPECT_EQ(state_of_last_call(), "none");
  output = R"({"state":[2]})";
  pod("y", "u2");
  EXPECT_EQ(state_of_last_call(), R"({"seen":1.10})") << "every digit";
  output = "{}";
  restart();
  EXPECT_EQ(state_of_last_call(), "[2]");
  output = R"({"state":null})";
  pod("z", "u3");
  EXPECT_EQ(state_of_last_call(), "[2]") << "an answer without it leaves it";
  pod("z2", "u4");
  EXPECT_EQ(state_of_last_call(), "none");
}

TEST_F(HookUnitMemoryTest, ACallThatFailedLeavesNoState) {
  watch("pods", "Pod");
  hook->state = hook::StateOptions{};
  start();
  output = R"({"state":1})";
  exit_code = 1;
  pod("x", "u1");
  EXPECT_EQ(rows("state"), 0u);
  exit_code = 0;
  // Something of the answer is refused: not all was done.
  output =
      R"({"state":2,"operations":[{"operation":"Scale","apiVersion":"v1","kind":"Nope","name":"n","replicas":1}]})";
  go(10s);
  EXPECT_EQ(rows("state"), 0u);
  output = R"({"state":3})";
  go(60s);
  EXPECT_EQ(sqlite->get("state", "h"), "3");
  EXPECT_EQ(state_of_last_call(), "none") << "the retry got the state of before";
}

TEST_F(HookUnitMemoryTest, AnAnswerWithAStateThatNobodyDeclaredFails) {
  watch("pods", "Pod");
  start();
  output = R"({"state":1})";
  test::LogTap log;
  pod("x", "u1");
  EXPECT_EQ(log.count("add spec.state"), 1u);
  EXPECT_EQ(rows("state"), 0u);
}

TEST_F(HookUnitMemoryTest, ATooLargeStateFailsTheCallAndAppliesNothing) {
  watch("pods", "Pod");
  hook->state = hook::StateOptions{Per::kHook, 20};
  start();
  output =
      R"({"state":"0123456789012345678901234567890","operations":[{"operation":"Delete","apiVersion":"v1","kind":"Pod","namespace":"a","name":"x"}]})";
  test::LogTap log;
  pod("x", "u1");
  EXPECT_EQ(log.count("has 33 bytes, at most 20 are kept"), 1u);
  EXPECT_TRUE(cluster.has(test::pods(), "a", "x"));
}

TEST_F(HookUnitMemoryTest, ADryRunKeepsNothing) {
  watch("pods", "Pod");
  hook->state = hook::StateOptions{};
  options.dry_run = true;
  start();
  output = R"({"state":1})";
  pod("x", "u1");
  EXPECT_EQ(rows("state"), 0u);
}

TEST_F(HookUnitMemoryTest, AnObjectsStateGoesWhenItsDeletionWasHandled) {
  watch("pods", "Pod");
  hook->state = hook::StateOptions{Per::kObject};
  start();
  output = R"({"state":"of x"})";
  pod("x", "u1");
  output = R"({"state":"of y"})";
  pod("y", "u2");
  EXPECT_EQ(rows("state"), 2u);
  output = "{}";
  cluster.remove(test::pods(), "a", "x");
  go();
  EXPECT_THAT(taken().back(), "Deleted x:u1");
  EXPECT_EQ(state_of_last_call(), R"("of x")");
  EXPECT_EQ(rows("state"), 1u);
  restart();
  EXPECT_EQ(state_of_last_call(), R"("of y")");
}

TEST_F(HookUnitMemoryTest, AnObjectsStateGoesWithItWhereNobodyIsTold) {
  watch("pods", "Pod").deleted = false;
  hook->state = hook::StateOptions{Per::kObject};
  start();
  output = R"({"state":1})";
  pod("x", "u1");
  EXPECT_EQ(rows("state"), 1u);
  cluster.remove(test::pods(), "a", "x");
  go();
  EXPECT_EQ(taken().size(), 1u);
  EXPECT_EQ(rows("state"), 0u);
}

TEST_F(HookUnitMemoryTest, ADeletionWhileDownBringsTheStateAndTakesItAway) {
  start_with_a_pods_state();
  taken();
  unit.reset();
  cluster.remove(test::pods(), "a", "x");
  exit_code = 1;  // the first try fails
  restart();
  EXPECT_THAT(taken(), ElementsAre("Deleted x:u1"));
  EXPECT_EQ(state_of_last_call(), R"({"external":"id-7"})");
  EXPECT_THAT(inputs.back(), HasSubstr("\"finalStateUnknown\":true"));
  exit_code = 0;
  output = "{}";
  restart();  // killed before the retry
  EXPECT_THAT(taken(), ElementsAre("Deleted x:u1")) << "told again, as it was not handled";
  EXPECT_EQ(state_of_last_call(), R"({"external":"id-7"})");
  EXPECT_EQ(rows("state"), 0u);
  EXPECT_EQ(rows("known"), 0u);
  restart();
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(HookUnitMemoryTest, AGivenUpDeletionIsParkedAndNotToldAgain) {
  watch("pods", "Pod");
  start();
  pod("x", "u1");
  taken();
  exit_code = 65;
  cluster.remove(test::pods(), "a", "x");
  go();
  EXPECT_THAT(taken(), ElementsAre("Deleted x:u1"));
  EXPECT_EQ(rows("parked"), 1u);
  EXPECT_EQ(rows("known"), 0u);
  restart();
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_EQ(unit->parked().size(), 1u);
}

TEST_F(HookUnitMemoryTest, ADeletionDroppedByHandIsNotToldAgain) {
  watch("pods", "Pod");
  start();
  pod("x", "u1");
  taken();
  exit_code = 1;
  cluster.remove(test::pods(), "a", "x");
  go();
  EXPECT_THAT(taken(), ElementsAre("Deleted x:u1"));
  EXPECT_EQ(rows("known"), 1u);
  EXPECT_EQ(unit->drop(""), 1u);
  EXPECT_EQ(rows("known"), 0u);
  restart();
  EXPECT_THAT(taken(), IsEmpty());
}

// A hook that fails on a deletion, and a person who mends its file: its next version has the event from the one before.
TEST_F(HookUnitMemoryTest, ADeletionThatIsHandedOverIsNotToldAgainByTheNextVersion) {
  watch("pods", "Pod").existing = hook::WatchBinding::Existing::kNone;
  start();
  pod("x", "u1");
  taken();
  exit_code = 1;
  cluster.remove(test::pods(), "a", "x");
  go();
  EXPECT_THAT(taken(), ElementsAre("Deleted x:u1"));
  pod("x", "u2");
  EXPECT_THAT(taken(), IsEmpty()) << "it waits for the deletion";
  exit_code = 0;
  hang = true;
  const auto old = std::move(unit);
  old->stop(true);
  EXPECT_TRUE(old->over());
  start(old->hand_over());
  go(1min);
  hang = false;
  launcher.started.back()->exit(0);
  go(1min);
  EXPECT_THAT(taken(), ElementsAre("Deleted x:u1", "Added x:u2"));
  EXPECT_EQ(rows("known"), 1u) << "the namesake";
  restart();
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(HookUnitMemoryTest, AnObjectsStateStaysForTheCallThatItsDeletionAskedFor) {
  start_with_a_pods_state();
  output = R"({"requeueAfter":"30s"})";  // the teardown has begun
  cluster.remove(test::pods(), "a", "x");
  go(10s);
  EXPECT_THAT(taken(), ElementsAre("Added x:u1", "Deleted x:u1"));
  EXPECT_EQ(rows("state"), 1u);
  output = "{}";
  go(30s);
  EXPECT_THAT(taken(), ElementsAre("Deleted x:u1"));
  EXPECT_EQ(state_of_last_call(), R"({"external":"id-7"})");
  go();
  EXPECT_EQ(rows("state"), 0u);
}

TEST_F(HookUnitMemoryTest, AnObjectsStateStaysWhileItsDeletionIsParked) {
  start_with_a_pods_state();
  pod("y", "u2");
  output = "";
  exit_code = 65;
  cluster.remove(test::pods(), "a", "x");
  cluster.remove(test::pods(), "a", "y");
  go();
  EXPECT_EQ(unit->parked().size(), 2u);
  EXPECT_EQ(rows("state"), 2u);
  taken();
  exit_code = 0;
  EXPECT_EQ(unit->retry("pods./a/x"), 1u);
  go();
  EXPECT_THAT(taken(), ElementsAre("Deleted x:u1"));
  EXPECT_EQ(state_of_last_call(), R"({"external":"id-7"})");
  EXPECT_EQ(rows("state"), 1u) << "done with x";
  EXPECT_EQ(unit->drop("pods./a/y"), 1u);
  go();
  EXPECT_EQ(rows("state"), 0u);
}

// The binding did not ask for Added: a hook that takes every call for a deletion must not be called for a live object.
TEST_F(HookUnitMemoryTest, ALateDeletionLeavesTheNamesakeAndItsStateAlone) {
  watch("pods", "Pod").added = false;
  hook->state = hook::StateOptions{Per::kObject};
  start();
  pod("x", "u1");
  output = R"({"requeueAfter":"30s"})";
  cluster.remove(test::pods(), "a", "x");
  go();
  EXPECT_THAT(taken(), ElementsAre("Deleted x:u1"));
  output = R"({"state":"of the namesake"})";
  pod("x", "u2");
  pod("x", "u2", R"("labels":{"a":"1"})");
  EXPECT_THAT(taken(), ElementsAre("Modified x:u2"));
  output = "{}";
  go(1min);
  EXPECT_THAT(taken(), ElementsAre("Deleted x:u1"));
  pod("x", "u2", R"("labels":{"a":"2"})");
  EXPECT_THAT(taken(), ElementsAre("Modified x:u2"));
  EXPECT_EQ(state_of_last_call(), "\"of the namesake\"");
}

TEST_F(HookUnitMemoryTest, ADeletionThatWasAskedForAgainIsNotToldOfAnObjectThatIsBack) {
  watch("pods", "Pod").when = *filter::Filter::compile(".metadata.labels.on == \"1\"");
  start();
  pod("x", "u1", R"("labels":{"on":"1"})");
  output = R"({"requeueAfter":"30s"})";
  pod("x", "u1", R"("labels":{"on":"2"})");
  EXPECT_THAT(taken(), ElementsAre("Added x:u1", "Deleted x:u1"));
  output = "{}";
  pod("x", "u1", R"("labels":{"on":"1"})");
  EXPECT_THAT(taken(), ElementsAre("Added x:u1"));
  go(1min);
  EXPECT_THAT(taken(), IsEmpty()) << "the hook would undo what it did for the object that is there";
  EXPECT_EQ(rows("known"), 1u);
}

TEST_F(HookUnitMemoryTest, AnUnnamedConditionIsOfTheObjectOfTheCall) {
  watch("pods", "Pod");
  start();
  output = R"({"operation":"Condition","type":"Seen","status":"True","reason":"Looked"})";
  std::string patched;
  cluster.intercept = [&](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
    if (request.method == "PATCH") patched = request.path + " " + request.body;
    return std::nullopt;
  };
  pod("x", "u1");
  go(1s);
  EXPECT_THAT(patched, HasSubstr("/api/v1/namespaces/a/pods/x"));
  EXPECT_THAT(patched, HasSubstr(R"("type":"Seen","status":"True")"));
}

}  // namespace
}  // namespace hookd::app
