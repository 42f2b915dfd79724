#include "metrics/hook_series.h"

#include <gmock/gmock.h>

namespace hookd::metrics {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Kind = Registry::Kind;
using Sample = HookSeries::Sample;

class HookSeriesTest : public testing::Test {
 protected:
  static Sample gauge(std::string name, double value, Labels labels = {}, std::string group = "") {
    return {Kind::kGauge, false, std::move(name), std::move(labels), value, {}, std::move(group)};
  }
  static Sample counter(std::string name, double value, std::string group = "") {
    return {Kind::kCounter, false, std::move(name), {}, value, {}, std::move(group)};
  }
  static Sample expire(std::string group) { return {Kind::kCounter, true, "", {}, 1, {}, std::move(group)}; }

  Registry registry;
  HookSeries& series = registry.of_hooks();
};

TEST_F(HookSeriesTest, WithoutAGroupTheyStayAndAddUp) {
  EXPECT_THAT(series.take("h", {counter("jobs_total", 2), gauge("size", 5)}), IsEmpty());
  EXPECT_THAT(series.take("h", {counter("jobs_total", 3)}), IsEmpty());
  EXPECT_THAT(registry.text(), AllOf(HasSubstr("jobs_total{hook=\"h\"} 5"), HasSubstr("size{hook=\"h\"} 5")));
}

TEST_F(HookSeriesTest, AGroupReplacesItsFormerSeriesOfThatHook) {
  series.take("h", {gauge("pod_age", 1, {{"pod", "a"}}, "pods"), gauge("pod_age", 2, {{"pod", "b"}}, "pods"),
                    counter("seen_total", 4, "pods"), gauge("other", 7, {}, "others")});
  series.take("i", {gauge("pod_age", 9, {{"pod", "z"}}, "pods")});
  series.take("h", {gauge("pod_age", 3, {{"pod", "b"}}, "pods"), counter("seen_total", 1, "pods")});
  const std::string text = registry.text();
  EXPECT_THAT(text, Not(HasSubstr("pod=\"a\"")));
  EXPECT_THAT(text, HasSubstr("pod_age{hook=\"h\",pod=\"b\"} 3"));
  EXPECT_THAT(text, HasSubstr("seen_total{hook=\"h\"} 1")) << "counters begin anew";
  EXPECT_THAT(text, HasSubstr("other{hook=\"h\"} 7")) << "another group";
  EXPECT_THAT(text, HasSubstr("pod_age{hook=\"i\",pod=\"z\"} 9")) << "another hook";
  EXPECT_EQ(series.count("h"), 3u);
}

TEST_F(HookSeriesTest, ExpireTakesAGroupAwayAndFreesItsNames) {
  series.take(
      "h", {gauge("pod_age", 1, {}, "pods"), {Kind::kHistogram, false, "wait_seconds", {}, 0.3, {0.1, 0.5}, "pods"}});
  EXPECT_THAT(registry.text(), HasSubstr("wait_seconds_bucket{hook=\"h\",le=\"0.5\"} 1"));
  EXPECT_THAT(series.take("h", {expire("pods")}), IsEmpty());
  EXPECT_THAT(registry.text(), AllOf(Not(HasSubstr("pod_age")), Not(HasSubstr("wait_seconds"))));
  EXPECT_THAT(series.take("h", {counter("pod_age", 1)}), IsEmpty()) << "the name may be of another kind now";
  EXPECT_THAT(series.take("h", {expire("never_there")}), IsEmpty());
}

TEST_F(HookSeriesTest, TheyGoWithTheirHook) {
  series.take("h", {gauge("size", 1), counter("jobs_total", 1, "g")});
  series.take("i", {gauge("size", 2)});
  series.remove("h");
  EXPECT_THAT(registry.text(), AllOf(Not(HasSubstr("hook=\"h\"")), HasSubstr("size{hook=\"i\"} 2")));
  EXPECT_EQ(series.count("h"), 0u);
}

TEST_F(HookSeriesTest, AHookHasSoManyAndNoMore) {
  std::vector<Sample> many;
  for (size_t i = 0; i < HookSeries::kMaxSeries + 3; ++i) many.push_back(gauge("size", 1, {{"n", std::to_string(i)}}));
  const auto problems = series.take("h", many);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].code, Errc::kTooLarge);
  EXPECT_THAT(problems[0].what, AllOf(HasSubstr("3 new series"), HasSubstr("10000")));
  EXPECT_EQ(series.count("h"), HookSeries::kMaxSeries);
  EXPECT_THAT(series.take("h", {gauge("size", 5, {{"n", "0"}})}), IsEmpty()) << "known ones go on";
}

TEST_F(HookSeriesTest, WhatDoesNotFitIsToldAndTheRestTaken) {
  registry.count("taken_total", {});
  const auto problems = series.take("h", {gauge("taken_total", 1),
                                          gauge("hookd_mine", 1),
                                          gauge("good", 1),
                                          {Kind::kHistogram, false, "wait", {{"le", "1"}}, 1, {}, ""}});
  EXPECT_EQ(problems.size(), 3u);
  EXPECT_THAT(registry.text(), HasSubstr("good{hook=\"h\"} 1"));
}

}  // namespace
}  // namespace hookd::metrics
