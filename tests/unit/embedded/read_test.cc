// Get, list and watch through ApiServer::handle.
#include <gtest/gtest.h>

#include "unit/embedded/support.h"

namespace hookd::embedded {
namespace {

using testing::Client;

const std::string kMaps = "/api/v1/namespaces/default/configmaps";

// Kinds of which no control loop makes objects: leases.
const std::string kLeases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

void make(Client& c, std::string_view name, std::string_view label = "") {
  const auto made = c.post(kLeases, R"({"metadata":{"name":")" + std::string(name) + R"(","labels":{"k":")" +
                                        std::string(label) + R"("}}})");
  ASSERT_EQ(made.code, 201) << made.text;
}
std::string names(const testing::Response& list) {
  std::string out;
  const auto body = list.body();
  for (const auto& item : body.at("items").as_array())
    out += (out.empty() ? "" : " ") + testing::text_at_path(item, "metadata.name");
  return out;
}
std::string at_revision(const Client& c) { return std::to_string(c.server.revision()); }

TEST(List, ItemsHaveNoTypeOfTheirOwn) {
  Client c;
  make(c, "a");
  const auto list = c.get(kLeases);
  EXPECT_EQ(list.at("kind"), "LeaseList");
  EXPECT_EQ(list.at("apiVersion"), "coordination.k8s.io/v1");
  EXPECT_EQ(list.at("metadata.resourceVersion"), at_revision(c));
  EXPECT_EQ(list.at("items[0].kind"), "");
  EXPECT_EQ(list.at("items[0].metadata.name"), "a");
}

