#include "applier_fixture.h"

namespace hookd::apply {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Kind = Outcome::Kind;

constexpr char kPath[] = "/apis/apps/v1/namespaces/a/deployments/d";
constexpr char kStatusPath[] = "/apis/apps/v1/namespaces/a/deployments/d/status";

class ConditionTest : public ApplierTest {
 protected:
  static std::string object(std::string_view conditions, std::string_view version = "7") {
    return fmt::format(
        R"({{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"d","namespace":"a","uid":"u1","generation":4,"resourceVersion":"{}"}},"status":{{"replicas":1,"conditions":{}}}}})",
        version, conditions);
  }
  static kube::ApiResponse ok(std::string body) { return {200, std::move(body), "application/json", {}}; }
  Outcome set(std::string_view more = "") {
    start({op(fmt::format(
        R"({{"operation":"Condition","apiVersion":"apps/v1","kind":"Deployment","namespace":"a","name":"d","type":"Ready","status":"True","reason":"Up","message":"all is well"{}}})",
        more))});
    scheduler.advance(std::chrono::seconds(10));
    EXPECT_EQ(outcomes.size(), 1u);
    return outcomes.empty() ? Outcome{} : outcomes[0];
  }
};

TEST_F(ConditionTest, IsAddedAndTheOthersStayAsTheyAre) {
  api.on("GET", kPath, ok(object(R"([{"type":"Available","status":"True","extra":1.50}])")));
  api.on("PATCH", kStatusPath, ok(object("[]", "8")));
  const auto outcome = set();
  EXPECT_EQ(outcome.kind, Kind::kDone);
  EXPECT_EQ(outcome.resource_version, "8");
  EXPECT_THAT(outcome.text, HasSubstr("set condition Ready to True on Deployment a/d"));
  EXPECT_EQ(api.last().content_type, "application/merge-patch+json");
  const std::string& body = api.last().body;
  EXPECT_THAT(body, HasSubstr(R"("resourceVersion":"7")"));
  EXPECT_THAT(body, HasSubstr(R"([{"type":"Available","status":"True","extra":1.50},{"type":"Ready","status":"True",)"
                              R"("observedGeneration":4,"lastTransitionTime":"2026-01-01T00:00:00Z","reason":"Up",)"
                              R"("message":"all is well"}])"));
}

// A merge patch replaces the list: what is not known must not be written over.
TEST_F(ConditionTest, AnAnswerThatIsNoObjectIsNotAnObjectWithoutConditions) {
  api.on("GET", kPath, ok("<html>maintenance</html>"));
  EXPECT_EQ(set().kind, Kind::kRetry);
  EXPECT_THAT(api.lines(), ElementsAre(std::string("GET ") + kPath));
}

TEST_F(ConditionTest, NothingIsSentWhenNothingDiffers) {
  api.on(
      "GET", kPath,
      ok(object(R"([{"type":"Ready","status":"True","reason":"Up","message":"all is well","observedGeneration":4}])")));
  EXPECT_EQ(set().kind, Kind::kNotNeeded);
  EXPECT_THAT(api.lines(), ElementsAre(std::string("GET ") + kPath));
}

TEST_F(ConditionTest, ABuiltInKindThatDropsTheGenerationIsNotWrittenAgainAndAgain) {
  api.on("GET", kPath, ok(object(R"([{"type":"Ready","status":"True","reason":"Up","message":"all is well"}])")));
  EXPECT_EQ(set().kind, Kind::kNotNeeded);
}

TEST_F(ConditionTest, TheTransitionTimeChangesWithTheStatusAlone) {
  const std::string before =
      R"([{"type":"Ready","status":"STATUS","reason":"Old","message":"","lastTransitionTime":"2025-05-05T05:05:05Z","mine":true}])";
  std::string same = before, turned = before;
  same.replace(same.find("STATUS"), 6, "True");
  turned.replace(turned.find("STATUS"), 6, "False");
  api.on("GET", kPath, ok(object(same)));
  api.on("PATCH", kStatusPath, ok(object("[]")));
  EXPECT_EQ(set().kind, Kind::kDone);
  EXPECT_THAT(api.last().body,
              AllOf(HasSubstr("2025-05-05T05:05:05Z"), HasSubstr(R"("reason":"Up")"), HasSubstr(R"("mine":true)")));
  FakeApi fresh(scheduler);
  Applier applier2(
      fresh,
      [this](std::string_view v, std::string_view k, auto callback) {
        callback(types.at({std::string(v), std::string(k)}));
      },
      scheduler, random);
  fresh.on("GET", kPath, ok(object(turned)));
  fresh.on("PATCH", kStatusPath, ok(object("[]")));
  bool done = false;
  const auto run = applier2.apply(request, [&](std::vector<Outcome>) { done = true; });
  scheduler.advance(std::chrono::seconds(10));
  EXPECT_TRUE(done);
  EXPECT_THAT(fresh.last().body, testing::Not(HasSubstr("2025-05-05T05:05:05Z")));
}

TEST_F(ConditionTest, ARaceReadsAgain) {
  api.on("GET", kPath, ok(object("[]", "7")));
  api.on("GET", kPath, ok(object(R"([{"type":"Other","status":"True"}])", "8")));
  api.on("PATCH", kStatusPath, fail(Error{Errc::kConflict, "modified", 409, "Conflict", {}}));
  api.on("PATCH", kStatusPath, ok(object("[]", "9")));
  EXPECT_EQ(set().kind, Kind::kDone);
  EXPECT_THAT(api.last().body, AllOf(HasSubstr(R"("resourceVersion":"8")"), HasSubstr("Other")));
}

TEST_F(ConditionTest, ANamesakeMadeSinceIsNotTouched) {
  api.on("GET", kPath, ok(object("[]")));
  EXPECT_EQ(set(R"(,"uid":"u0")").kind, Kind::kNotNeeded);
}

TEST(ConditionOperation, SaysWhatItNeeds) {
  const auto error = [](std::string_view json) {
    const auto parsed = parse_operation(json);
    return parsed ? std::string() : parsed.error().what;
  };
  EXPECT_EQ(error(R"({"operation":"Condition","type":"Ready","status":"Unknown","reason":"Later","message":""})"), "")
      << "of the object of the call";
  EXPECT_THAT(error(R"({"operation":"Condition","type":"Ready"})"), HasSubstr("it needs `status`, `reason` too"));
  EXPECT_THAT(error(R"({"operation":"Condition","type":"Ready","status":"yes","reason":"A"})"),
              HasSubstr("`status: yes`"));
  EXPECT_THAT(error(R"({"operation":"Condition","type":"Ready","status":true,"reason":"A"})"),
              HasSubstr("must be text"));
  EXPECT_THAT(error(R"({"operation":"Condition","type":"Ready","status":"True","reason":"not a word"})"),
              HasSubstr("CamelCase"));
  EXPECT_THAT(error(R"({"operation":"Condition","type":"a b","status":"True","reason":"A"})"),
              HasSubstr("condition type"));
  EXPECT_THAT(error(R"({"operation":"Condition","name":"d","type":"Ready","status":"True","reason":"A"})"),
              HasSubstr("go together"));
}

TEST(MetricOperation, ExpireNeedsAGroupAndNothingElse) {
  const auto good = parse_operation(R"({"operation":"Metric","action":"expire","group":"g"})");
  ASSERT_TRUE(good) << good.error().what;
  EXPECT_EQ(good->metric->action, MetricSample::Action::kExpire);
  EXPECT_EQ(good->describe(), "Metric group g");
  const auto bare = parse_operation(R"({"operation":"Metric","action":"expire"})");
  ASSERT_FALSE(bare);
  EXPECT_THAT(bare.error().what, HasSubstr("it needs `group` too"));
  const auto named = parse_operation(R"({"operation":"Metric","action":"expire","group":"g","name":"x"})");
  ASSERT_FALSE(named);
  EXPECT_THAT(named.error().what, HasSubstr("`name` has no meaning"));
  const auto nameless = parse_operation(R"({"operation":"Metric","value":1})");
  ASSERT_FALSE(nameless);
  EXPECT_THAT(nameless.error().what, HasSubstr("it needs `name` too"));
}

}  // namespace
}  // namespace hookd::apply
