#include "reconcile/write_repeats.h"

#include <gmock/gmock.h>

#include "unit/support/objects.h"

namespace hookd::reconcile {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string config(std::string_view colour, std::string_view more = "") {
  static int version = 0;
  return test::object_json(test::pods(), "a", "x", "u1", fmt::format(R"("resourceVersion":"{}")", ++version),
                           fmt::format(R"("data":{{"colour":"{}"}}{})", colour, more));
}

class WriteRepeatsTest : public testing::Test {
 protected:
  std::optional<WriteRepeats::Finding> write(std::string_view before, std::string_view after, uint64_t because = 1) {
    scheduler.advance(step);
    return repeats.wrote("a/p", "Pod a/x", because, before, after);
  }
  // Another writer puts its red back each time. Returns what the last of `times` writes finds.
  std::optional<WriteRepeats::Finding> fight(int times, uint64_t because = 1) {
    std::optional<WriteRepeats::Finding> found;
    for (int i = 0; i < times; ++i) found = write(config("red"), config("blue"), because);
    return found;
  }

  ManualScheduler scheduler;
  WriteRepeats repeats{scheduler};
  Duration step = 1s;
};

TEST_F(WriteRepeatsTest, AFightWithAnotherWriterIsFoundAndItsPathTold) {
  EXPECT_FALSE(fight(WriteRepeats::kFree + 1));  // the first is no repetition yet
  const auto found = fight(1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->child, "Pod a/x");
  EXPECT_THAT(found->paths, ElementsAre(".data.colour"));
  EXPECT_EQ(found->delay, WriteRepeats::kFirstDelay);
  EXPECT_TRUE(found->tell);
  EXPECT_TRUE(found->undone);
  EXPECT_THAT(found->text(), HasSubstr(".data.colour of Pod a/x keeps being changed back and forth (11 writes"));
}

TEST_F(WriteRepeatsTest, AnAnswerThatFlipsIsFound) {
  std::optional<WriteRepeats::Finding> found;
  for (int i = 0; i < WriteRepeats::kFree + 3; ++i)
    found = i % 2 ? write(config("red"), config("blue")) : write(config("blue"), config("red"));
  ASSERT_TRUE(found);
  EXPECT_THAT(found->paths, ElementsAre(".data.colour"));
}

TEST_F(WriteRepeatsTest, TheDelayDoublesUpToItsBound) {
  fight(WriteRepeats::kFree + 1);
  for (const Duration expected : {1s, 2s, 4s, 8s, 16s, 32s, 64s, 128s, 256s, 300s, 300s}) {
    EXPECT_EQ(fight(1)->delay, expected);
    step = expected;
  }
}

TEST_F(WriteRepeatsTest, ItIsToldNowAndThen) {
  fight(WriteRepeats::kFree + 1);
  EXPECT_TRUE(fight(1)->tell);
  EXPECT_FALSE(fight(1)->tell);
  step = WriteRepeats::kToldEach - 5s;
  EXPECT_FALSE(fight(1)->tell);
  step = 10s;
  EXPECT_TRUE(fight(1)->tell);
}

TEST_F(WriteRepeatsTest, AReasonBeginsAnew) {
  EXPECT_TRUE(fight(WriteRepeats::kFree + 2));
  EXPECT_THAT(repeats.slow(), SizeIs(1));
  EXPECT_FALSE(fight(1, 2));
  EXPECT_THAT(repeats.slow(), IsEmpty());
  for (uint64_t because = 3; because < 60; ++because) EXPECT_FALSE(fight(1, because));
}

TEST_F(WriteRepeatsTest, SlowRepairsAreNone) {
  step = WriteRepeats::kWindow / WriteRepeats::kFree + 1s;
  EXPECT_FALSE(fight(50));
}

TEST_F(WriteRepeatsTest, AQuietTimeBeginsAnew) {
  EXPECT_TRUE(fight(WriteRepeats::kFree + 2));
  scheduler.advance(WriteRepeats::kWindow + 3s);
  EXPECT_THAT(repeats.slow(), IsEmpty());
  EXPECT_FALSE(fight(1));
}

TEST_F(WriteRepeatsTest, WritesThatChangeNothingAreNone) {
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(write(config("blue"), config("blue")));
  EXPECT_FALSE(write("no JSON", config("blue")));
  EXPECT_EQ(repeats.size(), 0u);
}

TEST_F(WriteRepeatsTest, ProgressIsFreeForLonger) {
  std::optional<WriteRepeats::Finding> found;
  for (int i = 0; i < WriteRepeats::kFreeNew; ++i)
    found = write(config(std::to_string(i)), config(std::to_string(i + 1)));
  EXPECT_FALSE(found);
}

TEST_F(WriteRepeatsTest, AValueThatIsNewEachTimeIsFoundAndSlowedGently) {
  std::vector<Duration> delays;
  std::optional<WriteRepeats::Finding> found;
  for (int i = 0; i < WriteRepeats::kFreeNew + 21; ++i) {
    found = write(config(std::to_string(i)), config(std::to_string(i + 1)));
    if (found) delays.push_back(found->delay);
  }
  ASSERT_THAT(delays, SizeIs(21));
  EXPECT_EQ(delays.front(), 1s);
  EXPECT_EQ(delays[9], 1s);
  EXPECT_EQ(delays[10], 2s);
  EXPECT_EQ(delays[20], 4s);
  EXPECT_THAT(found->text(), HasSubstr(".data.colour of Pod a/x gets another value each time"));
}

TEST_F(WriteRepeatsTest, AChildsOwnStatusIsNotLookedAt) {
  // Its controller goes on between the watch and the answer: the write is the same all the same.
  std::optional<WriteRepeats::Finding> found;
  for (int i = 0; i < WriteRepeats::kFree + 2; ++i)
    found = write(config("red", fmt::format(R"(,"status":{{"n":{}}})", i)),
                  config("blue", fmt::format(R"(,"status":{{"n":{}}})", i + 1)));
  ASSERT_TRUE(found);
  EXPECT_THAT(found->paths, ElementsAre(".data.colour"));
}

TEST_F(WriteRepeatsTest, AStatusThatFlipsIsFound) {
  std::optional<WriteRepeats::Finding> found;
  for (int i = 0; i < WriteRepeats::kFree + 2; ++i)
    found = repeats.wrote("a/p", "Foo a/p", 1, config("x", R"(,"status":{"at":"a","ok":true})"),
                          config("x", R"(,"status":{"at":"b","ok":true})"));
  ASSERT_TRUE(found);
  EXPECT_THAT(found->paths, ElementsAre(".status.at"));
}

TEST_F(WriteRepeatsTest, AChildThatIsMadeAgainAndAgainIsFound) {
  std::optional<WriteRepeats::Finding> found;
  for (int i = 0; i < WriteRepeats::kFree + 2; ++i) found = write("", config("blue"));
  ASSERT_TRUE(found);
  EXPECT_THAT(found->paths, IsEmpty());
  EXPECT_THAT(found->text(), HasSubstr("Pod a/x is made again and again"));
}

TEST_F(WriteRepeatsTest, AnObjectThatIsDeletedAgainAndAgainIsFound) {
  std::optional<WriteRepeats::Finding> found;
  for (int i = 0; i < WriteRepeats::kFree + 2; ++i) found = write(config("blue"), "");
  ASSERT_TRUE(found);
  EXPECT_THAT(found->text(), HasSubstr("Pod a/x is deleted again and again"));
  EXPECT_THAT(found->text(), HasSubstr("something makes it anew"));
}

TEST_F(WriteRepeatsTest, TellsWhatAKeyWritesBeyondTheStatus) {
  EXPECT_FALSE(repeats.writes("a/p", "Pod a/x"));
  repeats.wrote("a/p", "Pod a/x", 1, config("x", R"(,"status":{"n":1})"), config("x", R"(,"status":{"n":2})"));
  EXPECT_FALSE(repeats.writes("a/p", "Pod a/x"));
  repeats.wrote("a/p", "Pod a/x", 1, config("x"), config("y"));
  EXPECT_TRUE(repeats.writes("a/p", "Pod a/x"));
  repeats.wrote("a/p", "Pod a/x", 2, config("x", R"(,"status":{"n":1})"), config("x", R"(,"status":{"n":2})"));
  EXPECT_TRUE(repeats.writes("a/p", "Pod a/x")) << "also when something else is a reason";
  EXPECT_FALSE(repeats.writes("a/p", "Pod a/y"));
  EXPECT_FALSE(repeats.writes("a/q", "Pod a/x"));
  scheduler.advance(WriteRepeats::kWindow * 2);
  repeats.wrote("a/q", "Pod a/x", 1, config("x"), config("y"));
  EXPECT_FALSE(repeats.writes("a/p", "Pod a/x")) << "that was long ago";
}

// A status that is written for ever must not make that of one annotation last for ever.
TEST_F(WriteRepeatsTest, WhatWasWrittenLongAgoDoesNotCountForWhatTheStatusGoesOn) {
  repeats.wrote("a/p", "Pod a/x", 1, config("x"), config("y"));
  for (int i = 0; i < 20; ++i) {
    scheduler.advance(1min);
    repeats.wrote("a/p", "Pod a/x", 1, config("x", fmt::format(R"(,"status":{{"n":{}}})", i)),
                  config("x", fmt::format(R"(,"status":{{"n":{}}})", i + 1)));
  }
  EXPECT_FALSE(repeats.writes("a/p", "Pod a/x"));
}

TEST_F(WriteRepeatsTest, ObjectsAndKeysAreApartAndForgotten) {
  for (int i = 0; i < WriteRepeats::kFree; ++i)
    for (const char* key : {"a/p", "a/q"})
      for (const char* child : {"Pod a/x", "Pod a/y"})
        EXPECT_FALSE(repeats.wrote(key, child, 1, config("red"), config("blue")));
  EXPECT_EQ(repeats.size(), 4u);
  repeats.forget("a/p");
  EXPECT_EQ(repeats.size(), 2u);
  scheduler.advance(WriteRepeats::kWindow * 2);
  fight(1);
  EXPECT_EQ(repeats.size(), 1u);  // the quiet ones went
}

TEST_F(WriteRepeatsTest, SecretsAreNotTold) {
  std::optional<WriteRepeats::Finding> found;
  for (int i = 0; i < WriteRepeats::kFree + 2; ++i)
    found = write(R"({"kind":"Secret","data":{"a":"c2VjcmV0"}})", R"({"kind":"Secret","data":{"a":"aGlkZGVu"}})");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text().find("aGlkZGVu"), std::string::npos);
}

}  // namespace
}  // namespace hookd::reconcile
