// Rules: k8s-client.md R5-R14, R34, R61, R63; T8, T9, T10, T11 (as far as it applies: RV=0 is never sent, R7), T22-T24,
// T26, T27.
#include "unit/kube/reflector_fixture.h"

namespace hookd::kube {
namespace {

using namespace std::chrono_literals;
using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ReflectorList : public ReflectorTest {};

TEST_F(ReflectorList, TheFirstListIsTheMostRecentInPages) {  // R7, R14
  start();
  ASSERT_EQ(api_.count(), 1U);
  EXPECT_EQ(last().url(), "/api/v1/pods?limit=500");
  EXPECT_EQ(last().request.method, "GET");
  EXPECT_EQ(last().request.accept, "application/json");
  EXPECT_EQ(last().request.total_timeout, Duration::zero());
  EXPECT_GE(last().request.idle_timeout, 60s);
  EXPECT_FALSE(last().request.retry);
  EXPECT_TRUE(last().is_stream);
  EXPECT_FALSE(health().listed);
  EXPECT_EQ(health().state, Reflector::State::kListing);
}

TEST_F(ReflectorList, NamespaceAndSelectorsAreInListAndWatch) {  // R3
  Reflector::Options options;
  options.ns = "a";
  options.label_selector = "app in (x,y)";
  options.field_selector = "metadata.name=n";
  options.page_size = 20;
  start(options);
  EXPECT_EQ(last().url(),
            "/api/v1/namespaces/a/pods?labelSelector=app in (x,y)&fieldSelector=metadata.name=n&limit=20");
  last().reply(list_of({}, "5"));
  EXPECT_EQ(last().url(),
            "/api/v1/namespaces/a/pods?labelSelector=app in (x,y)&fieldSelector=metadata.name=n&watch=true"
            "&allowWatchBookmarks=true&resourceVersion=5");
}

TEST_F(ReflectorList, MetadataOnlyAsksForItInTheRightForm) {  // R61: the wrong form is 406
  Reflector::Options options;
  options.metadata_only = true;
  start(options);
  EXPECT_EQ(last().request.accept, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json");
  const auto partial =
      R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","resourceVersion":"1"}})";
  last().reply(list_of({partial}, "5", "", "PartialObjectMetadataList"));
  EXPECT_EQ(last().request.accept, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
  scheduler_.run_posted();
  EXPECT_THAT(texts_, ElementsAre(R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"1"}})"));
  last().data(event_of(
      "MODIFIED",
      R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","resourceVersion":"6"}})"));
  EXPECT_THAT(told(), ElementsAre("Added a@1", "Modified a@6"));
}

TEST_F(ReflectorList, PagesGoOnByTokenAloneAndCountAsOne) {  // section 1.1: RV with continue is a 400
  start();
  last().reply(list_of({pod("a", "1")}, "10", "t1"));
  EXPECT_EQ(last().url(), "/api/v1/pods?limit=500&continue=t1");
  EXPECT_THAT(told(), IsEmpty());  // R14: nothing before the last page
  EXPECT_EQ(store_.size(), 0U);
  last().reply(list_of({pod("b", "2")}, "10", "t2"));
  last().reply(list_of({pod("c", "3")}, "11"));
  EXPECT_THAT(told(), ElementsAre("Added default/a@1", "Added default/b@2", "Added default/c@3"));
  EXPECT_EQ(last().param("resourceVersion"), "11");
  EXPECT_TRUE(health().listed);
  EXPECT_EQ(health().lists, 1U);
}

TEST_F(ReflectorList, AnEmptyListHasAVersionToo) {  // R11, R13
  for (const auto* body : {R"({"kind":"PodList","metadata":{"resourceVersion":"9"},"items":[]})",
                           R"({"kind":"PodList","metadata":{"resourceVersion":"9"},"items":null})",
                           R"({"kind":"PodList","metadata":{"resourceVersion":"9"}})"}) {
    start();
    last().reply(body);
    EXPECT_TRUE(last().is_watch());
    EXPECT_EQ(last().param("resourceVersion"), "9");
    EXPECT_TRUE(health().listed);
    EXPECT_THAT(told(), IsEmpty());
  }
}

TEST_F(ReflectorList, ItemsGetKindAndApiVersionOnlyWhereBothAreMissing) {  // R12, T27
  start();
  const auto custom =
      R"({"apiVersion":"example.com/v1","kind":"Pod","metadata":{"name":"b","resourceVersion":"2"},"big":9223372036854775807,"f":1.50})";
  last().reply(list_of({pod("a", "1"), custom}, "10"));
  scheduler_.run_posted();
  ASSERT_EQ(texts_.size(), 2U);
  EXPECT_EQ(texts_[0], custom);  // R63: byte for byte
  EXPECT_THAT(texts_[1], testing::StartsWith(R"({"apiVersion":"v1","kind":"Pod","metadata")"));
}

TEST_F(ReflectorList, AnExpiredPageMeansOneListInOnePiece) {  // R9, T9
  start();
  last().reply(list_of({pod("a", "1")}, "10", "t1"));
  const auto body = status_of(410, "Expired", "continue token too old", R"({"causes":[]})");
  last().reply_error(410, body);
  EXPECT_EQ(last().url(), "/api/v1/pods");
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_EQ(store_.staged(), 0U);  // what came from the first page is forgotten
  last().reply(list_of({pod("b", "2")}, "12"));
  EXPECT_THAT(told(), ElementsAre("Added default/b@2"));
  EXPECT_EQ(api_.count(), 4U);
}

TEST_F(ReflectorList, GoneInTheStreamMeansAListFromTheLastVersionThenTheMostRecent) {  // R10, T8
  start_watching({pod("a", "1")}, "10");
  last().data(event_of("ERROR", status_of(410, "Expired", "too old resource version")));
  EXPECT_EQ(last().url(), "/api/v1/pods?resourceVersion=10");  // at once, without limit
  last().reply_error(410, status_of(410, "Expired"));
  EXPECT_EQ(last().url(), "/api/v1/pods?limit=500");  // at once
  last().reply(list_of({pod("a", "1")}, "50"));
  EXPECT_EQ(last().param("resourceVersion"), "50");
  EXPECT_THAT(told(), IsEmpty());  // R42
  // The flag is cleared by success: the next relist asks for the last version again.
  last().data(event_of("ERROR", status_of(500, "StorageReadError")));
  until_next();
  EXPECT_EQ(last().url(), "/api/v1/pods?resourceVersion=50");
}

TEST_F(ReflectorList, WithoutAVersionGoneIsAnErrorAsAnyOther) {  // R10: no hot loop
  start();
  last().reply_error(410, status_of(410, "Expired"));
  EXPECT_EQ(api_.count(), 1U);
  EXPECT_EQ(health().state, Reflector::State::kWaiting);
  EXPECT_GE(until_next(), 800ms);
  EXPECT_EQ(last().url(), "/api/v1/pods?limit=500");
}

TEST_F(ReflectorList, TooLargeAVersionIsGivenUpAtOnce) {  // R10, R30, T10
  for (const auto& body : {status_of(504, "Timeout", "Timeout: x",
                                     R"({"causes":[{"reason":"ResourceVersionTooLarge"}],"retryAfterSeconds":1})"),
                           status_of(504, "Timeout", "Too large resource version: 10, current: 4")}) {
    start_watching({}, "10");
    last().data(event_of("ERROR", status_of(500, "StorageReadError")));
    until_next();
    ASSERT_EQ(last().url(), "/api/v1/pods?resourceVersion=10");
    const size_t before = api_.count();
    last().reply_error(504, body, "1");
    ASSERT_EQ(api_.count(), before + 1);
    EXPECT_EQ(last().url(), "/api/v1/pods?limit=500");
  }
}

TEST_F(ReflectorList, TooLargeAVersionForTheWatchMeansTheMostRecentListAtOnce) {
  start_watching({}, "10");
  last().data(event_of("ERROR", status_of(504, "Timeout", "Timeout: Too large resource version: 10, current: 4")));
  EXPECT_EQ(last().url(), "/api/v1/pods?limit=500");
}

TEST_F(ReflectorList, ARelistIsTheDifference) {  // R40, R42, T22, T24
  start_watching({pod("a", "1"), pod("b", "2"), pod("x", "3")}, "10");
  last().data(event_of("ERROR", status_of(410, "Expired")));
  last().reply(list_of({pod("b", "2"), pod("c", "12"), pod("x", "11")}, "20"));
  EXPECT_THAT(told(), ElementsAre("Deleted default/a@1?", "Added default/c@12", "Modified default/x@11"));
}

TEST_F(ReflectorList, ANamesakeIsAnotherObject) {  // R41, T23
  start_watching({pod("web-0", "1", "old")}, "10");
  last().data(event_of("ERROR", status_of(410, "Expired")));
  last().reply(list_of({pod("web-0", "15", "new")}, "20"));
  EXPECT_THAT(told(), ElementsAre("Deleted default/web-0@1?", "Added default/web-0@15"));
}

struct BadList {
  const char* name;
  std::function<void(Exchange&)> answer;
};
class ReflectorBadList : public ReflectorTest, public testing::WithParamInterface<BadList> {};

TEST_P(ReflectorBadList, DeletesNothing) {  // R13, R47, T26
  start_watching({pod("a", "1"), pod("b", "2")}, "10");
  last().data(event_of("ERROR", status_of(410, "Expired")));
  GetParam().answer(last());
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_EQ(store_.size(), 2U);
  EXPECT_EQ(store_.staged(), 0U);
  ASSERT_TRUE(health().error);
  EXPECT_THAT(health().error->what, HasSubstr("list Pod (v1)"));
  EXPECT_TRUE(health().listed);
  EXPECT_GE(until_next(), 800ms);
  EXPECT_FALSE(last().is_watch());
  last().reply(list_of({pod("a", "1")}, "20"));
  EXPECT_THAT(told(), ElementsAre("Deleted default/b@2?"));
  EXPECT_FALSE(health().error);
}

INSTANTIATE_TEST_SUITE_P(
    All, ReflectorBadList,
    testing::Values(
        BadList{"Forbidden", [](Exchange& e) { e.reply_error(403, status_of(403, "Forbidden", "pods is forbidden")); }},
        BadList{"NotFoundText", [](Exchange& e) { e.reply_error(404, "404 page not found\n"); }},
        BadList{"Unauthorized", [](Exchange& e) { e.reply_error(401, status_of(401, "Unauthorized")); }},
        BadList{"InternalError", [](Exchange& e) { e.reply_error(500, status_of(500, "InternalError")); }},
        BadList{"Html", [](Exchange& e) { e.reply("<html><body>sign in</body></html>"); }},
        BadList{"Truncated",
                [](Exchange& e) { e.reply(list_of({pod("a", "1"), pod("b", "2")}, "20").substr(0, 150)); }},
        BadList{"CutByTheNetwork",
                [](Exchange& e) {
                  e.data(list_of({pod("a", "1"), pod("b", "2")}, "20").substr(0, 150));
                  e.refuse();
                }},
        BadList{"Status", [](Exchange& e) { e.reply(status_of(403, "Forbidden")); }},
        BadList{"Empty", [](Exchange& e) { e.reply(""); }}, BadList{"EmptyObject", [](Exchange& e) { e.reply("{}"); }},
        BadList{"ItemsNoArray",
                [](Exchange& e) { e.reply(R"({"kind":"PodList","metadata":{"resourceVersion":"20"},"items":{}})"); }},
        BadList{"NamelessItem", [](Exchange& e) { e.reply(list_of({R"({"metadata":{}})"}, "20")); }},
        BadList{"Refused", [](Exchange& e) { e.refuse(); }},
        BadList{"IdleTimeout", [](Exchange& e) { e.fail_with(Error{Errc::kTimeout, "idle", 0, {}, {}}); }}),
    [](const auto& test) { return test.param.name; });

TEST_F(ReflectorList, AFailingSecondPageDeletesNothing) {  // T26
  start_watching({pod("a", "1"), pod("b", "2")}, "10");
  last().data(event_of("ERROR", status_of(410, "Expired")));
  last().reply(list_of({pod("a", "1")}, "20", "t"));
  last().reply_error(500, "");
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_EQ(store_.size(), 2U);
  EXPECT_EQ(store_.staged(), 0U);
}

TEST_F(ReflectorList, AfterATimeoutTheNextOneUsesANewConnection) {  // R52
  start();
  EXPECT_FALSE(last().request.fresh_connection);
  last().fail_with(Error{Errc::kTimeout, "idle", 0, {}, {}});
  until_next();
  EXPECT_TRUE(last().request.fresh_connection);
  last().refuse();
  until_next();
  EXPECT_FALSE(last().request.fresh_connection);
}

TEST_F(ReflectorList, RetryAfterIsWaitedForButNotForDays) {  // R34
  start();
  last().reply_error(429, status_of(429, "TooManyRequests", "storage is (re)initializing"), "12");
  EXPECT_GE(until_next(), 12s);
  last().reply_error(503, "", "1");
  EXPECT_GE(until_next(), 1600ms);  // the longer of the two
  last().reply_error(503, "", "86400");
  const auto waited = until_next();
  EXPECT_GE(waited, 5min);
  EXPECT_LE(waited, 5min + 1s);
}

}  // namespace
}  // namespace hookd::kube
