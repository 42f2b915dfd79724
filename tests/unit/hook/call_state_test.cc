#include "hook/call_state.h"

#include <gmock/gmock.h>

#include "state/memory_store.h"
#include "unit/support/objects.h"

namespace hookd::hook {
namespace {

using testing::HasSubstr;

class CallStateTest : public testing::Test {
 protected:
  CallState make(std::optional<StateOptions> options) {
    Hook hook;
    hook.name = "h";
    hook.state = options;
    return CallState(hook, &store);
  }
  static Event about(const std::string& name, const std::string& uid) {
    Event event;
    event.object = test::make_object("a", name, uid, "1");
    return event;
  }
  static std::string text(const Result<std::shared_ptr<const std::string>>& state) {
    return !state ? "unread" : *state ? **state : "none";
  }

  state::MemoryStore store;
  StateOptions per_hook{StateOptions::Per::kHook, 20};
  StateOptions per_object{StateOptions::Per::kObject, 20};
};

TEST_F(CallStateTest, OfAHookIsOneValue) {
  auto state = make(per_hook);
  const auto place = state.place("pods./a/x", {about("x", "u1")});
  ASSERT_TRUE(place);
  EXPECT_EQ(text(state.get(*place)), "none");
  state.put(*place, R"({"n":1})");
  EXPECT_EQ(text(state.get(*state.place("schedule/s", {}))), R"({"n":1})");
  EXPECT_EQ(store.get("state", "h"), R"({"n":1})");
  state.put(*place, "null");
  EXPECT_EQ(store.get("state", "h"), std::nullopt);
}

TEST_F(CallStateTest, OfAnObjectIsNotThatOfItsNamesake) {
  auto state = make(per_object);
  const auto first = *state.place("pods./a/x", {about("x", "u1")});
  state.put(first, "[1]");
  EXPECT_EQ(text(state.get(first)), "[1]");
  EXPECT_EQ(text(state.get(*state.place("pods./a/y", {about("y", "u2")}))), "none");
  // A deletion and the one made since, in one call: it is about the new one.
  const auto next = *state.place("pods./a/x", {about("x", "u1"), about("x", "u9")});
  EXPECT_EQ(text(state.get(next)), "none");
  state.put(next, "[9]");
  EXPECT_EQ(text(state.get(next)), "[9]");
  EXPECT_EQ(text(state.get(first)), "none");
  state.erase_object("pods./a/x");
  EXPECT_EQ(text(state.get(next)), "none");
  EXPECT_FALSE(state.place("schedule/s", {Event{}})) << "about no object";
}

TEST_F(CallStateTest, WhatCannotBeKeptSaysWhatToDo) {
  auto none = make(std::nullopt);
  EXPECT_TRUE(none.check(std::nullopt, std::nullopt));
  EXPECT_TRUE(none.check("null", std::nullopt)) << "nothing to keep";
  EXPECT_THAT(none.check("1", std::nullopt).error().what, HasSubstr("add spec.state: {per: hook}"));
  auto hook = make(per_hook);
  const auto place = hook.place("k", {});
  EXPECT_TRUE(hook.check("\"" + std::string(18, 'x') + "\"", place));
  EXPECT_THAT(hook.check("\"" + std::string(19, 'x') + "\"", place).error().what,
              HasSubstr("has 21 bytes, at most 20 are kept"));
  auto object = make(per_object);
  EXPECT_THAT(object.check("1", object.place("schedule/s", {})).error().what, HasSubstr("this call is about none"));
}

TEST_F(CallStateTest, ObjectsAreBounded) {
  for (size_t i = 0; i < CallState::kMaxObjects; ++i)
    store.put("state", fmt::format("h\npods./a/{:06}", i), R"({"uid":"u","value":1})");
  auto state = make(per_object);
  const auto known = *state.place("pods./a/000001", {about("000001", "u")});
  // What was there before is counted a slice with each put.
  for (size_t i = 0; i <= CallState::kMaxObjects / 500; ++i) state.put(known, std::to_string(i));
  EXPECT_TRUE(state.check("1", known));
  const auto fresh = *state.place("pods./a/new", {about("new", "u")});
  EXPECT_THAT(state.check("1", fresh).error().what, HasSubstr("for 100000 objects already"));
  state.erase_object("pods./a/000002");
  EXPECT_TRUE(state.check("1", fresh));
}

TEST(StateMark, TellsTexts) {
  const auto a = std::make_shared<const std::string>("1"), b = std::make_shared<const std::string>("2");
  EXPECT_EQ(state_mark(nullptr), 0u);
  EXPECT_NE(state_mark(a), state_mark(b));
  EXPECT_EQ(state_mark(a), state_mark(std::make_shared<const std::string>("1")));
}

}  // namespace
}  // namespace hookd::hook
