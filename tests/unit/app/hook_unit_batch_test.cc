// `batch`: several events in one call, through to their operations, and back when that fails.
#include "unit/app/hook_unit_fixture.h"

namespace hookd::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class HookUnitBatchTest : public HookUnitTest {
 protected:
  HookUnitBatchTest() {
    hook->batch.max = 4;
    hook->concurrency = 4;
  }
  // What the pods in `names` get while nothing of the hook runs.
  void pods_at_once(const std::vector<std::string>& names) {
    unit->pause("the test puts pods in");
    for (const std::string& name : names) pod(name, "u-" + name);
    unit->resume();
    go();
  }
  static std::string label(std::string_view name) {
    return fmt::format(
        R"({{"operation":"Label","apiVersion":"v1","kind":"Pod","namespace":"a","name":"{}","labels":{{"seen":"1"}}}})",
        name);
  }
  // Not one that says what should be: doing it twice would be seen.
  static std::string patch(std::string_view name) {
    return fmt::format(
        R"({{"operation":"JSONPatch","apiVersion":"v1","kind":"Pod","namespace":"a","name":"{}","patch":[{{"op":"test","path":"/kind","value":"Pod"}}]}})",
        name);
  }
  // One for each object of the call.
  static std::string label_all(const std::string& events) { return for_all(events, label); }
  static std::string patch_all(const std::string& events) { return for_all(events, patch); }
  static std::string for_all(const std::string& events, std::string (*make)(std::string_view)) {
    std::string text;
    for (size_t at = events.find(':'); at != std::string::npos; at = events.find(':', at + 1)) {
      const size_t from = events.rfind(' ', at) + 1;
      text += make(events.substr(from, at - from)) + "\n";
    }
    return text;
  }
  void fail_patch(std::string path, Error error, int times = 1) {
    cluster.intercept = [path = std::move(path), error = std::move(error),
                         times](const kube::ApiRequest& request) mutable -> std::optional<Result<kube::ApiResponse>> {
      if (request.method != "PATCH" || request.path != path || times-- <= 0) return std::nullopt;
      return fail(error);
    };
  }
  size_t patches(std::string_view name) {
    return static_cast<size_t>(
        std::ranges::count(cluster.writes(), "PATCH /api/v1/namespaces/a/pods/" + std::string(name)));
  }
};

TEST_F(HookUnitBatchTest, OneCallCarriesTheEventsOfSeveralObjects) {
  watch("pods", "Pod").modified = false;
  start();
  answer = label_all;
  pods_at_once({"p1", "p2", "p3", "p4", "p5"});
  go(1min);
  EXPECT_THAT(taken(), ElementsAre("Added p1:u-p1, Added p2:u-p2, Added p3:u-p3, Added p4:u-p4", "Added p5:u-p5"));
  for (const char* name : {"p1", "p2", "p3", "p4", "p5"}) EXPECT_EQ(patches(name), 1u) << name;
  EXPECT_TRUE(unit->idle());
}

TEST_F(HookUnitBatchTest, TheWindowGathersWhatComesSoon) {
  hook->batch.window = 2s;
  watch("pods", "Pod");
  start();
  pod("p1", "u1");
  go(1s);
  pod("p2", "u2");
  EXPECT_TRUE(unit->quiet());
  go(1s);
  EXPECT_THAT(taken(), ElementsAre("Added p1:u1, Added p2:u2"));
}

TEST_F(HookUnitBatchTest, ThePoisonIsFoundAndParkedAndTheOthersAreDone) {
  watch("pods", "Pod").modified = false;
  start();
  answer = label_all;
  exits = [](const std::string& events) { return events.find("p3") != std::string::npos ? 65 : 0; };
  pods_at_once({"p1", "p2", "p3", "p4"});
  go(1min);
  EXPECT_THAT(taken(), testing::UnorderedElementsAre("Added p1:u-p1, Added p2:u-p2, Added p3:u-p3, Added p4:u-p4",
                                                     "Added p1:u-p1, Added p2:u-p2", "Added p3:u-p3, Added p4:u-p4",
                                                     "Added p3:u-p3", "Added p4:u-p4"));
  ASSERT_EQ(unit->parked().size(), 1u);
  EXPECT_EQ(unit->parked()[0].key, "pods./a/p3");
  EXPECT_EQ(unit->parked()[0].attempts, 1);
  for (const char* name : {"p1", "p2", "p4"}) EXPECT_EQ(patches(name), 1u) << name;
  EXPECT_EQ(patches("p3"), 0u);
  EXPECT_THAT(metrics.text(), HasSubstr("hookd_batch_splits_total{hook=\"h\"} 2"));
  EXPECT_THAT(metrics.text(), HasSubstr("hookd_parked_total{hook=\"h\"} 1"));
}

