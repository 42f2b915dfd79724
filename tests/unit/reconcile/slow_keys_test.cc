#include "reconcile/slow_keys.h"

#include <gmock/gmock.h>

#include "unit/support/objects.h"

namespace hookd::reconcile {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class SlowKeysTest : public testing::Test {
 protected:
  SlowKeysTest() { parent("1", "red"); }

  void parent(const std::string& version, const std::string& colour) {
    auto object = std::make_shared<cache::Object>();
    object->ns = "a";
    object->name = "p";
    object->uid = "u";
    object->resource_version = version;
    object->text = cache::PackedText(colour, nullptr);
    known = object;
  }
  static hook::Event event(const std::string& type) {
    hook::Event event;
    event.type = hook::Event::Type::kReconcile;
    event.causes.push_back({"children", type, "", "", ""});
    return event;
  }
  // A run that flips until it is slowed, and leaves its parent in that colour; "" = it did not write it.
  Duration flip(const std::string& leaves = "") {
    const cache::ObjectPtr told = known;
    Duration delay{0};
    for (int i = 0; i < WriteRepeats::kFree + 2 && delay == 0s; ++i)
      if (const auto found = keys.wrote("a/p", "Pod a/x", 1, R"({"data":"red"})", R"({"data":"blue"})", once))
        delay = found->delay;
    keys.ended("a/p", told, leaves);
    return delay;
  }
  void flip_on() {
    for (int i = 0; i < WriteRepeats::kFree + 2; ++i)
      keys.wrote("a/p", "Pod a/x", 1, R"({"data":"red"})", R"({"data":"blue"})", false);
  }
  std::vector<std::string> taken() { return std::exchange(emitted, {}); }

  ManualScheduler scheduler;
  cache::ObjectPtr known;
  std::vector<std::string> emitted;
  int looks = 0;
  bool once = false;
  SlowKeys keys{scheduler,
                {[this](const std::string& key, const hook::Event& event) {
                   std::string line = key;
                   for (const auto& cause : event.causes) line += " " + cause.type;
                   emitted.push_back(line);
                 },
                 [this](const std::string&) { return known; },
                 [this](const std::string&, std::string_view text) {
                   ++looks;
                   return std::hash<std::string_view>()(text);
                 }}};
};

TEST_F(SlowKeysTest, HoldWhatCallsThemUntilTheDelayIsOver) {
  keys.emit("a/p", event("Added"));
  EXPECT_THAT(taken(), ElementsAre("a/p Added"));
  ASSERT_EQ(flip("red"), 1s);
  keys.emit("a/p", event("Modified"));
  EXPECT_TRUE(keys.holds("a/p", event("Deleted")));
  EXPECT_FALSE(keys.holds("a/p", event("Requeue"))) << "that has a time of its own";
  keys.emit("a/q", event("Added"));
  EXPECT_THAT(taken(), ElementsAre("a/q Added"));
  scheduler.advance(999ms);
  EXPECT_THAT(taken(), IsEmpty());
  scheduler.advance(1ms);
  EXPECT_THAT(taken(), ElementsAre("a/p Modified Deleted"));
  EXPECT_FALSE(keys.holds("a/p", event("Added")));
}

TEST_F(SlowKeysTest, OfSeveralObjectsThatAreUndoneTheLongestDelayCounts) {
  flip_on();
  flip_on();  // its delay doubled meanwhile
  for (int i = 0; i < WriteRepeats::kFree + 2; ++i)
    keys.wrote("a/p", "Pod a/y", 1, R"({"data":"red"})", R"({"data":"blue"})", false);
  keys.ended("a/p", known);
  keys.emit("a/p", event("Modified"));
  scheduler.advance(30s);
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(SlowKeysTest, AnotherParentIsACure) {
  flip("red");
  keys.emit("a/p", event("Modified"));
  parent("2", "green");
  keys.emit("a/p", event("Deleted"));
  EXPECT_THAT(taken(), ElementsAre("a/p Modified Deleted"));
}

TEST_F(SlowKeysTest, WhatTheRunItselfWroteOntoItsParentIsNone) {
  flip("blue");
  parent("2", "blue");
  keys.emit("a/p", event("Modified"));
  EXPECT_THAT(taken(), IsEmpty());
  parent("3", "red");  // put back by somebody: the same fight
  keys.emit("a/p", event("Modified"));
  EXPECT_THAT(taken(), IsEmpty());
  parent("4", "green");
  keys.emit("a/p", event("Modified"));
  EXPECT_EQ(taken().size(), 1u);
}

// The watch may be quicker than the answer of the write.
TEST_F(SlowKeysTest, WhileTheRunGoesOnNothingIsACureAndThenItIsLookedFor) {
  const cache::ObjectPtr told = known;
  flip_on();
  parent("2", "blue");
  keys.emit("a/p", event("Modified"));
  keys.ended("a/p", told, "blue");
  EXPECT_THAT(taken(), IsEmpty());
  flip("blue");
  parent("3", "green");
  keys.emit("a/p", event("Modified"));
  EXPECT_EQ(taken().size(), 1u);
}

// Its hook may take long, and was not told of that.
TEST_F(SlowKeysTest, WhatChangedWhileTheRunWentOnIsACure) {
  const cache::ObjectPtr told = known;
  parent("2", "green");
  flip_on();
  keys.emit("a/p", event("Modified"));
  EXPECT_THAT(taken(), IsEmpty());
  keys.ended("a/p", told);
  EXPECT_THAT(taken(), ElementsAre("a/p Modified"));
}

TEST_F(SlowKeysTest, WhatIsHeldGoesOntoTheQueueWhenNobodyWillReleaseIt) {
  flip();
  keys.emit("a/p", event("Modified"));
  keys.release_all();
  EXPECT_THAT(taken(), ElementsAre("a/p Modified"));
  keys.emit("a/p", event("Added"));
  EXPECT_THAT(taken(), ElementsAre("a/p Added"));
}

TEST_F(SlowKeysTest, AParentIsReadOnceForEachOfItsVersions) {
  flip("red");
  parent("2", "red");
  keys.emit("a/p", event("Modified"));
  const int before = looks;
  for (int i = 0; i < 100; ++i) keys.emit("a/p", event("Modified"));
  EXPECT_EQ(looks, before);
}

TEST_F(SlowKeysTest, WithOnceTheyAreGivenUpAndForgottenWithTheirParent) {
  once = true;
  flip("red");
  EXPECT_TRUE(keys.given_up("a/p"));
  keys.forget("a/p");
  EXPECT_FALSE(keys.given_up("a/p"));
  EXPECT_EQ(keys.repeats().size(), 0u);
  once = false;
  flip("red");
  keys.emit("a/p", event("Modified"));
  known = nullptr;
  keys.forget("a/p");
  EXPECT_THAT(taken(), ElementsAre("a/p Modified"));
}

}  // namespace
}  // namespace hookd::reconcile
