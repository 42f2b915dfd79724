#include "reconcile/rolling.h"

#include <gmock/gmock.h>

namespace hookd::reconcile {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::string object(std::string_view generation, std::string_view status) {
  return fmt::format(R"({{"metadata":{{{}}},"status":{}}})", generation, status);
}

TEST(HeldBy, NothingWithoutChecksAndGenerations) {
  EXPECT_EQ(held_by("{}", {}), "");
  EXPECT_EQ(held_by(object("", "null"), {}), "");
  EXPECT_EQ(held_by(object(R"("generation":2)", "{}"), {}), "");
  EXPECT_EQ(held_by(object("", R"({"observedGeneration":1})"), {}), "");
}

TEST(HeldBy, AControllerThatHasNotSeenTheChange) {
  EXPECT_EQ(held_by(object(R"("generation":3)", R"({"observedGeneration":2})"), {}),
            "its controller has seen generation 2 of 3");
  EXPECT_EQ(held_by(object(R"("generation":3)", R"({"observedGeneration":3})"), {}), "");
}

TEST(HeldBy, AConditionThatIsMissingOrOther) {
  const std::string status = R"({"conditions":[{"type":"Other","status":"True"},)"
                             R"({"type":"Ready","status":"False","reason":"ContainersNotReady"}]})";
  EXPECT_EQ(held_by(object("", status), {{"Ready", "True", {}}}),
            "condition Ready is False (ContainersNotReady), not True");
  EXPECT_EQ(held_by(object("", status), {{"Ready", {}, "Well"}}),
            "condition Ready has reason ContainersNotReady, not Well");
  EXPECT_EQ(held_by(object("", status), {{"Other", "True", {}}, {"Missing", {}, {}}}),
            "it has no condition Missing yet");
  EXPECT_EQ(held_by(object("", status), {{"Other", "True", {}}, {"Ready", "False", "ContainersNotReady"}}), "");
  EXPECT_EQ(held_by(object("", status), {{"Ready", {}, {}}}), "");
}

TEST(HeldBy, StrangeStatesHoldInsteadOfPassing) {
  const std::vector<hook::ConditionCheck> ready{{"Ready", "True", {}}};
  EXPECT_EQ(held_by("no JSON", ready), "its state cannot be read");
  for (const char* status : {"null", "[]", "{}", R"({"conditions":{}})", R"({"conditions":[1,null]})"})
    EXPECT_EQ(held_by(object("", status), ready), "it has no condition Ready yet") << status;
  EXPECT_EQ(held_by(object("", R"({"conditions":[{"type":"Ready"}]})"), ready), "condition Ready is nothing, not True");
}

TEST(RollOut, MovesTheFirstOnceAllThatMovedAreWell) {
  RollOut out;
  out.moved("Pod a/1", "");
  EXPECT_FALSE(out.under_way());
  EXPECT_THAT(out.next(), IsEmpty());
  out.to_move(4);
  out.to_move(5);
  EXPECT_TRUE(out.under_way());
  EXPECT_THAT(out.next(), ElementsAre(4));
  EXPECT_THAT(out.holding(), IsEmpty());
}

TEST(RollOut, SaysWhyItStands) {
  RollOut out;
  out.moved("Pod a/1", "it ends");
  EXPECT_THAT(out.holding(), IsEmpty());  // nothing is to move: nothing is held
  out.to_move(0);
  EXPECT_THAT(out.next(), IsEmpty());
  EXPECT_THAT(out.holding(), ElementsAre("Pod a/1: it ends"));
  for (int i = 0; i < 12; ++i) out.moved(fmt::format("Pod b/{}", i), "it ends");
  EXPECT_THAT(out.holding(), SizeIs(RollOut::kTold + 1));
  EXPECT_EQ(out.holding().back(), "and 3 more");
}

}  // namespace
}  // namespace hookd::reconcile
