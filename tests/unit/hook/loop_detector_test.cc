#include "hook/loop_detector.h"

#include <gmock/gmock.h>

#include "unit/support/objects.h"

namespace hookd::hook {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// A hook that answers each call about pod a/x with a write to it; its calls take no time.
class LoopDetectorTest : public testing::Test {
 protected:
  Event event_of(int number) const {
    Event event;
    event.type = Event::Type::kModified;
    event.binding = "pods";
    event.resource = std::make_shared<const kube::ResourceType>(test::pods());
    const auto text = [&](int when) {
      return test::object_json(test::pods(), "a", "x", "u1", fmt::format(R"("annotations":{{"now":"{}"}})", when));
    };
    event.object = test::make_object("a", "x", "u1", std::to_string(number), text(number));
    event.old = test::make_object("a", "x", "u1", std::to_string(number - 1), text(number - 1));
    return event;
  }
  void change() { detector.pass(kKey, event_of(++version)); }  // by somebody else

  void called(const std::string& key, Event event) {
    ++calls;
    at.push_back(scheduler.now() - SteadyTime{});
    detector.starting(key, {event});
    if (!answers) return;
    OwnWrites::Write write;
    write.hook = writer;
    write.resource = "pods.";
    write.ns = "a";
    write.name = "x";
    write.because = std::make_shared<const std::vector<Event>>(bare_events({event}));
    write.call_started = scheduler.now();
    const uint64_t ticket = writes.sending(std::move(write));
    const int made = ++version;
    const auto settle = [this, ticket, made] {
      apply::Outcome outcome;
      outcome.uid = "u1";
      outcome.resource_version = std::to_string(made);
      apply::Operation op;
      op.verb = apply::Verb::kAnnotate;
      writes.settled(ticket, op, outcome);
    };
    if (answer_first) settle();
    pending.push_back(scheduler.after(call_time, [this, made, settle] {
      detector.pass(kKey, event_of(made));
      if (!answer_first) settle();
    }));
  }
  int taken() { return std::exchange(calls, 0); }

  static constexpr const char* kKey = "pods./a/x";
  ManualScheduler scheduler;
  OwnWrites writes{scheduler};
  int version = 1, calls = 0;
  bool answers = true, answer_first = true;
  Duration call_time = 10ms;
  std::string writer = "h";
  std::vector<Duration> at;
  std::vector<std::string> told;
  std::vector<Timer> pending;
  LoopDetector detector{"h", writes, scheduler,
                        [this](const std::string& key, Event event) { called(key, std::move(event)); },
                        [this](const LoopDetector::Loop& loop) { told.push_back(loop.text()); }};
};

TEST_F(LoopDetectorTest, ALoopIsSlowedMoreAndMoreButNeverStopped) {
  change();
  scheduler.advance(900ms);
  EXPECT_EQ(taken(), 12);  // the one from outside, ten for free, and the one that found the loop
  EXPECT_EQ(detector.slowed(), 1u);
  scheduler.advance(1s);
  EXPECT_EQ(taken(), 1);
  scheduler.advance(1h);
  const int in_an_hour = taken();
  EXPECT_GE(in_an_hour, 12);
  EXPECT_LE(in_an_hour, 25);
  EXPECT_EQ(detector.worst()->delay, LoopDetector::kMaxDelay);
  EXPECT_EQ(at.back() - at[at.size() - 2], LoopDetector::kMaxDelay);
}

TEST_F(LoopDetectorTest, NamesThePathAndWhatToDo) {
  change();
  scheduler.advance(1s);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told.front(), HasSubstr(".metadata.annotations.now of Pod a/x"));
  EXPECT_THAT(told.front(), HasSubstr("ownWrites: ignore"));
  scheduler.advance(1h);
  EXPECT_LE(told.size(), 8u);  // sparsely
  EXPECT_THAT(detector.worst()->paths, ElementsAre(".metadata.annotations.now"));
}

TEST_F(LoopDetectorTest, EventsThatComeBeforeTheAnswersMakeNoDifference) {
  answer_first = false;
  change();
  scheduler.advance(10min);
  EXPECT_LE(taken(), 30);
  EXPECT_EQ(detector.slowed(), 1u);
}

TEST_F(LoopDetectorTest, HooksThatFightAreNamed) {
  writer = "other";
  change();
  scheduler.advance(2s);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told.front(), HasSubstr("hooks other, h keep changing what calls them"));
}

// A status that goes through its phases.
TEST_F(LoopDetectorTest, AFiniteChainIsNotHurt) {
  change();
  scheduler.advance(80ms);
  answers = false;
  scheduler.advance(1h);
  EXPECT_THAT(told, IsEmpty());
  EXPECT_EQ(detector.slowed(), 0u);
  EXPECT_FALSE(detector.holds());
}

TEST_F(LoopDetectorTest, AChainThatIsTooLongIsSlowedAndEnds) {
  change();
  scheduler.advance(10s);
  const int before = taken();
  answers = false;
  scheduler.advance(10s);
  EXPECT_EQ(taken(), 1);  // the last event comes, slowed, and makes no more
  EXPECT_GT(before, 12);
  scheduler.advance(5min);
  EXPECT_EQ(detector.slowed(), 0u);  // the loop is over
}

TEST_F(LoopDetectorTest, AChangeFromOutsideComesAtOnce) {
  change();
  scheduler.advance(10min);
  ASSERT_TRUE(detector.holds());
  taken();
  change();
  EXPECT_GE(taken(), 1);
  answers = false;
  scheduler.advance(1s);
  EXPECT_EQ(detector.slowed(), 0u);
}

TEST_F(LoopDetectorTest, ChangesFromOutsideInBetweenAreNoLoop) {
  for (int i = 0; i < 100; ++i) {
    answers = i % 2 == 0;
    change();
    scheduler.advance(20ms);
  }
  EXPECT_THAT(told, IsEmpty());
  EXPECT_EQ(detector.slowed(), 0u);
}

// A hook that is called again every now and then and writes each time is called once more by that: no chain.
TEST_F(LoopDetectorTest, CallsOfItsOwnWishBreakTheChain) {
  call_time = 1ms;
  for (int i = 0; i < 50; ++i) {
    Event again = event_of(version);
    again.again = true;
    answers = true;
    called(kKey, again);
    answers = false;
    scheduler.advance(30s);
  }
  EXPECT_THAT(told, IsEmpty());
}

TEST_F(LoopDetectorTest, ASlowLoopIsLeftAlone) {
  call_time = 2min;
  change();
  scheduler.advance(1h);
  EXPECT_EQ(taken(), 31);
  EXPECT_THAT(told, IsEmpty());
}

TEST_F(LoopDetectorTest, HandsWhatItHoldsToASuccessor) {
  change();
  scheduler.advance(10min);
  ASSERT_TRUE(detector.holds());
  EXPECT_EQ(detector.take_held().size(), 1u);
  EXPECT_FALSE(detector.holds());
  EXPECT_EQ(detector.slowed(), 0u);
}

}  // namespace
}  // namespace hookd::hook
