// Rules: k8s-client.md D1-D5, D10; T31.
#include "kube/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/kube/discovery_server.h"

namespace hookd::kube {
namespace {

using namespace std::chrono_literals;
using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kCore =
    groups_of({group_of("", {version_of("v1", {resource_of("pods", "Pod"), resource_of("events", "Event")})})});
const std::string kEventsGroup = group_of("events.k8s.io", {version_of("v1", {resource_of("events", "Event")})});

class DiscoveryTest : public testing::Test {
 protected:
  void look(const std::string& core, const std::string& groups) {
    discovery_.refresh([](const Result<void>&) {});
    scheduler_.advance(Discovery::kMinRefresh);
    const size_t from = api_.count() - 2;
    api_.at(from)->reply(core, kAggregated, "\"core\"");
    api_.at(from + 1)->reply(groups, kAggregated, "\"groups\"");
    scheduler_.run_posted();
  }
  // What the whole thing says about a name: "v1", or the error.
  std::string version_of_name(std::string_view name, std::string_view api_version = "") {
    const auto found = discovery_.table().find(api_version, name);
    return found ? found->api_version() : std::string(to_string(found.error().code));
  }

  ManualScheduler scheduler_;
  ScriptedApi api_{scheduler_};
  Discovery discovery_{api_, scheduler_};
};

TEST_F(DiscoveryTest, AsksForBothDocumentsAggregated) {  // D1
  std::optional<Result<ResourceType>> got;
  discovery_.resolve("v1", "Pod", [&](Result<ResourceType> type) { got = std::move(type); });
  EXPECT_THAT(api_.urls(), ElementsAre("/api", "/apis"));
  EXPECT_EQ(api_.at(0)->request.accept,
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
            "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json");
  EXPECT_EQ(api_.at(0)->request.total_timeout, 32s);  // D5
  api_.at(1)->reply(groups_of({}),
                    "application/json; as=APIGroupDiscoveryList;v=v2beta1;g=apidiscovery.k8s.io;charset=utf-8");
  EXPECT_FALSE(got);
  api_.at(0)->reply(kCore, kAggregated);
  EXPECT_FALSE(got);  // never from inside the request's callback
  scheduler_.run_posted();
  ASSERT_TRUE(got && *got) << got->error().what;
  EXPECT_EQ((*got)->plural, "pods");
  EXPECT_EQ(api_.count(), 2U);
}

TEST_F(DiscoveryTest, KnownNamesCostNothing) {
  look(kCore, groups_of({}));
  int calls = 0;
  discovery_.resolve("v1", "Pod", [&](const Result<ResourceType>& type) { calls += type ? 1 : 0; });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(discovery_.cached("", "pods")->kind, "Pod");
  EXPECT_FALSE(discovery_.cached("", "widgets"));
  EXPECT_EQ(api_.count(), 2U);
}

TEST_F(DiscoveryTest, ManyMissesAreOneLookASecond) {  // D10
  look(kCore, groups_of({}));
  int missed = 0;
  for (int i = 0; i < 10; ++i)
    discovery_.resolve("", "widgets", [&](const Result<ResourceType>& type) {
      missed += !type && type.error().code == Errc::kNotFound ? 1 : 0;
    });
  EXPECT_EQ(api_.count(), 2U);  // the last look is fresh
  scheduler_.advance(999ms);
  EXPECT_EQ(api_.count(), 2U);
  scheduler_.advance(1ms);
  ASSERT_EQ(api_.count(), 4U);
  api_.at(2)->reply(kCore, kAggregated);
  api_.at(3)->reply(groups_of({}), kAggregated);
  scheduler_.run_posted();
  EXPECT_EQ(missed, 10);
}

TEST_F(DiscoveryTest, ANewCrdIsFoundByTheNextLook) {
  look(kCore, groups_of({}));
  std::optional<Result<ResourceType>> got;
  discovery_.resolve("", "widgets.example.com", [&](Result<ResourceType> type) { got = std::move(type); });
  scheduler_.advance(1s);
  api_.at(2)->reply(kCore, kAggregated);
  api_.at(3)->reply(groups_of({group_of("example.com", {version_of("v1", {resource_of("widgets", "Widget")})})}),
                    kAggregated);
  scheduler_.run_posted();
  ASSERT_TRUE(got && *got);
  EXPECT_EQ((*got)->collection_path("a"), "/apis/example.com/v1/namespaces/a/widgets");
}

TEST_F(DiscoveryTest, UnchangedDocumentsAreNotSentAgain) {  // D5
  look(kCore, groups_of({kEventsGroup}));
  discovery_.refresh([](const Result<void>&) {});
  scheduler_.advance(1s);
  EXPECT_EQ(api_.at(2)->request.if_none_match, "\"core\"");
  EXPECT_EQ(api_.at(3)->request.if_none_match, "\"groups\"");
  api_.at(2)->not_modified();
  api_.at(3)->not_modified();
  scheduler_.run_posted();
  EXPECT_EQ(version_of_name("pods"), "v1");
  EXPECT_EQ(api_.count(), 4U);
}

TEST_F(DiscoveryTest, OneChangedDocumentBringsTheOtherInFull) {  // D5
  look(kCore, groups_of({}));
  discovery_.refresh([](const Result<void>&) {});
  scheduler_.advance(1s);
  api_.at(2)->not_modified();
  api_.at(3)->reply(groups_of({kEventsGroup}), kAggregated, "\"new\"");
  scheduler_.run_posted();
  ASSERT_EQ(api_.count(), 5U);
  EXPECT_EQ(api_.last()->request.path, "/api");
  EXPECT_EQ(api_.last()->request.if_none_match, "");
  api_.last()->reply(kCore, kAggregated, "\"core\"");
  scheduler_.run_posted();
  EXPECT_EQ(version_of_name("events.events.k8s.io"), "events.k8s.io/v1");
  EXPECT_EQ(version_of_name("pods"), "v1");
}

TEST_F(DiscoveryTest, AStaleVersionKeepsWhatWasKnown) {  // D3, T31
  const auto metrics = [](bool stale) {
    return group_of("metrics.k8s.io", {version_of("v1beta1",
                                                  stale ? std::vector<std::string>{}
                                                        : std::vector{resource_of("nodemetrics", "NodeMetrics")},
                                                  stale)});
  };
  look(kCore, groups_of({metrics(false), kEventsGroup}));
  EXPECT_EQ(version_of_name("NodeMetrics"), "metrics.k8s.io/v1beta1");
  look(kCore, groups_of({metrics(true), kEventsGroup}));
  EXPECT_EQ(version_of_name("NodeMetrics"), "metrics.k8s.io/v1beta1");
  EXPECT_EQ(version_of_name("events.events.k8s.io"), "events.k8s.io/v1");
  EXPECT_EQ(version_of_name("Other", "metrics.k8s.io/v1beta1"), "unavailable");  // known to exist, not answering
  EXPECT_EQ(version_of_name("Other", "apps/v1"), "not_found");
  look(kCore, groups_of({kEventsGroup}));
  EXPECT_EQ(version_of_name("NodeMetrics"), "not_found");
}

TEST_F(DiscoveryTest, AKeptVersionKeepsItsPlaceInTheOrder) {  // D7
  const auto groups = [](bool stale) {
    return groups_of({group_of("first.io", {version_of("v2", {resource_of("widgets", "Widget")}, stale),
                                            version_of("v1", {resource_of("widgets", "Widget")})}),
                      group_of("second.io", {version_of("v1", {resource_of("widgets", "Widget")})})});
  };
  look(kCore, groups(false));
  EXPECT_EQ(version_of_name("Widget"), "first.io/v2");
  look(kCore, groups(true));
  EXPECT_EQ(version_of_name("Widget"), "first.io/v1");  // the first version that is not stale
  EXPECT_EQ(version_of_name("Widget", "first.io/v2"), "first.io/v2");
  EXPECT_EQ(version_of_name("widgets.second.io"), "second.io/v1");
}

TEST_F(DiscoveryTest, AServerThatDoesNotAnswerIsAnErrorAndKeepsTheTable) {
  look(kCore, groups_of({}));
  std::optional<Result<ResourceType>> got;
  discovery_.resolve("", "widgets", [&](Result<ResourceType> type) { got = std::move(type); });
  scheduler_.advance(1s);
  api_.at(2)->reply(kCore, kAggregated);
  api_.at(3)->refuse();
  scheduler_.run_posted();
  ASSERT_TRUE(got);
  EXPECT_FALSE(*got);
  EXPECT_EQ(version_of_name("pods"), "v1");
}

TEST_F(DiscoveryTest, WithoutAnyTableTheErrorIsTheServers) {
  std::optional<Result<ResourceType>> got;
  discovery_.resolve("", "pods", [&](Result<ResourceType> type) { got = std::move(type); });
  api_.at(0)->reply_error(403, status_of(403, "Forbidden", "no discovery for you"));
  api_.at(1)->reply_error(403, status_of(403, "Forbidden", "no discovery for you"));
  scheduler_.run_posted();
  ASSERT_TRUE(got && !*got);
  EXPECT_EQ(got->error().code, Errc::kForbidden);
  EXPECT_THAT(got->error().what, HasSubstr("discovery: no discovery for you"));
}

TEST_F(DiscoveryTest, OldServersAreAskedGroupByGroup) {  // D2, T31
  std::optional<Result<ResourceType>> got;
  discovery_.resolve("apps/v1", "Deployment", [&](Result<ResourceType> type) { got = std::move(type); });
  api_.at(0)->reply(R"({"kind":"APIVersions","versions":["v1"]})");
  api_.at(1)->reply(
      R"({"kind":"APIGroupList","groups":[{"name":"apps","versions":[{"version":"v1beta1"},{"version":"v1"}],"preferredVersion":{"version":"v1"}},
                                                        {"name":"metrics.k8s.io","versions":[{"version":"v1beta1"}]}]})");
  scheduler_.run_posted();
  EXPECT_THAT(api_.urls(2),
              ElementsAre("/api/v1", "/apis/apps/v1", "/apis/apps/v1beta1", "/apis/metrics.k8s.io/v1beta1"));
  EXPECT_EQ(api_.at(2)->request.accept, "application/json");
  api_.at(5)->reply_error(503, "service unavailable");  // D4
  api_.at(2)->reply(
      R"({"kind":"APIResourceList","resources":[{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["get"],"shortNames":["po"]},
                                                              {"name":"pods/status","kind":"Pod","verbs":["get"]}]})");
  api_.at(3)->reply(
      R"({"kind":"APIResourceList","resources":[{"name":"deployments","namespaced":true,"kind":"Deployment","verbs":["get"]}]})");
  api_.at(4)->reply(
      R"({"kind":"APIResourceList","resources":[{"name":"deployments","namespaced":true,"kind":"Deployment","verbs":["get"]}]})");
  scheduler_.run_posted();
  ASSERT_TRUE(got && *got) << got->error().what;
  EXPECT_EQ((*got)->api_version(), "apps/v1");
  EXPECT_EQ(version_of_name("deployments"), "apps/v1");
  EXPECT_EQ(version_of_name("x.metrics.k8s.io"), "unavailable");
  EXPECT_TRUE(discovery_.table().find("", "po")->has_subresource("status"));
}

