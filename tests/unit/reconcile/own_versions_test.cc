#include "reconcile/own_versions.h"

#include <gmock/gmock.h>

namespace hookd::reconcile {
namespace {

using namespace std::chrono_literals;

cache::Identity at(std::string version, std::string uid = "u", std::string name = "x") {
  return {"a", std::move(name), std::move(uid), std::move(version)};
}

class OwnVersionsTest : public testing::Test {
 protected:
  void wait(const std::string& key = "k") {
    own.when_clear(key, [this] { ++looks; });
  }
  ManualScheduler scheduler;
  OwnVersions own{scheduler};
  int looks = 0;
};

TEST_F(OwnVersionsTest, AKeyWaitsUntilItsWriteComesBack) {
  own.wrote("k", "pods.", at("12"));
  EXPECT_FALSE(own.clear("k"));
  EXPECT_TRUE(own.clear("other"));
  wait();
  own.seen("pods.", at("11"));
  own.seen("pods.", at("12", "u2", "y"));
  own.seen("configmaps.", at("12"));
  scheduler.advance(1s);
  EXPECT_EQ(looks, 0);
  own.seen("pods.", at("12"));
  EXPECT_EQ(looks, 0);  // in a turn of its own
  EXPECT_TRUE(own.clear("k"));
  scheduler.advance(0s);
  EXPECT_EQ(looks, 1);
  scheduler.advance(1min);
  EXPECT_EQ(looks, 1);
  EXPECT_EQ(own.timeouts(), 0u);
}

TEST_F(OwnVersionsTest, ALaterVersionIsAsGood) {
  own.wrote("k", "pods.", at("12"));
  own.seen("pods.", at("100"));
  EXPECT_TRUE(own.clear("k"));
}

TEST_F(OwnVersionsTest, TheWatchMayBeQuickerThanTheAnswer) {
  own.seen("pods.", at("12"));
  own.wrote("k", "pods.", at("12"));
  EXPECT_TRUE(own.clear("k"));
  own.gone("pods.", at("15"));
  own.wrote("k", "pods.", at("14"));  // written, then deleted by somebody else
  EXPECT_TRUE(own.clear("k"));
}

TEST_F(OwnVersionsTest, AllOfItsWritesMustBeBack) {
  own.wrote("k", "pods.", at("12"));
  own.wrote("k", "pods.", at("13", "u2", "y"));
  own.wrote("k", "pods.", at("14"));  // the same object once more
  wait();
  own.seen("pods.", at("13", "u2", "y"));
  own.seen("pods.", at("12"));
  EXPECT_FALSE(own.clear("k"));
  own.seen("pods.", at("14"));
  scheduler.advance(0s);
  EXPECT_EQ(looks, 1);
}

TEST_F(OwnVersionsTest, TwoKeysMayWaitForOneObject) {
  own.wrote("k", "pods.", at("12"));
  own.wrote("l", "pods.", at("13"));
  wait("k");
  wait("l");
  own.seen("pods.", at("12"));
  scheduler.advance(0s);
  EXPECT_EQ(looks, 1);
  EXPECT_FALSE(own.clear("l"));
  own.seen("pods.", at("13"));
  scheduler.advance(0s);
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(own.waiting(), 0u);
}

TEST_F(OwnVersionsTest, ADeletionIsBackWhenTheObjectIsGone) {
  own.seen("pods.", at("10"));
  own.deleted("k", "pods.", at(""));
  EXPECT_FALSE(own.clear("k"));
  own.seen("pods.", at("11"));  // its deletionTimestamp
  EXPECT_FALSE(own.clear("k"));
  own.gone("pods.", at("12"));
  EXPECT_TRUE(own.clear("k"));
}

TEST_F(OwnVersionsTest, ANamesakeMeansThatItIsGone) {
  own.seen("pods.", at("10"));
  own.deleted("k", "pods.", at(""));
  own.seen("pods.", at("12", "u2"));
  EXPECT_TRUE(own.clear("k"));
  own.deleted("k", "pods.", at("", "u"));  // told late
  EXPECT_TRUE(own.clear("k"));
}

TEST_F(OwnVersionsTest, NothingIsWaitedForThatNobodyWatches) {
  own.deleted("k", "pods.", at(""));
  EXPECT_TRUE(own.clear("k"));
  own.wrote("k", "pods.", at(""));  // no version is known
  EXPECT_TRUE(own.clear("k"));
}

TEST_F(OwnVersionsTest, PatienceEnds) {
  own.wrote("k", "pods.", at("12"));
  wait();
  scheduler.advance(6s);
  own.wrote("k", "pods.", at("13", "u2", "y"));  // from the last write on
  scheduler.advance(6s);
  EXPECT_EQ(looks, 0);
  scheduler.advance(4s);
  EXPECT_EQ(looks, 1);
  EXPECT_TRUE(own.clear("k"));
  EXPECT_EQ(own.timeouts(), 1u);
  own.seen("pods.", at("12"));  // too late, and harmless
  scheduler.advance(0s);
  EXPECT_EQ(looks, 1);
}

TEST_F(OwnVersionsTest, VersionsThatAreNoNumbersAreComparedWhole) {
  own.wrote("k", "pods.", at("abc"));
  own.seen("pods.", at("abb"));
  EXPECT_FALSE(own.clear("k"));
  own.seen("pods.", at("abc"));
  EXPECT_TRUE(own.clear("k"));
}

TEST_F(OwnVersionsTest, WhenClearIsCalledOnceAndTheLastCounts) {
  wait();
  wait();
  EXPECT_EQ(looks, 0);
  scheduler.advance(0s);
  EXPECT_EQ(looks, 1);
}

TEST_F(OwnVersionsTest, AWriteBeforeTheTurnHoldsItBack) {
  wait();
  own.wrote("k", "pods.", at("12"));
  scheduler.advance(1s);
  EXPECT_EQ(looks, 0);
  own.seen("pods.", at("12"));
  scheduler.advance(0s);
  EXPECT_EQ(looks, 1);
}

TEST_F(OwnVersionsTest, AForgottenKeyIsNotCalled) {
  own.wrote("k", "pods.", at("12"));
  wait();
  own.forget("k");
  EXPECT_TRUE(own.clear("k"));
  own.seen("pods.", at("12"));
  wait();
  own.forget("k");
  scheduler.advance(1min);
  EXPECT_EQ(looks, 0);
  EXPECT_EQ(own.waiting(), 0u);
}

TEST_F(OwnVersionsTest, MayGoWhileATurnIsPosted) {
  {
    OwnVersions shortlived(scheduler);
    shortlived.when_clear("k", [this] { ++looks; });
  }
  scheduler.advance(1s);
  EXPECT_EQ(looks, 0);
}

TEST_F(OwnVersionsTest, ObjectsThatAreGoneAreForgottenInTime) {
  for (int i = 0; i < 100; ++i) {
    own.seen("pods.", at("1", "u", "x" + std::to_string(i)));
    own.gone("pods.", at("2", "u", "x" + std::to_string(i)));
  }
  EXPECT_EQ(own.remembered(), 100u);
  scheduler.advance(2min);
  own.gone("pods.", at("3", "u", "last"));
  EXPECT_EQ(own.remembered(), 1u);
}

}  // namespace
}  // namespace hookd::reconcile
