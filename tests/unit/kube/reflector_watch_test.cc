// Rules: k8s-client.md R1, R2, R20-R30, R33, R36, R52, R53 and the table of section 1.5; T7, T12, T15, T16, T19-T21,
// T28, T30.
#include "unit/kube/reflector_fixture.h"

namespace hookd::kube {
namespace {

using namespace std::chrono_literals;
using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string added(const std::string& name, const std::string& version) {
  return event_of("ADDED", with_kind(pod(name, version)));
}
std::string modified(const std::string& name, const std::string& version) {
  return event_of("MODIFIED", with_kind(pod(name, version)));
}
std::string deleted(const std::string& name, const std::string& version) {
  return event_of("DELETED", with_kind(pod(name, version)));
}

class ReflectorWatch : public ReflectorTest {};

TEST_F(ReflectorWatch, AsksInTheRightShape) {  // R1, R52, R53
  std::set<int> timeouts;
  for (int i = 0; i < 20; ++i) {
    start_watching({}, "10");
    EXPECT_EQ(last().url(), "/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=10");
    const int timeout = std::stoi(last().param("timeoutSeconds"));
    EXPECT_GE(timeout, 300);
    EXPECT_LE(timeout, 600);
    EXPECT_EQ(last().request.total_timeout, std::chrono::seconds(timeout + 30));
    EXPECT_FALSE(last().request.accept_gzip);
    EXPECT_EQ(last().request.pool, net::Pool::kWatch);
    timeouts.insert(timeout);
  }
  EXPECT_GT(timeouts.size(), 5U);  // spread, so that many watches do not end together
}

TEST_F(ReflectorWatch, EventsReachTheStoreWhichDecidesWhatTheyAre) {  // R26
  start_watching({pod("a", "1")}, "10");
  last().data(added("a", "11") + modified("new", "12") + deleted("unknown", "13") + deleted("a", "14") +
              deleted("a", "14"));
  EXPECT_THAT(told(), ElementsAre("Modified default/a@11", "Added default/new@12", "Deleted default/a@14"));
  EXPECT_EQ(reflector_->resource_version(), "14");
  EXPECT_EQ(health().events, 5U);
}

TEST_F(ReflectorWatch, EventsSplitAnywhereAreTheSame) {  // T19
  const std::string text = added("a", "11") + modified("a", "12") + deleted("a", "13");
  for (size_t split = 1; split < text.size(); ++split) {
    start_watching({}, "10");
    last().data(std::string_view(text).substr(0, split));
    last().data(std::string_view(text).substr(split));
    ASSERT_THAT(told(), ElementsAre("Added default/a@11", "Modified default/a@12", "Deleted default/a@13")) << split;
  }
}

TEST_F(ReflectorWatch, ACutStreamGoesOnFromTheLastEvent) {  // T7, T21, R21
  start_watching({}, "1");
  last().data(added("a", "2") + added("b", "3") +
              R"({"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"c","resourceVersion":"4)");
  last().refuse();
  EXPECT_EQ(last().url(), "/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=3");
  EXPECT_EQ(health().lists, 1U);
  EXPECT_FALSE(health().error);
  EXPECT_THAT(told(), ElementsAre("Added default/a@2", "Added default/b@3"));
}

TEST_F(ReflectorWatch, BookmarksMoveTheVersionAndNothingElse) {  // R24, R20, T28: also the end mark of initial events
  start_watching({}, "1");
  last().data(bookmark("50") + bookmark("60", R"({"k8s.io/initial-events-end":"true"})"));
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_EQ(health().bookmarks, 2U);
  EXPECT_EQ(health().events, 0U);
  last().end();
  EXPECT_EQ(last().param("resourceVersion"), "60");
}

TEST_F(ReflectorWatch, NothingIsWatchedFromNowhere) {  // R20, T28: a plain watch at "" or "0" could miss deletions
  start();
  last().reply(R"({"kind":"PodList","metadata":{"resourceVersion":"0"},"items":[]})");
  EXPECT_EQ(api_.count(), 1U);
  EXPECT_EQ(health().state, Reflector::State::kWaiting);
}

TEST_F(ReflectorWatch, TheVersionDoesNotMoveByWhatWasNotTaken) {  // R36
  start_watching({}, "10");
  last().data(added("a", "11") +
              event_of("ADDED", R"({"kind":"Pod","metadata":{"resourceVersion":"12"}})"));  // no name
  EXPECT_EQ(reflector_->resource_version(), "11");
  until_next();
  EXPECT_EQ(last().url(), "/api/v1/pods?resourceVersion=11");
  last().reply(list_of({pod("a", "11")}, "20"));
  last().data(event_of("ERROR", status_of(500, "InternalError", "x")));
  EXPECT_EQ(reflector_->resource_version(), "20");
}

TEST_F(ReflectorWatch, ObjectsOfAnotherKindAreSkipped) {  // R23
  start_watching({}, "10");
  last().data(event_of("ADDED", with_kind(pod("a", "11"), "v1", "Secret")) + added("b", "9"));
  EXPECT_THAT(told(), ElementsAre("Added default/b@9"));
  EXPECT_EQ(reflector_->resource_version(), "9");
}

TEST_F(ReflectorWatch, AFiveMebibyteObjectIsTaken) {  // T20
  start_watching({}, "10");
  std::string object = with_kind(pod("big", "11"));
  object.insert(object.size() - 1, R"(,"data":")" + std::string(5u << 20, 'x') + "\"");
  last().data(event_of("ADDED", object));
  EXPECT_THAT(told(), ElementsAre("Added default/big@11"));
  EXPECT_TRUE(texts_.back() == object);
}

TEST_F(ReflectorWatch, AnObjectOverTheBoundIsSaidAndListedAgain) {  // T20, R22
  Reflector::Options options;
  options.max_object_bytes = 1000;
  start_watching({}, "10", options);
  last().data(added("a", "11") + R"({"type":"ADDED","object":{"x":")" + std::string(2000, 'x'));
  ASSERT_TRUE(health().error);
  EXPECT_EQ(health().error->code, Errc::kTooLarge);
  EXPECT_THAT(health().error->what, HasSubstr("over 1000 bytes"));
  EXPECT_GE(until_next(), 800ms);
  EXPECT_EQ(last().url(), "/api/v1/pods?resourceVersion=11");
}

TEST_F(ReflectorWatch, ThrottledThriceWaitsAsToldAndDoesNotList) {  // T12
  start_watching({}, "10");
  for (int i = 0; i < 3; ++i) {
    last().reply_error(429, status_of(429, "TooManyRequests"), "9");
    EXPECT_GE(until_next(), 9s);
    ASSERT_TRUE(last().is_watch());
    EXPECT_EQ(last().param("resourceVersion"), "10");
  }
  last().head();
  scheduler_.advance(1s);
  EXPECT_FALSE(health().error);
  EXPECT_EQ(health().lists, 1U);
}

TEST_F(ReflectorWatch, AnEndAtOnceMeansAListAfterAWait) {  // T15
  start_watching({}, "10");
  last().head();
  last().end();
  EXPECT_EQ(health().state, Reflector::State::kWaiting);
  EXPECT_GE(until_next(), 800ms);
  EXPECT_EQ(last().url(), "/api/v1/pods?resourceVersion=10");
}

TEST_F(ReflectorWatch, AQuietSecondIsEnoughToGoOn) {
  start_watching({}, "10");
  last().head();
  scheduler_.advance(1s);
  last().end();
  EXPECT_TRUE(last().is_watch());
  EXPECT_EQ(health().lists, 1U);
}

TEST_F(ReflectorWatch, StreamsCutAfterEachEventAreRateLimited) {  // T15, R33
  start_watching({}, "10");
  const SteadyTime from = scheduler_.now();
  const size_t before = api_.count();
  for (int i = 0; scheduler_.now() - from < 60s; ++i) {
    if (last().open() && last().is_watch()) {
      last().data(added("a", std::to_string(11 + i)));
      last().end();
    }
    scheduler_.advance(100ms);
  }
  EXPECT_EQ(health().lists, 1U);
  EXPECT_GE(api_.count() - before, 55U);
  EXPECT_LE(api_.count() - before, 63U);
}

TEST_F(ReflectorWatch, ASilentStreamIsEndedAndBegunOnANewConnection) {  // T16, R52
  start_watching({}, "10");
  EXPECT_EQ(last().request.idle_timeout, Duration::zero());  // not known yet whether this server sends bookmarks
  last().data(bookmark("11"));
  scheduler_.advance(1s);
  last().end();
  EXPECT_EQ(last().request.idle_timeout, Reflector::kBookmarkSilence);
  EXPECT_FALSE(last().request.fresh_connection);
  last().head();
  scheduler_.advance(Reflector::kBookmarkSilence);
  last().fail_with(Error{Errc::kTimeout, "no byte for 2m45s", 0, {}, {}});  // as the transport's idle timeout says
  EXPECT_TRUE(last().is_watch());
  EXPECT_EQ(last().param("resourceVersion"), "11");
  EXPECT_TRUE(last().request.fresh_connection);
  EXPECT_EQ(health().lists, 1U);
  EXPECT_FALSE(health().error);
}

TEST_F(ReflectorWatch, TheFirstStreamIsGuardedOnceItSentABookmark) {  // R52
  start_watching({}, "10");
  last().data(bookmark("11"));
  scheduler_.advance(100s);
  last().data(bookmark("12"));
  scheduler_.advance(Reflector::kBookmarkSilence - 1s);
  const auto stream = api_.last();
  EXPECT_TRUE(stream->open());
  scheduler_.advance(1s);
  EXPECT_TRUE(stream->dropped());
  ASSERT_NE(api_.last(), stream);
  EXPECT_EQ(last().param("resourceVersion"), "12");
  EXPECT_TRUE(last().request.fresh_connection);
}

TEST_F(ReflectorWatch, AStreamThatSendsNoBookmarksMayBeSilent) {
  start_watching({}, "10");
  last().head();
  const auto stream = api_.last();
  scheduler_.advance(300s);
  EXPECT_TRUE(stream->open());
}

TEST_F(ReflectorWatch, AServerThatNeverAnswersIsLeft) {
  start_watching({}, "10");
  const auto stream = api_.last();
  scheduler_.advance(Reflector::kHeadTimeout - 1ms);
  EXPECT_TRUE(stream->open());
  scheduler_.advance(1ms);
  EXPECT_TRUE(stream->dropped());
  ASSERT_TRUE(health().error);
  EXPECT_EQ(health().error->code, Errc::kTimeout);
  until_next();
  EXPECT_TRUE(last().is_watch());  // nothing is lost: no list
  EXPECT_TRUE(last().request.fresh_connection);
}

TEST_F(ReflectorWatch, AStorageReadErrorMeansAListThatFindsTheLoss) {  // R28, T30
  start_watching({pod("a", "1"), pod("corrupt", "2")}, "10");
  last().data(event_of("ERROR", status_of(500, "StorageReadError", "corrupt object", R"({"retryAfterSeconds":1})")));
  until_next();
  ASSERT_FALSE(last().is_watch());
  last().reply(list_of({pod("a", "1")}, "20"));
  EXPECT_THAT(told(), ElementsAre("Deleted default/corrupt@2?"));
}

TEST_F(ReflectorWatch, InternalErrorEventsAreRetriedForHalfAMinute) {  // section 1.5
  start_watching({}, "10");
  const SteadyTime from = scheduler_.now();
  while (last().is_watch() && scheduler_.now() - from < 5min) {
    last().data(event_of("ERROR", status_of(500, "InternalError", "etcd is busy")));
    until_next();
  }
  EXPECT_FALSE(last().is_watch());
  EXPECT_GE(scheduler_.now() - from, 30s);
  EXPECT_LE(scheduler_.now() - from, 120s);
  EXPECT_EQ(health().lists, 2U);
  EXPECT_GE(health().watches, 4U);
}

TEST_F(ReflectorWatch, GoneAgainAndAgainIsNoHotLoop) {
  start_watching({}, "10");
  last().data(event_of("ERROR", status_of(410, "Expired")));
  ASSERT_FALSE(last().is_watch());  // at once
  last().reply(list_of({}, "20"));
  last().data(event_of("ERROR", status_of(410, "Expired")));
  EXPECT_EQ(health().state, Reflector::State::kWaiting);
  EXPECT_GE(until_next(), 800ms);
  // Once it worked in between, the next one is at once again.
  last().reply(list_of({}, "30"));
  last().data(added("a", "31"));
  last().data(event_of("ERROR", status_of(410, "Expired")));
  EXPECT_FALSE(last().is_watch());
  EXPECT_EQ(health().state, Reflector::State::kListing);
}

struct Failing {
  const char* name;
  std::function<void(Exchange&)> how;
  bool lists;         // what comes next: a list, or the same watch again
  bool waits = true;  // a back-off of 0.8 s at least before it
};
class ReflectorFailing : public ReflectorTest, public testing::WithParamInterface<Failing> {};

TEST_P(ReflectorFailing, DoesWhatTheTableSays) {  // section 1.5
  start_watching({pod("a", "1")}, "10");
  const size_t before = api_.count();
  GetParam().how(last());
  if (GetParam().waits) {
    ASSERT_EQ(api_.count(), before);
    EXPECT_EQ(health().state, Reflector::State::kWaiting);
    EXPECT_TRUE(health().error);
    EXPECT_GE(until_next(), 800ms);
  }
  ASSERT_EQ(api_.count(), before + 1);
  EXPECT_EQ(last().is_watch(), !GetParam().lists);
  EXPECT_EQ(last().param("resourceVersion"), "10");
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_EQ(store_.size(), 1U);
}

std::function<void(Exchange&)> broken(Errc code) {
  return [code](Exchange& e) { e.fail_with(Error{code, "x", 0, {}, {}}); };
}
std::function<void(Exchange&)> answered(int status, std::string body = {}, std::string retry_after = {}) {
  return [=](Exchange& e) { e.reply_error(status, body, retry_after); };
}
std::function<void(Exchange&)> error_event(int code, const char* reason) {
  return [=](Exchange& e) { e.data(event_of("ERROR", status_of(code, reason))); };
}

INSTANTIATE_TEST_SUITE_P(
    All, ReflectorFailing,
    testing::Values(
        Failing{"Refused", broken(Errc::kTransport), false}, Failing{"ConnectTimeout", broken(Errc::kTimeout), false},
        Failing{"TlsHandshake", broken(Errc::kTls), false},
        Failing{"CutBeforeTheHead", [](Exchange& e) { e.end(); }, false},
        Failing{"ShortWatch",
                [](Exchange& e) {
                  e.head();
                  e.end();
                },
                true},
        Failing{"ShortWatchReset",
                [](Exchange& e) {
                  e.head();
                  e.refuse();
                },
                true},
        Failing{"Http410", answered(410, status_of(410, "Gone")), true, false},
        Failing{"Event410Expired", error_event(410, "Expired"), true, false},
        Failing{"Event410Gone", error_event(410, "Gone"), true, false},
        Failing{"Http429", answered(429, status_of(429, "TooManyRequests"), "1"), false},
        Failing{"Http429Text", answered(429, "slow down"), false},
        Failing{"Event429", error_event(429, "TooManyRequests"), false},
        Failing{"Http503RetryAfter", answered(503, "", "1"), false},
        Failing{"Http504RetryAfter", answered(504, "", "1"), false}, Failing{"Http503", answered(503), true},
        Failing{"Http500", answered(500, status_of(500, "InternalError")), true},
        Failing{"Http401", answered(401, status_of(401, "Unauthorized")), true},
        Failing{"Http403", answered(403, status_of(403, "Forbidden")), true},
        Failing{"Http404Text", answered(404, "404 page not found\n"), true}, Failing{"Http204", answered(204), true},
        Failing{"Http400", answered(400, status_of(400, "BadRequest")), true},
        Failing{"Event500", error_event(500, "InternalError"), false},
        Failing{"Event500Storage", error_event(500, "StorageReadError"), true},
        Failing{"Event504", error_event(504, "Timeout"), true},
        Failing{"Event403", error_event(403, "Forbidden"), true},
        Failing{"BogusType", [](Exchange& e) { e.data(event_of("BOGUS", "{}")); }, true},  // T21
        Failing{"NotJson", [](Exchange& e) { e.data("<html>"); }, true},                   // T21
        Failing{"NamelessObject", [](Exchange& e) { e.data(event_of("ADDED", R"({"kind":"Pod","metadata":{}})")); },
                true}),
    [](const auto& test) { return test.param.name; });

TEST_F(ReflectorWatch, HealthTellsTheErrorUntilItWorksAgain) {
  start_watching({}, "10");
  const int before = changes_;
  last().refuse();
  EXPECT_EQ(changes_, before + 1);
  ASSERT_TRUE(health().error);
  EXPECT_THAT(health().error->what, HasSubstr("watch Pod (v1): connection refused"));
  until_next();
  last().head();
  EXPECT_TRUE(health().error);  // R27: the first thing may be an error still
  scheduler_.advance(1s);
  EXPECT_FALSE(health().error);
  EXPECT_EQ(changes_, before + 2);
  EXPECT_EQ(health().state, Reflector::State::kWatching);
}

TEST_F(ReflectorWatch, AnErrorRightAfterTheHeadDoesNotCountAsWorking) {
  start_watching({}, "10");
  last().refuse();
  until_next();
  last().head();
  last().data(event_of("ERROR", status_of(403, "Forbidden")));
  EXPECT_TRUE(health().error);
  scheduler_.advance(700ms);
  EXPECT_TRUE(health().error);
}

TEST_F(ReflectorWatch, ShortStreamsWithEventsAreHealthyToo) {
  start_watching({}, "10");
  last().refuse();
  until_next();
  last().data(added("a", "11"));
  last().end();
  EXPECT_FALSE(health().error);
}

}  // namespace
}  // namespace hookd::kube
