#include "metrics/registry.h"

#include <gmock/gmock.h>

namespace hookd::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Registry, CountsAddUpByTheirLabels) {
  Registry registry;
  registry.count("hookd_calls_total", {{"hook", "a"}, {"result", "ok"}});
  registry.count("hookd_calls_total", {{"hook", "a"}, {"result", "ok"}}, 2);
  registry.count("hookd_calls_total", {{"hook", "b"}, {"result", "ok"}});
  const std::string text = registry.text();
  EXPECT_THAT(text, HasSubstr("# HELP hookd_calls_total Calls of hooks by result"));
  EXPECT_THAT(text, HasSubstr("# TYPE hookd_calls_total counter"));
  EXPECT_THAT(text, HasSubstr(R"(hookd_calls_total{hook="a",result="ok"} 3)"));
  EXPECT_THAT(text, HasSubstr(R"(hookd_calls_total{hook="b",result="ok"} 1)"));
}

TEST(Registry, GaugesAreSetAndTakenAwayByALabel) {
  Registry registry;
  registry.set("hookd_objects", {{"resource", "pods"}, {"namespace", "a"}}, 5);
  registry.set("hookd_objects", {{"resource", "pods"}, {"namespace", "b"}}, 6);
  registry.set("hookd_objects", {{"resource", "nodes"}, {"namespace", ""}}, 7);
  registry.set("hookd_objects", {{"resource", "nodes"}, {"namespace", ""}}, 8);
  EXPECT_THAT(registry.text(), HasSubstr("resource=\"nodes\"} 8"));
  registry.remove("hookd_objects", {{"resource", "pods"}});
  EXPECT_THAT(registry.text(), Not(HasSubstr("pods")));
  EXPECT_THAT(registry.text(), HasSubstr("nodes"));
  registry.remove("hookd_objects", {});
  EXPECT_THAT(registry.text(), Not(HasSubstr("resource=")));
  registry.set("hookd_objects", {{"resource", "pods"}, {"namespace", "a"}}, 9);  // comes back
  EXPECT_THAT(registry.text(), HasSubstr("resource=\"pods\"} 9"));
  registry.remove("not_there", {});
}

TEST(Registry, HistogramsTakeTheBucketsOfTheirFirstCall) {
  Registry registry;
  registry.observe("latency_seconds", {{"hook", "a"}}, 0.3, {0.1, 0.5});
  registry.observe("latency_seconds", {{"hook", "a"}}, 0.05, {1, 2, 3});
  registry.observe("hookd_call_seconds", {{"hook", "a"}}, 0.02);
  const std::string text = registry.text();
  EXPECT_THAT(text, HasSubstr(R"(latency_seconds_bucket{hook="a",le="0.1"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(latency_seconds_bucket{hook="a",le="0.5"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(latency_seconds_count{hook="a"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(hookd_call_seconds_bucket{hook="a",le="100"} 1)"));
}

TEST(Registry, AHooksMetricMustFitWhatIsThere) {
  Registry registry;
  registry.count("jobs_total", {});
  EXPECT_TRUE(registry.check_name("jobs_total", Registry::Kind::kCounter));
  EXPECT_TRUE(registry.check_name("other", Registry::Kind::kGauge));
  const auto clash = registry.check_name("jobs_total", Registry::Kind::kGauge);
  ASSERT_FALSE(clash);
  EXPECT_EQ(clash.error().code, Errc::kInvalid);
  EXPECT_THAT(clash.error().what, HasSubstr("jobs_total exists already as a counter"));
}

TEST(Registry, AHooksMetricCannotBeAmongTheDaemonsOwn) {
  Registry registry;
  for (const char* name : {"hookd_calls_total", "hookd_new", "process_open_fds"}) {
    const auto taken = registry.check_name(name, Registry::Kind::kCounter);
    ASSERT_FALSE(taken) << name;
    EXPECT_THAT(taken.error().what, HasSubstr("daemon's own"));
  }
}

TEST(Registry, MirrorsStateWhenItIsRead) {
  Registry registry;
  int keys = 3;
  registry.on_collect([&] { registry.set("hookd_queue_keys", {{"hook", "a"}}, keys); });
  EXPECT_THAT(registry.text(), HasSubstr(R"(hookd_queue_keys{hook="a"} 3)"));
  keys = 4;
  EXPECT_THAT(registry.text(), HasSubstr(R"(hookd_queue_keys{hook="a"} 4)"));
}

TEST(Registry, ValuesOfLabelsAreEscaped) {
  Registry registry;
  registry.set("g", {{"l", "a\"b\\c\nd"}}, 1);
  EXPECT_THAT(registry.text(), HasSubstr(R"(g{l="a\"b\\c\nd"} 1)"));
}

}  // namespace
}  // namespace hookd::metrics