TEST_F(DiscoveryTest, AnOldServerIsNotAskedEverySecond) {  // one look is dozens of requests
  discovery_.refresh([](const Result<void>&) {});
  api_.at(0)->reply(R"({"kind":"APIVersions","versions":[]})");
  api_.at(1)->reply(R"({"kind":"APIGroupList","groups":[]})");
  scheduler_.run_posted();
  discovery_.refresh([](const Result<void>&) {});
  const size_t before = api_.count();
  scheduler_.advance(Discovery::kMinRefreshLegacy - 1ms);
  EXPECT_EQ(api_.count(), before);
  scheduler_.advance(1ms);
  EXPECT_EQ(api_.count(), before + 2);
}

TEST_F(DiscoveryTest, OnlyOneAggregatedDocumentMeansTheOldFormForAll) {  // D1, T31
  for (const bool core_aggregated : {true, false}) {
    ScriptedApi api{scheduler_};
    Discovery discovery{api, scheduler_};
    std::optional<Result<void>> got;
    discovery.refresh([&](Result<void> result) { got = std::move(result); });
    const std::string versions = R"({"kind":"APIVersions","versions":["v1"]})",
                      group_list = R"({"kind":"APIGroupList","groups":[]})";
    api.at(0)->reply(core_aggregated ? kCore : versions, core_aggregated ? kAggregated : "application/json");
    api.at(1)->reply(core_aggregated ? group_list : groups_of({}), core_aggregated ? "application/json" : kAggregated);
    scheduler_.run_posted();
    ASSERT_EQ(api.count(), 3U);
    EXPECT_EQ(api.at(2)->request.path, core_aggregated ? "/api" : "/apis");
    EXPECT_EQ(api.at(2)->request.accept, "application/json");
    api.at(2)->reply(core_aggregated ? versions : group_list);
    scheduler_.run_posted();
    ASSERT_EQ(api.count(), 4U);
    EXPECT_EQ(api.at(3)->request.path, "/api/v1");
    api.at(3)->reply(
        R"({"kind":"APIResourceList","resources":[{"name":"pods","kind":"Pod","namespaced":true,"verbs":["get"]}]})");
    scheduler_.run_posted();
    ASSERT_TRUE(got && *got);
    EXPECT_TRUE(discovery.cached("v1", "Pod"));
  }
}

