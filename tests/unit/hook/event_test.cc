#include "hook/event.h"

#include <gmock/gmock.h>

#include "unit/support/objects.h"

namespace hookd::hook {
namespace {

using test::make_object;
using Type = Event::Type;

Event event(Type type, std::string uid, std::string version, std::string old = "", std::string binding = "pods") {
  Event made;
  made.type = type;
  made.binding = std::move(binding);
  made.object = make_object("a", "web-0", uid, std::move(version), "{}");
  if (!old.empty()) made.old = make_object("a", "web-0", uid, std::move(old), "{}");
  return made;
}
Event with_value(Event made, std::string value, std::string old = "") {
  made.value = std::make_shared<const std::string>(std::move(value));
  if (!old.empty()) made.old_value = std::make_shared<const std::string>(std::move(old));
  return made;
}

// "Modified u1@3 (old 1)"
std::string show(const Event& one) {
  std::string text(to_string(one.type));
  if (one.object) text += fmt::format(" {}@{}", one.object->uid, one.object->resource_version);
  if (one.old) text += fmt::format(" (old {})", one.old->resource_version);
  if (one.again) text += " again";
  return text;
}
std::vector<std::string> merged(std::vector<Event> events) {
  std::vector<Event> waiting;
  for (Event& one : events) merge(waiting, std::move(one));
  std::vector<std::string> shown;
  for (const Event& one : waiting) shown.push_back(show(one));
  return shown;
}
using testing::ElementsAre;

// product.md `coalesce: latest`: first old, last object.
TEST(Merge, ChangesOfOneObjectBecomeOneWithTheFirstOldAndTheLastObject) {
  EXPECT_THAT(merged({event(Type::kModified, "u1", "2", "1"), event(Type::kModified, "u1", "3", "2"),
                      event(Type::kModified, "u1", "4", "3")}),
              ElementsAre("Modified u1@4 (old 1)"));
  EXPECT_THAT(merged({event(Type::kAdded, "u1", "1"), event(Type::kModified, "u1", "2", "1")}),
              ElementsAre("Added u1@2"));
}

TEST(Merge, AnUnknownOldIsNotReplacedByALaterState) {
  EXPECT_THAT(merged({event(Type::kModified, "u1", "2"), event(Type::kModified, "u1", "3", "2")}),
              ElementsAre("Modified u1@3"));
}

TEST(Merge, ValuesGoTheSameWay) {
  std::vector<Event> waiting;
  merge(waiting, with_value(event(Type::kModified, "u1", "2", "1"), "2", "1"));
  merge(waiting, with_value(event(Type::kModified, "u1", "3", "2"), "3", "2"));
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(*waiting[0].value, "3");
  EXPECT_EQ(*waiting[0].old_value, "1");
}

TEST(Merge, AnObjectThatGoesIsADeletionWhateverWasBefore) {
  EXPECT_THAT(merged({event(Type::kAdded, "u1", "1"), event(Type::kDeleted, "u1", "2")}), ElementsAre("Deleted u1@2"));
  EXPECT_THAT(merged({event(Type::kModified, "u1", "2", "1"), event(Type::kDeleted, "u1", "3")}),
              ElementsAre("Deleted u1@3"));
  std::vector<Event> waiting;
  merge(waiting, event(Type::kModified, "u1", "2", "1"));
  Event gone = event(Type::kDeleted, "u1", "2");
  gone.final_state_unknown = true;
  merge(waiting, gone);
  EXPECT_TRUE(waiting[0].final_state_unknown);
}

TEST(Merge, ADeletionAndANewNamesakeStayTwo) {
  EXPECT_THAT(merged({event(Type::kModified, "u1", "2", "1"), event(Type::kDeleted, "u1", "3"),
                      event(Type::kAdded, "u2", "4"), event(Type::kModified, "u2", "5", "4")}),
              ElementsAre("Deleted u1@3", "Added u2@5"));
}

TEST(Merge, LeavingAndComingBackStaysTwo) {
  EXPECT_THAT(merged({event(Type::kDeleted, "u1", "2"), event(Type::kAdded, "u1", "3"),
                      event(Type::kModified, "u1", "4", "3")}),
              ElementsAre("Deleted u1@2", "Added u1@4"));
}

// An object that flaps while its hook fails for an hour.
TEST(Merge, ComingAndGoingAllTheTimeDoesNotPileUp) {
  std::vector<Event> events{event(Type::kDeleted, "u1", "1")};
  for (int i = 0; i < 100; ++i) {
    events.push_back(event(Type::kAdded, "u1", std::to_string(2 * i + 2)));
    events.push_back(event(Type::kDeleted, "u1", std::to_string(2 * i + 3)));
  }
  EXPECT_THAT(merged(events), ElementsAre("Deleted u1@201"));
  events.push_back(event(Type::kAdded, "u1", "300"));
  EXPECT_THAT(merged(events), ElementsAre("Deleted u1@201", "Added u1@300"));
}

TEST(Merge, DeletionsOfDifferentObjectsAreAllTold) {
  EXPECT_THAT(merged({event(Type::kDeleted, "u1", "1"), event(Type::kAdded, "u2", "2"),
                      event(Type::kDeleted, "u2", "3"), event(Type::kAdded, "u3", "4")}),
              ElementsAre("Deleted u1@1", "Deleted u2@3", "Added u3@4"));
}

TEST(Merge, BindingsAreKeptApartAndOrderIsKept) {
  EXPECT_THAT(merged({event(Type::kAdded, "u1", "1", "", "a"), event(Type::kAdded, "u1", "1", "", "b"),
                      event(Type::kModified, "u1", "2", "1", "a"), event(Type::kDeleted, "u1", "3", "", "b")}),
              ElementsAre("Added u1@2", "Deleted u1@3"));
}

TEST(Merge, WithoutCoalesceEachOneIsTold) {
  std::vector<Event> events{event(Type::kModified, "u1", "2", "1"), event(Type::kModified, "u1", "3", "2")};
  for (Event& one : events) one.coalesce = false;
  EXPECT_THAT(merged(events), ElementsAre("Modified u1@2 (old 1)", "Modified u1@3 (old 2)"));
}

TEST(Merge, ASecondTickSaysNothingNew) {
  Event tick;
  tick.type = Type::kSchedule;
  tick.binding = "sweep";
  Event other = tick;
  other.binding = "nightly";
  EXPECT_THAT(merged({tick, other, tick}), ElementsAre("Schedule", "Schedule"));
}

TEST(Merge, ACallAskedForAgainAddsNothingToWhatIsNewer) {
  Event again = event(Type::kModified, "u1", "2");
  again.again = true;
  EXPECT_THAT(merged({event(Type::kModified, "u1", "3", "2"), again}), ElementsAre("Modified u1@3 (old 2)"));
  EXPECT_THAT(merged({event(Type::kDeleted, "u1", "3"), again}), ElementsAre("Deleted u1@3"));
  Event other = event(Type::kModified, "u2", "2");
  other.again = true;
  EXPECT_THAT(merged({event(Type::kModified, "u1", "3", "2"), other}),
              ElementsAre("Modified u1@3 (old 2)", "Modified u2@2 again"));
}

TEST(Merge, NewsTakesThePlaceOfACallAskedForAgain) {
  Event again = event(Type::kAdded, "u1", "2");
  again.again = true;
  EXPECT_THAT(merged({again, event(Type::kModified, "u1", "3", "2")}), ElementsAre("Modified u1@3 (old 2)"));
  EXPECT_THAT(merged({again, event(Type::kDeleted, "u1", "3")}), ElementsAre("Deleted u1@3"));
}

TEST(Merge, KeepsWhenTheFirstOneCame) {
  std::vector<Event> waiting;
  for (int i = 1; i <= 3; ++i) {
    Event one = event(Type::kModified, "u1", std::to_string(i));
    one.seen = SteadyTime{} + std::chrono::seconds(i);
    merge(waiting, one);
  }
  EXPECT_EQ(waiting[0].seen, SteadyTime{} + std::chrono::seconds(1));
}

// With `coalesce: none` too: an event that is brought up to date when the call is made must not stand before older
// ones.
TEST(Merge, WhatIsBroughtUpToDateGivesWayToNewsEvenWithoutCoalescing) {
  const auto single = [](Event made) {
    made.coalesce = false;
    return made;
  };
  Event again = single(event(Type::kAdded, "u1", "1"));
  again.again = true;
  Event parked = single(event(Type::kAdded, "u1", "1"));
  parked.overtaken = true;
  const Event second = single(event(Type::kModified, "u1", "2")), third = single(event(Type::kModified, "u1", "3"));
  EXPECT_THAT(merged({again, second, third}), ElementsAre("Modified u1@2", "Modified u1@3"));
  EXPECT_THAT(merged({parked, second, third}), ElementsAre("Added u1@2", "Modified u1@3"));
  EXPECT_THAT(merged({second, third, again}), ElementsAre("Modified u1@2", "Modified u1@3"));
  EXPECT_THAT(merged({second, third, parked}), ElementsAre("Modified u1@2", "Modified u1@3"));
}

TEST(Merge, WhatHappensToAKeyThatIsReconciledBecomesOneEventWithAllItsCauses) {
  const auto touched = [](std::string name, bool background, std::string type = "Modified") {
    Event made;
    made.type = Type::kReconcile;
    made.binding = "reconcile";
    made.causes = {{"children", std::move(type), "Pod.v1", "a", std::move(name)}};
    made.background = background;
    return made;
  };
  std::vector<Event> waiting;
  for (auto& one : {touched("p", true), touched("q", true), touched("p", false)}) merge(waiting, one);
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_FALSE(waiting[0].background);
  ASSERT_EQ(waiting[0].causes.size(), 2u);
  EXPECT_EQ(waiting[0].causes[0].name, "q");  // the last of two alike stays
  EXPECT_EQ(waiting[0].causes[1].name, "p");
  for (int i = 0; i < 100; ++i) merge(waiting, touched(std::to_string(i), false));
  EXPECT_EQ(waiting[0].causes.size(), Event::kMaxCauses);
  EXPECT_EQ(waiting[0].causes.back().name, "99");
}

TEST(Merge, AKeyThatIsReconciledHoldsTheTicketsOfAllItsEvents) {
  std::vector<Event> waiting;
  std::vector<std::weak_ptr<void>> tickets;
  for (int i = 0; i < 3; ++i) {
    Event made;
    made.type = Type::kReconcile;
    const auto ticket = std::make_shared<int>(i);
    tickets.emplace_back(ticket);
    made.ticket = ticket;
    merge(waiting, std::move(made));
  }
  for (const auto& ticket : tickets) EXPECT_FALSE(ticket.expired());
  waiting.clear();
  for (const auto& ticket : tickets) EXPECT_TRUE(ticket.expired());
}

}  // namespace
}  // namespace hookd::hook