TEST_F(HookUnitBatchTest, AnAnswerThatCannotBeReadSplitsToo) {
  watch("pods", "Pod");
  start();
  answer = [](const std::string& events) {
    return events.find("p2") != std::string::npos && events.find(',') != std::string::npos ? "{\"operation\":" : "";
  };
  pods_at_once({"p1", "p2"});
  go();
  EXPECT_THAT(taken(), ElementsAre("Added p1:u-p1, Added p2:u-p2", "Added p1:u-p1", "Added p2:u-p2"));
  EXPECT_TRUE(unit->idle());
}

// What the server could not do for the moment is done without a new call, for the batch as a whole.
TEST_F(HookUnitBatchTest, OperationsThatAreLeftAreTriedAgainWithTheSameBatch) {
  watch("pods", "Pod").modified = false;
  start();
  answer = label_all;
  fail_patch("/api/v1/namespaces/a/pods/p2", Error{Errc::kUnavailable, "etcd is away", 503, "ServiceUnavailable", {}});
  pods_at_once({"p1", "p2", "p3"});
  EXPECT_THAT(taken(), ElementsAre("Added p1:u-p1, Added p2:u-p2, Added p3:u-p3"));
  go(1min);
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_EQ(patches("p1"), 1u);
  EXPECT_EQ(patches("p2"), 2u);
  EXPECT_EQ(patches("p3"), 1u);
  EXPECT_TRUE(unit->idle());
}

// Events came for one of them: the hook is called anew for the others, and what was done is not done again.
TEST_F(HookUnitBatchTest, InOtherCompanyTheyAreAskedForAgainAndWhatWasDoneStays) {
  watch("pods", "Pod").modified = false;
  start();
  answer = [](const std::string& events) { return events.starts_with("Deleted") ? "" : patch_all(events); };
  fail_patch("/api/v1/namespaces/a/pods/p2", Error{Errc::kUnavailable, "etcd is away", 503, "ServiceUnavailable", {}});
  pods_at_once({"p1", "p2", "p3"});
  EXPECT_EQ(patches("p2"), 1u);
  taken();
  cluster.remove(test::pods(), "a", "p1");
  go(1min);
  EXPECT_THAT(taken(), ElementsAre("Deleted p1:u-p1", "Added p2:u-p2, Added p3:u-p3"));
  EXPECT_EQ(patches("p1"), 1u);
  EXPECT_EQ(patches("p2"), 2u);
  EXPECT_EQ(patches("p3"), 1u);
  EXPECT_TRUE(unit->idle());
}

TEST_F(HookUnitBatchTest, AnOperationThatIsRefusedForGoodIsTracedToItsEvent) {
  watch("pods", "Pod").modified = false;
  start();
  answer = patch_all;
  fail_patch("/api/v1/namespaces/a/pods/p2", Error{Errc::kInvalid, "the label is wrong", 422, "Invalid", {}}, 1000);
  pods_at_once({"p1", "p2", "p3", "p4"});
  go(1min);
  ASSERT_EQ(unit->parked().size(), 1u);
  EXPECT_EQ(unit->parked()[0].key, "pods./a/p2");
  EXPECT_THAT(unit->parked()[0].error, HasSubstr("the label is wrong"));
  for (const char* name : {"p1", "p3", "p4"})
    EXPECT_EQ(patches(name), 1u) << name << ": done once, not again after the split";
}

TEST_F(HookUnitBatchTest, LaterIsNotTheFaultOfTheBatch) {
  hook->retry.attempts = 2;
  watch("pods", "Pod");
  start();
  exit_code = 75;
  pods_at_once({"p1", "p2"});
  for (int i = 0; i < 5; ++i) go(10min);
  const auto calls_made = taken();
  EXPECT_GE(calls_made.size(), 4u);
  for (const std::string& call : calls_made) EXPECT_EQ(call, "Added p1:u-p1, Added p2:u-p2");
  EXPECT_THAT(unit->parked(), IsEmpty());
}