TEST_F(DiscoveryTest, AServerWithoutACoreGroupIsFine) {  // D2
  for (const bool aggregated : {true, false}) {
    ScriptedApi api{scheduler_};
    Discovery discovery{api, scheduler_};
    discovery.refresh([](const Result<void>&) {});
    api.at(0)->reply_error(404, "404 page not found\n");
    if (aggregated)
      api.at(1)->reply(groups_of({kEventsGroup}), kAggregated);
    else
      api.at(1)->reply(R"({"kind":"APIGroupList","groups":[{"name":"events.k8s.io","versions":[{"version":"v1"}]}]})");
    scheduler_.run_posted();
    if (!aggregated)
      api.last()->reply(
          R"({"kind":"APIResourceList","resources":[{"name":"events","kind":"Event","namespaced":true,"verbs":["get"]}]})");
    scheduler_.run_posted();
    EXPECT_TRUE(discovery.cached("events.k8s.io/v1", "Event"));
  }
}

TEST_F(DiscoveryTest, NoGroupListIsAnError) {  // D2
  std::optional<Result<void>> got;
  discovery_.refresh([&](Result<void> result) { got = std::move(result); });
  api_.at(0)->reply(kCore, kAggregated);
  api_.at(1)->reply_error(404, "404 page not found\n");
  scheduler_.run_posted();
  ASSERT_TRUE(got);
  EXPECT_FALSE(*got);
}

