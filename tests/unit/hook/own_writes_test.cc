#include "hook/own_writes.h"

#include <gmock/gmock.h>

#include "unit/support/objects.h"

namespace hookd::hook {
namespace {

using namespace std::chrono_literals;
using Made = apply::Outcome::Made;
using Kind = apply::Outcome::Kind;

class OwnWritesTest : public testing::Test {
 protected:
  static cache::Object pod(const std::string& version, const std::string& uid = "u1") {
    cache::Object object;
    object.ns = "a";
    object.name = "x";
    object.uid = uid;
    object.resource_version = version;
    return object;
  }
  static Event event(const std::string& version, Event::Type type = Event::Type::kModified) {
    Event made;
    made.type = type;
    made.resource = std::make_shared<const kube::ResourceType>(test::pods());
    made.object = std::make_shared<const cache::Object>(pod(version));
    return made;
  }
  uint64_t send(const std::string& hook = "h", std::vector<Event> because = {}) {
    OwnWrites::Write write;
    write.hook = hook;
    write.resource = "pods.";
    write.ns = "a";
    write.name = "x";
    write.because = std::make_shared<const std::vector<Event>>(std::move(because));
    write.call_started = scheduler.now();
    return writes.sending(std::move(write));
  }
  void settle(uint64_t ticket, const std::string& version, Made made = Made::kYes,
              apply::Verb verb = apply::Verb::kAnnotate, Kind kind = Kind::kDone) {
    apply::Operation op;
    op.verb = verb;
    apply::Outcome outcome;
    outcome.kind = kind;
    outcome.uid = "u1";
    outcome.resource_version = version;
    outcome.made = made;
    writes.settled(ticket, op, outcome);
  }
  Cause version_by(const std::string& version, const std::string& hook = "h") {
    return writes.version_by(hook, "pods.", pod(version));
  }
  int depth_of(std::vector<Event> events) {
    Chain chain;
    writes.cause_of(events, "h", &chain);
    return chain.depth;
  }