TEST_F(HookUnitBatchTest, ARequeueBringsEachOfItsObjectsAgain) {
  watch("pods", "Pod");
  start();
  answer = [this](const std::string&) { return inputs.size() == 1 ? R"({"requeueAfter":"20s"})" : ""; };
  pods_at_once({"p1", "p2"});
  go(20s);
  auto calls_made = taken();
  ASSERT_FALSE(calls_made.empty());
  std::string again;
  for (size_t i = 1; i < calls_made.size(); ++i) again += calls_made[i] + ";";
  EXPECT_THAT(again, HasSubstr("p1:u-p1"));
  EXPECT_THAT(again, HasSubstr("p2:u-p2"));
  EXPECT_TRUE(unit->idle());
}

// With one event a call, two bindings on an object have a wish each.
TEST_F(HookUnitBatchTest, TheRequeueOfOneBindingDoesNotTakeThePlaceOfAnothers) {
  hook->batch.max = 1;
  watch("one", "Pod");
  watch("two", "Pod");
  start();
  answer = [this](const std::string&) { return inputs.size() <= 2 ? R"({"requeueAfter":"20s"})" : ""; };
  pod("x", "u1");
  EXPECT_EQ(taken().size(), 2u);
  EXPECT_EQ(unit->queue().requeues(), 2u);
  go(20s);
  EXPECT_EQ(taken().size(), 2u);
  EXPECT_TRUE(unit->idle());
}

TEST_F(HookUnitBatchTest, ObjectsThatWentMeanwhileNeedNoRequeuedCall) {
  watch("pods", "Pod").deleted = false;
  start();
  answer = [this](const std::string&) { return inputs.size() == 1 ? R"({"requeueAfter":"20s"})" : ""; };
  pods_at_once({"p1", "p2"});
  taken();
  cluster.remove(test::pods(), "a", "p1");
  go(1min);
  EXPECT_THAT(taken(), ElementsAre("Added p2:u-p2"));
  EXPECT_TRUE(unit->idle());
}

TEST_F(HookUnitBatchTest, WithCoalesceNoneEachEventIsACallInOrder) {
  hook->batch.max = 1;
  auto& binding = watch("pods", "Pod");
  binding.coalesce = false;
  start();
  unit->pause("test");
  pod("x", "u1");
  for (int i = 0; i < 3; ++i) pod("x", "u1", fmt::format(R"("labels":{{"n":"{}"}})", i));
  unit->resume();
  go();
  EXPECT_THAT(taken(), ElementsAre("Added x:u1", "Modified x:u1", "Modified x:u1", "Modified x:u1"));
  for (int i = 0; i < 3; ++i) EXPECT_THAT(inputs[static_cast<size_t>(i) + 1], HasSubstr(fmt::format(R"("n":"{}")", i)));
}

// Nothing of the last state is lost, and what becomes one is counted.
TEST_F(HookUnitBatchTest, TooManyWaitingEventsOfOneObjectBecomeOne) {
  test::LogTap tap;
  hook->batch.max = 1;
  auto& binding = watch("pods", "Pod");
  binding.coalesce = false;
  start();
  unit->pause("test");
  pod("x", "u1");
  const int many = static_cast<int>(HookUnit::kMaxWaitingOfKey) + 50;
  for (int i = 0; i < many; ++i) pod("x", "u1", fmt::format(R"("labels":{{"n":"{}"}})", i));
  EXPECT_EQ(unit->rows(10).at(0).events, HookUnit::kMaxWaitingOfKey);
  EXPECT_EQ(tap.count("too many events of one key"), 1u);
  EXPECT_THAT(metrics.text(), HasSubstr("hookd_events_folded_total{binding=\"pods\",hook=\"h\"} 51"));
  unit->resume();
  go();
  EXPECT_EQ(inputs.size(), HookUnit::kMaxWaitingOfKey);
  EXPECT_THAT(inputs.back(), HasSubstr(fmt::format(R"("n":"{}")", many - 1)));
}

}  // namespace
}  // namespace hookd::app
