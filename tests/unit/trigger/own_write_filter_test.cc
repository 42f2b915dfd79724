#include "trigger/own_write_filter.h"

#include <gmock/gmock.h>

#include "unit/support/objects.h"

namespace hookd::trigger {
namespace {

using namespace std::chrono_literals;
using cache::Change;
using hook::Event;
using Made = apply::Outcome::Made;
using testing::ElementsAre;
using testing::IsEmpty;

// The hook "h" writes pod a/x; the test says in which order answers and events come.
class OwnWriteFilterTest : public testing::Test {
 protected:
  static cache::ObjectPtr pod(const std::string& version, std::string_view meta = "", const std::string& uid = "u1") {
    return test::make_object("a", "x", uid, version, test::object_json(test::pods(), "a", "x", uid, meta));
  }
  // What the watch tells: the pod went from version `from` ("" = it was not there) to `to`.
  void event(const std::string& from, const std::string& to, Event::Type type = Event::Type::kModified,
             std::string_view meta = "", std::string_view old_meta = "") {
    Change change;
    change.type = type == Event::Type::kAdded     ? Change::Type::kAdded
                  : type == Event::Type::kDeleted ? Change::Type::kDeleted
                                                  : Change::Type::kModified;
    change.object = pod(to, meta);
    if (!from.empty()) change.old = pod(from, old_meta);
    change.listed = listed;
    Event event;
    event.type = type;
    event.binding = "pods";
    event.resource = std::make_shared<const kube::ResourceType>(test::pods());
    event.object = change.object;
    filter.pass("pods./a/x", std::move(event), &change, change.object->text.unpack());
  }
  uint64_t send() {
    hook::OwnWrites::Write write;
    write.hook = "h";
    write.resource = "pods.";
    write.ns = "a";
    write.name = "x";
    write.because = std::make_shared<const std::vector<Event>>();
    return writes.sending(std::move(write));
  }
  void answer(uint64_t ticket, const std::string& version, Made made = Made::kYes,
              apply::Verb verb = apply::Verb::kAnnotate) {
    apply::Operation op;
    op.verb = verb;
    apply::Outcome outcome;
    outcome.uid = "u1";
    outcome.resource_version = version;
    outcome.made = made;
    writes.settled(ticket, op, outcome);
    scheduler.advance(0s);
  }
  void lost(uint64_t ticket) {
    apply::Outcome outcome;
    outcome.kind = apply::Outcome::Kind::kRetry;
    outcome.unknown = true;
    writes.settled(ticket, {}, outcome);
    scheduler.advance(0s);
  }
  std::vector<std::string> told() { return std::exchange(told_, {}); }