TEST(List, Selectors) {
  Client c;
  make(c, "a", "x");
  make(c, "b", "y");
  EXPECT_EQ(names(c.get(kLeases + "?labelSelector=k%3Dx")), "a");
  EXPECT_EQ(names(c.get(kLeases + "?fieldSelector=metadata.name%3Db")), "b");
  EXPECT_EQ(names(c.get(kLeases + "?fieldSelector=metadata.name%21%3Db")), "a");
  EXPECT_EQ(c.get(kLeases + "?fieldSelector=foo%3Dbar").message(),
            "\"foo\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"");
  EXPECT_EQ(c.get("/api/v1/pods?fieldSelector=foo%3Dbar").message(), "field label not supported: foo");
}

TEST(List, InChunksOfOneMoment) {
  Client c;
  for (const auto* name : {"a", "b", "c", "d"}) make(c, name);
  const auto first = c.get(kLeases + "?limit=2");
  EXPECT_EQ(names(first), "a b");
  EXPECT_EQ(first.at("metadata.remainingItemCount"), "2");
  c.del(kLeases + "/c");
  make(c, "cc");
  c.merge(kLeases + "/d", R"({"metadata":{"labels":{"k":"later"}}})");
  const auto second = c.get(kLeases + "?limit=5&continue=" + first.at("metadata.continue"));
  EXPECT_EQ(names(second), "c d") << "as it was when the list began";
  EXPECT_EQ(second.at("items[1].metadata.labels.k"), "");
  EXPECT_EQ(second.at("metadata.resourceVersion"), first.at("metadata.resourceVersion"));
  EXPECT_EQ(second.at("metadata.continue"), "");
}

TEST(List, OfAnyVersionKnowsNoLimit) {
  Client c;
  for (const auto* name : {"a", "b", "c"}) make(c, name);
  const auto list = c.get(kLeases + "?resourceVersion=0&limit=1");
  EXPECT_EQ(names(list), "a b c");
  EXPECT_EQ(list.at("metadata.continue"), "");
}

TEST(List, ATokenOfForgottenHistoryLeadsOn) {
  Client c;
  for (const auto* name : {"a", "b", "c"}) make(c, name);
  const auto token = c.get(kLeases + "?limit=1").at("metadata.continue");
  make(c, "d");
  ASSERT_EQ(c.post("/hookd/compact", "{}").code, 200);
  const auto gone = c.get(kLeases + "?limit=1&continue=" + token);
  EXPECT_EQ(gone.code, 410);
  EXPECT_EQ(gone.reason(), "Expired");
  const auto rest = c.get(kLeases + "?continue=" + gone.at("metadata.continue"));
  EXPECT_EQ(names(rest), "b c d");
}

TEST(List, VersionsAreExactOrAtLeast) {
  Client c;
  make(c, "a");
  const auto version = at_revision(c);
  make(c, "b");
  EXPECT_EQ(names(c.get(kLeases + "?resourceVersionMatch=Exact&resourceVersion=" + version)), "a");
  EXPECT_EQ(names(c.get(kLeases + "?resourceVersionMatch=NotOlderThan&resourceVersion=" + version)), "a b");
  EXPECT_EQ(names(c.get(kLeases + "?resourceVersion=0")), "a b");
  const auto early = c.get(kLeases + "?resourceVersion=99999");
  EXPECT_EQ(early.code, 504);
  EXPECT_EQ(early.header("Retry-After"), std::vector<std::string>{"1"});
  EXPECT_EQ(c.get(kLeases + "?resourceVersion=x").code, 400);
  EXPECT_EQ(c.get(kLeases + "?continue=abc").code, 400);
}

TEST(Get, AsTableAndMetadata) {
  Client c;
  make(c, "a");
  const auto table = c.get(kLeases + "/a", {{"accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  EXPECT_EQ(table.at("kind"), "Table");
  EXPECT_EQ(table.at("rows[0].cells[0]"), "a");
  EXPECT_EQ(table.at("rows[0].object.kind"), "PartialObjectMetadata");
  const auto partial =
      c.get(kLeases + "/a", {{"accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}});
  EXPECT_EQ(partial.at("kind"), "PartialObjectMetadata");
  EXPECT_EQ(partial.at("metadata.name"), "a");
  EXPECT_EQ(partial.at("spec"), "");
  const auto list = c.get(kLeases, {{"accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}});
  EXPECT_EQ(list.at("items[0].kind"), "PartialObjectMetadata");
  EXPECT_EQ(c.get(kLeases, {{"accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}}).code, 406);
  EXPECT_EQ(c.get(kLeases + "/a", {{"accept", "application/yaml"}}).type, "application/yaml");
}

TEST(Watch, BeginsWithWhatThereIs) {
  Client c;
  make(c, "a");
  const auto watch = c.watch(kLeases + "?watch=1");
  make(c, "b");
  c.del(kLeases + "/a");
  EXPECT_EQ(watch->names(), "ADDED a, ADDED b, DELETED a");
  EXPECT_FALSE(watch->ended());
  EXPECT_EQ(testing::text_at_path(watch->events()[2], "object.metadata.resourceVersion"), at_revision(c));
}

TEST(Watch, GoesOnFromAVersion) {
  Client c;
  make(c, "a");
  const auto version = at_revision(c);
  c.merge(kLeases + "/a", R"({"spec":{"holderIdentity":"x"}})");
  const auto watch = c.watch(kLeases + "?watch=1&resourceVersion=" + version);
  make(c, "b");
  EXPECT_EQ(watch->names(), "MODIFIED a, ADDED b");
}

TEST(Watch, OfASelectionTellsWhoEntersAndLeaves) {
  Client c;
  make(c, "a", "no");
  const auto watch = c.watch(kLeases + "?watch=1&labelSelector=k%3Dyes");
  c.merge(kLeases + "/a", R"({"metadata":{"labels":{"k":"yes"}}})");
  c.merge(kLeases + "/a", R"({"spec":{"holderIdentity":"x"}})");
  c.merge(kLeases + "/a", R"({"metadata":{"labels":{"k":"no"}}})");
  c.del(kLeases + "/a");
  EXPECT_EQ(watch->types(), "ADDED MODIFIED DELETED");
  EXPECT_EQ(testing::text_at_path(watch->events()[2], "object.metadata.labels.k"), "yes");
}

TEST(Watch, OfOneNamespaceHearsNothingOfOthers) {
  Client c;
  const auto watch = c.watch(kLeases + "?watch=1");
  c.post("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", R"({"metadata":{"name":"other"}})");
  EXPECT_EQ(watch->types(), "");
}

TEST(Watch, TooOldAVersionIsAnErrorEvent) {
  Client c;
  make(c, "a");
  c.post("/hookd/compact", "{}");
  const auto watch = c.watch(kLeases + "?watch=1&resourceVersion=2");
  EXPECT_EQ(watch->code(), 200);
  ASSERT_EQ(watch->types(), "ERROR");
  EXPECT_EQ(testing::text_at_path(watch->events()[0], "object.code"), "410");
  EXPECT_EQ(testing::text_at_path(watch->events()[0], "object.message"),
            "too old resource version: 2 (" + at_revision(c) + ")");
  EXPECT_TRUE(watch->ended());
}

TEST(Watch, BookmarksComeAboutOnceAMinute) {
  Client c;
  const auto with = c.watch(kLeases + "?watch=1&allowWatchBookmarks=true&resourceVersion=" + at_revision(c));
  const auto without = c.watch(kLeases + "?watch=1&resourceVersion=" + at_revision(c));
  c.scheduler.advance(std::chrono::minutes(5));
  const auto count = with->events().size();
  EXPECT_GE(count, 4u);
  EXPECT_LE(count, 6u);
  EXPECT_EQ(testing::text_at_path(with->events()[0], "type"), "BOOKMARK");
  EXPECT_EQ(testing::text_at_path(with->events()[0], "object.metadata.resourceVersion"), at_revision(c));
  EXPECT_EQ(without->types(), "");
}

TEST(Watch, InitialEventsEndWithABookmark) {
  Client c;
  make(c, "a");
  const auto watch =
      c.watch(kLeases + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
  ASSERT_EQ(watch->types(), "ADDED BOOKMARK");
  const auto annotations = testing::value_at_path(watch->events()[1], "object.metadata.annotations");
  EXPECT_EQ(to_text(annotations), R"({"k8s.io/initial-events-end":"true"})");
  const auto none = c.watch(kLeases + "?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan");
  EXPECT_EQ(none->types(), "");
}

TEST(Watch, EndsAfterItsTime) {
  Client c;
  const auto watch = c.watch(kLeases + "?watch=1&timeoutSeconds=10");
  c.scheduler.advance(std::chrono::seconds(9));
  EXPECT_FALSE(watch->ended());
  c.scheduler.advance(std::chrono::seconds(2));
  EXPECT_TRUE(watch->ended());
  EXPECT_FALSE(watch->cut());
  make(c, "a");
  EXPECT_EQ(watch->types(), "") << "nothing comes after the end";
}

TEST(Watch, AsTablesHasColumnsOnce) {
  Client c;
  make(c, "a");
  make(c, "b");
  const auto watch = c.watch(kLeases + "?watch=1", {{"accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  const auto events = watch->events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_TRUE(testing::value_at_path(events[0], "object.columnDefinitions").is_array());
  EXPECT_TRUE(testing::value_at_path(events[1], "object.columnDefinitions").is_null());
  EXPECT_EQ(testing::text_at_path(events[1], "object.rows[0].cells[0]"), "b");
}

TEST(Watch, TheOldPathsWork) {
  Client c;
  make(c, "a");
  make(c, "b");
  EXPECT_EQ(c.watch("/apis/coordination.k8s.io/v1/watch/namespaces/default/leases/a")->names(), "ADDED a");
  EXPECT_EQ(c.watch("/apis/coordination.k8s.io/v1/watch/leases")->names(), "ADDED a, ADDED b");
}

TEST(Watch, ADestroyedOneIsToldNothing) {
  Client c;
  auto watch = c.watch(kLeases + "?watch=1&allowWatchBookmarks=1");
  const auto sink = watch->sink;
  watch.reset();
  make(c, "a");
  c.scheduler.advance(std::chrono::minutes(3));
  EXPECT_EQ(sink->response.text.find("\"a\""), std::string::npos);
}

}  // namespace
}  // namespace hookd::embedded