  ManualScheduler scheduler;
  OwnWrites writes{scheduler};
};

TEST_F(OwnWritesTest, AProvenVersionIsItsHooksAlone) {
  settle(send(), "7");
  EXPECT_EQ(version_by("7"), Cause::kOurs);
  EXPECT_EQ(version_by("7", "another"), Cause::kOthers);
  EXPECT_EQ(version_by("8"), Cause::kOthers);
  EXPECT_EQ(writes.version_by("h", "pods.", pod("7", "u2")), Cause::kOthers);
  EXPECT_EQ(writes.last_version("u1"), "7");
}

TEST_F(OwnWritesTest, NothingCanBeSaidWhileAWriteIsUnderWay) {
  const uint64_t ticket = send();
  EXPECT_EQ(version_by("7"), Cause::kUndecided);
  EXPECT_EQ(version_by("7", "another"), Cause::kOthers);  // only this hook's own writes matter to it
  cache::Object other = pod("7");
  other.name = "y";
  EXPECT_EQ(writes.version_by("h", "pods.", other), Cause::kOthers);
  EXPECT_EQ(writes.version_by("h", "deployments.apps", pod("7")), Cause::kOthers);
  settle(ticket, "7");
  EXPECT_EQ(version_by("7"), Cause::kOurs);
}

// A write that changed nothing answers with a version that somebody else made.
TEST_F(OwnWritesTest, AWriteThatChangedNothingMadeNoVersion) {
  settle(send(), "7", Made::kNo);
  EXPECT_EQ(version_by("7"), Cause::kOthers);
  EXPECT_EQ(depth_of({event("7")}), 0);
}

TEST_F(OwnWritesTest, WithoutProofAVersionIsNobodysOwn) {
  settle(send(), "7", Made::kUnknown);
  EXPECT_EQ(version_by("7"), Cause::kOthers);
  EXPECT_EQ(depth_of({event("7")}), 1);  // but good enough to look for loops
}

TEST_F(OwnWritesTest, AVersionThatWasSeenBeforeTheWriteWasNotMadeByIt) {
  writes.seen("u1", "7");
  settle(send(), "7", Made::kUnknown);
  EXPECT_EQ(depth_of({event("7")}), 0);
  const uint64_t ticket = send();
  writes.seen("u1", "8");  // the event came before the answer
  settle(ticket, "8", Made::kUnknown);
  EXPECT_EQ(depth_of({event("8")}), 1);
}

TEST_F(OwnWritesTest, ALostAnswerMadeNothingThatIsKnown) {
  settle(send(), "", Made::kUnknown, apply::Verb::kAnnotate, Kind::kRetry);
  EXPECT_EQ(version_by("7"), Cause::kOthers);
  const uint64_t abandoned = send();
  EXPECT_EQ(version_by("7"), Cause::kUndecided);
  writes.abandoned(abandoned);
  EXPECT_EQ(version_by("7"), Cause::kOthers);
}

TEST_F(OwnWritesTest, AnObjectMadeUnderAGeneratedNameIsExpectedByItsPrefix) {
  OwnWrites::Write write;
  write.hook = "h";
  write.resource = "pods.";
  write.ns = "a";
  write.prefix = "job-";
  write.because = std::make_shared<const std::vector<Event>>();
  writes.sending(std::move(write));
  cache::Object object = pod("7");
  EXPECT_EQ(writes.version_by("h", "pods.", object), Cause::kOthers);
  object.name = "job-x";
  EXPECT_EQ(writes.version_by("h", "pods.", object), Cause::kUndecided);
}

TEST_F(OwnWritesTest, ADeletionAtOnceIsTheHooks) {
  settle(send(), "", Made::kYes, apply::Verb::kDelete);
  EXPECT_EQ(writes.gone_by("h", "pods.", pod("9"), false), Cause::kOurs);
  EXPECT_EQ(writes.gone_by("another", "pods.", pod("9"), false), Cause::kOthers);
  EXPECT_EQ(writes.gone_by("h", "pods.", pod("9", "u2"), false), Cause::kOthers);
}

// The answer shows a version also when the object was ending before: only what began with it is the hook's.
TEST_F(OwnWritesTest, ADeletionWithGraceIsTheHooksOnceItsBeginningWasSeen) {
  settle(send(), "9", Made::kYes, apply::Verb::kDelete);
  EXPECT_EQ(writes.gone_by("h", "pods.", pod("12"), false), Cause::kOthers);
  EXPECT_EQ(writes.gone_by("h", "pods.", pod("12"), true), Cause::kOurs);  // a pod that nothing ran
  EXPECT_EQ(writes.gone_by("another", "pods.", pod("12"), true), Cause::kOthers);
  EXPECT_EQ(writes.ending_by("h", "pods.", pod("8")), Cause::kOthers);
  EXPECT_EQ(writes.ending_by("h", "pods.", pod("9")), Cause::kOurs);
  EXPECT_EQ(writes.gone_by("h", "pods.", pod("12"), false), Cause::kOurs);
  EXPECT_EQ(version_by("9"), Cause::kOthers);  // what else that version holds is not said
}

TEST_F(OwnWritesTest, AnEvictionIsTheHooksOnceTheObjectEnds) {
  settle(send(), "", Made::kYes, apply::Verb::kEvict);
  EXPECT_EQ(writes.gone_by("h", "pods.", pod("12"), false), Cause::kOthers);
  EXPECT_EQ(writes.ending_by("h", "pods.", pod("11")), Cause::kOurs);
  EXPECT_EQ(writes.gone_by("h", "pods.", pod("12"), false), Cause::kOurs);
}

TEST_F(OwnWritesTest, ADeletionOfWhatWasGoneIsNobodys) {
  settle(send(), "", Made::kUnknown, apply::Verb::kDelete, Kind::kNotNeeded);
  settle(send(), "", Made::kUnknown, apply::Verb::kDelete, Kind::kDone);  // the answer was lost
  EXPECT_EQ(writes.gone_by("h", "pods.", pod("9"), false), Cause::kOthers);
}

TEST_F(OwnWritesTest, CallsThatCallsCauseAreCounted) {
  settle(send("h", {event("1")}), "2", Made::kUnknown);  // its call came from outside
  EXPECT_EQ(depth_of({event("2")}), 1);
  for (int version = 3; version < 15; ++version) {
    settle(send("h", {event(std::to_string(version - 1))}), std::to_string(version), Made::kUnknown);
    EXPECT_EQ(depth_of({event(std::to_string(version))}), version - 1);
  }
  EXPECT_EQ(depth_of({event("15")}), 0);
  EXPECT_EQ(depth_of({event("14"), event("15")}), 0);  // something from outside is among them
  Event again = event("14");
  again.again = true;
  EXPECT_EQ(depth_of({again}), 0);
  EXPECT_EQ(depth_of({}), 0);
}

TEST_F(OwnWritesTest, EveryVersionOfAMergedEventMustBeOurs) {
  settle(send(), "3", Made::kUnknown);
  settle(send(), "5", Made::kUnknown);
  Event merged = event("5");
  merged.passed = {"3"};
  EXPECT_EQ(writes.cause_of({merged}, "h", nullptr), Cause::kOurs);
  merged.passed = {"3", "4"};
  EXPECT_EQ(writes.cause_of({merged}, "h", nullptr), Cause::kOthers);
  merged.passed.assign(Event::kMaxPassed, "3");  // there may have been more
  EXPECT_EQ(writes.cause_of({merged}, "h", nullptr), Cause::kOthers);
}

TEST_F(OwnWritesTest, HooksThatTakePartAreNamed) {
  settle(send("h", {event("1")}), "2", Made::kUnknown);
  settle(send("i", {event("2")}), "3", Made::kUnknown);
  Chain chain;
  EXPECT_EQ(writes.cause_of({event("3")}, "h", &chain), Cause::kOurs);
  EXPECT_THAT(chain.hooks, testing::UnorderedElementsAre("h", "i"));
  EXPECT_EQ(chain.depth, 2);
}

TEST_F(OwnWritesTest, TellsWhoAsksInATurnOfItsOwn) {
  std::vector<std::string> told;
  auto look = writes.on_settled(
      [&](const std::string& resource, const std::string& key) { told.push_back(resource + " " + key); });
  settle(send(), "7");
  EXPECT_TRUE(told.empty());
  scheduler.advance(0s);
  EXPECT_THAT(told, testing::ElementsAre("pods. a/x"));
  look.reset();
  settle(send(), "8");
  scheduler.advance(0s);
  EXPECT_EQ(told.size(), 1u);
}

TEST_F(OwnWritesTest, ForgetsTheOldest) {
  for (size_t i = 1; i <= OwnWrites::kVersions + 10; ++i) settle(send(), std::to_string(i));
  EXPECT_EQ(version_by("10"), Cause::kOthers);
  EXPECT_EQ(version_by("11"), Cause::kOurs);
  EXPECT_EQ(writes.under_way(), 0u);
}

}  // namespace
}  // namespace hookd::hook