  ManualScheduler scheduler;
  hook::OwnWrites writes{scheduler};
  std::vector<std::string> told_, dropped;
  bool listed = false;
  OwnWriteFilter filter{
      "h", writes, scheduler,
      [this](const std::string&, const Event& event) {
        told_.push_back(fmt::format("{} {}", to_string(event.type), event.object->resource_version));
      },
      [this](const std::string&, const Event& event) {
        dropped.push_back(fmt::format("{} {}", to_string(event.type), event.object->resource_version));
      }};
};

TEST_F(OwnWriteFilterTest, TheAnswerBeforeTheEvent) {
  answer(send(), "2");
  event("1", "2");
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_THAT(dropped, ElementsAre("Modified 2"));
}

TEST_F(OwnWriteFilterTest, TheEventBeforeTheAnswer) {
  const uint64_t ticket = send();
  event("1", "2");
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_EQ(filter.held(), 1u);
  answer(ticket, "2");
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_EQ(filter.held(), 0u);
}

TEST_F(OwnWriteFilterTest, SomebodyElsesChangesOnBothSidesAreDelivered) {
  event("1", "2");
  const uint64_t ticket = send();
  event("2", "3");  // somebody else's, while the write is under way
  event("3", "4");  // the write's
  event("4", "5");  // somebody else's
  EXPECT_THAT(told(), ElementsAre("Modified 2"));
  answer(ticket, "4");
  EXPECT_THAT(told(), ElementsAre("Modified 3", "Modified 5"));
  event("5", "6");
  EXPECT_THAT(told(), ElementsAre("Modified 6"));
}

// The answer of a write that changed nothing shows a version that somebody else made.
TEST_F(OwnWriteFilterTest, AWriteThatChangedNothingHidesNothing) {
  const uint64_t ticket = send();
  event("1", "2");
  answer(ticket, "2", Made::kNo);
  EXPECT_THAT(told(), ElementsAre("Modified 2"));
  const uint64_t unproven = send();
  event("2", "3");
  answer(unproven, "3", Made::kUnknown);
  EXPECT_THAT(told(), ElementsAre("Modified 3"));
}

TEST_F(OwnWriteFilterTest, ALostAnswerDelivers) {
  const uint64_t ticket = send();
  event("1", "2");
  lost(ticket);
  EXPECT_THAT(told(), ElementsAre("Modified 2"));
}

TEST_F(OwnWriteFilterTest, AnAnswerThatDoesNotComeHoldsNothingForLong) {
  const uint64_t ticket = send();
  event("1", "2");
  scheduler.advance(OwnWriteFilter::kLongestHold - 1ms);
  EXPECT_THAT(told(), IsEmpty());
  scheduler.advance(1ms);
  EXPECT_THAT(told(), ElementsAre("Modified 2"));
  answer(ticket, "2");
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(OwnWriteFilterTest, TwoWritesUnderWayAreBothWaitedFor) {
  const uint64_t first = send(), second = send();
  event("1", "2");
  event("2", "3");
  answer(second, "3");
  EXPECT_EQ(filter.held(), 1u);  // version 2 may be the first one's
  answer(first, "2");
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_THAT(dropped, ElementsAre("Modified 2", "Modified 3"));
}

// A list shows the last of several changes only.
TEST_F(OwnWriteFilterTest, WhatAListFoundIsDelivered) {
  answer(send(), "5");
  listed = true;
  event("1", "5");
  EXPECT_THAT(told(), ElementsAre("Modified 5"));
}

TEST_F(OwnWriteFilterTest, WhatTimeBroughtIsDelivered) {
  answer(send(), "2");
  Event late;
  late.type = Event::Type::kAdded;
  late.resource = std::make_shared<const kube::ResourceType>(test::pods());
  late.object = pod("2");
  filter.pass("pods./a/x", late, nullptr, {});
  EXPECT_THAT(told(), ElementsAre("Added 2"));
}

TEST_F(OwnWriteFilterTest, AnObjectThatTheHookMade) {
  answer(send(), "2", Made::kYes, apply::Verb::kCreate);
  event("", "2", Event::Type::kAdded);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(OwnWriteFilterTest, ADeletionAtOnce) {
  const uint64_t ticket = send();
  event("1", "2", Event::Type::kDeleted);
  answer(ticket, "", Made::kYes, apply::Verb::kDelete);
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_THAT(dropped, ElementsAre("Deleted 2"));
}

constexpr std::string_view kEnds = R"("deletionTimestamp":"2026-01-01T00:00:00Z")";

TEST_F(OwnWriteFilterTest, ADeletionWithGrace) {
  const uint64_t ticket = send();
  event("1", "2", Event::Type::kModified, kEnds);
  answer(ticket, "2", Made::kYes, apply::Verb::kDelete);
  event("2", "3", Event::Type::kModified, kEnds, kEnds);  // the kubelet's
  event("3", "4", Event::Type::kDeleted, kEnds, kEnds);
  EXPECT_THAT(told(), ElementsAre("Modified 3"));
  EXPECT_THAT(dropped, ElementsAre("Modified 2", "Deleted 4"));
}

// A pod that no kubelet has: the answer shows it ending, but it is gone already.
TEST_F(OwnWriteFilterTest, ADeletionWithGraceThatTakesEffectAtOnce) {
  answer(send(), "2", Made::kYes, apply::Verb::kDelete);
  event("1", "2", Event::Type::kDeleted, kEnds);
  EXPECT_THAT(told(), IsEmpty());
}

// Its answer shows the version that the other deletion made, and perhaps others behind that.
TEST_F(OwnWriteFilterTest, ADeletionOfWhatSomebodyElseHadDeletedIsTheirs) {
  event("1", "2", Event::Type::kModified, kEnds);
  const uint64_t ticket = send();
  event("2", "3", Event::Type::kModified, kEnds, kEnds);
  answer(ticket, "3", Made::kYes, apply::Verb::kDelete);
  event("3", "4", Event::Type::kDeleted, kEnds, kEnds);
  EXPECT_THAT(told(), ElementsAre("Modified 2", "Modified 3", "Deleted 4"));
}

TEST_F(OwnWriteFilterTest, WhatIsHeldCanBeTakenAtOnce) {
  send();
  event("1", "2");
  filter.flush();
  EXPECT_THAT(told(), ElementsAre("Modified 2"));
  EXPECT_EQ(filter.held(), 0u);
}

}  // namespace
}  // namespace hookd::trigger