TEST_F(DiscoveryTest, RubbishIsAnError) {
  for (const auto* body : {"<html>", "{}", R"({"kind":"Status"})", "[]"}) {
    std::optional<Result<void>> got;
    discovery_.refresh([&](Result<void> result) { got = std::move(result); });
    scheduler_.advance(1s);
    api_.at(api_.count() - 2)->reply(kCore, kAggregated);
    api_.last()->reply(body, kAggregated);
    scheduler_.run_posted();
    ASSERT_TRUE(got && !*got) << body;
    EXPECT_EQ(got->error().code, Errc::kDecode);
  }
}

TEST_F(DiscoveryTest, ForgottenIsAskedAgain) {
  look(kCore, groups_of({}));
  discovery_.invalidate();
  EXPECT_FALSE(discovery_.cached("v1", "Pod"));
  int found = 0;
  discovery_.resolve("v1", "Pod", [&](const Result<ResourceType>& type) { found += type ? 1 : 0; });
  EXPECT_EQ(found, 0);
  scheduler_.advance(1s);
  api_.at(2)->not_modified();
  api_.at(3)->not_modified();
  scheduler_.run_posted();
  EXPECT_EQ(found, 1);
}

TEST_F(DiscoveryTest, GoesAwayInTheMiddleOfALook) {
  auto discovery = std::make_unique<Discovery>(api_, scheduler_);
  bool called = false;
  discovery->refresh([&](const Result<void>&) { called = true; });
  api_.at(0)->reply(kCore, kAggregated);
  api_.at(1)->reply(groups_of({}), kAggregated);
  discovery.reset();
  scheduler_.run_posted();
  EXPECT_FALSE(called);
  EXPECT_EQ(api_.open_count(), 0U);
}

}  // namespace
}  // namespace hookd::kube
