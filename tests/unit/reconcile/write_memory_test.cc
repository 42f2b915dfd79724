#include "reconcile/write_memory.h"

#include <gtest/gtest.h>

#include "unit/support/kept_store.h"
#include "unit/support/objects.h"

namespace hookd::reconcile {
namespace {

std::string object(std::string_view version, std::string_view data, std::string_view more = "") {
  return test::object_json(test::pods(), "a", "x", "u1",
                           fmt::format(R"("resourceVersion":"{}","labels":{{}})", version),
                           fmt::format(R"("spec":{}{})", data, more));
}
WriteMemory::Key key(uint64_t manifest, std::string wanted = "") {
  WriteMemory::Key key;
  key.resource = "pods.";
  key.child = "a/x";
  key.manifest = manifest;
  key.wanted = std::move(wanted);
  return key;
}
cache::Identity identity(std::string uid, std::string version) {
  return {"a", "x", std::move(uid), std::move(version)};
}

TEST(WriteMemory, KnowsAChildThatNobodyChanged) {
  WriteMemory memory;
  EXPECT_FALSE(memory.as_written(key(1), "u1", object("5", "1")));
  memory.wrote(key(1), "u1", object("5", "1"));
  EXPECT_TRUE(memory.as_written(key(1), "u1", object("5", "1")));
  EXPECT_TRUE(memory.as_written(key(1), "u1", object("6", "1", R"(,"status":{"phase":"Running"})")));
  EXPECT_FALSE(memory.as_written(key(1), "u1", object("6", "2")));
  EXPECT_FALSE(memory.as_written(key(2), "u1", object("5", "1")));
  EXPECT_FALSE(memory.as_written(key(1), "u2", object("5", "1")));
}

TEST(WriteMemory, KnowsAVersionWithoutTheText) {
  WriteMemory memory;
  memory.wrote(key(1), "u1", object("5", "1"));
  EXPECT_TRUE(memory.as_written(key(1), identity("u1", "5")));
  EXPECT_FALSE(memory.as_written(key(1), identity("u1", "6")));
  EXPECT_FALSE(memory.as_written(key(2), identity("u1", "5")));
  EXPECT_FALSE(memory.as_written(key(1), identity("u2", "5")));
  memory.wrote(key(1), "u1", "{}");  // an answer without a version
  EXPECT_FALSE(memory.as_written(key(1), identity("u1", "")));
}

TEST(WriteMemory, StatusCountsWhereItIsAFieldLikeOthers) {
  WriteMemory memory;
  auto with = key(1);
  with.with_status = true;
  memory.wrote(with, "u1", object("5", "1"));
  EXPECT_FALSE(memory.as_written(with, "u1", object("6", "1", R"(,"status":{})")));
}

TEST(WriteMemory, TellsFromWhichManifestAChildIs) {
  WriteMemory memory;
  EXPECT_EQ(memory.from_this(key(1), "u1"), std::nullopt);
  memory.wrote(key(1), "u1", object("5", "1"));
  EXPECT_EQ(memory.from_this(key(1), "u1"), true);
  EXPECT_EQ(memory.from_this(key(2), "u1"), false);
  EXPECT_EQ(memory.from_this(key(1), "u2"), std::nullopt);
}

TEST(WriteMemory, DriftIsWhatOthersChangedOfWhatTheManifestSets) {
  using enum WriteMemory::Drift;
  WriteMemory memory;
  const auto wanted = key(1, R"({"apiVersion":"v1","kind":"Pod","spec":{"cpu":"1000m"}})");
  EXPECT_EQ(memory.drifted(wanted, "u1", object("5", R"({"cpu":"1"})")), kUnknown);
  memory.wrote(wanted, "u1", object("5", R"({"cpu":"1"})"));  // another spelling of the server's
  EXPECT_EQ(memory.drifted(wanted, "u1", object("6", R"({"cpu":"1","node":"n"})")), kNone);
  EXPECT_EQ(memory.drifted(wanted, "u1", object("6", R"({"cpu":"2"})")), kDrifted);
  EXPECT_EQ(memory.drifted(key(1), "u1", object("6", R"({"cpu":"2"})")), kUnknown);
  EXPECT_EQ(memory.drifted(key(2, wanted.wanted), "u1", object("6", R"({"cpu":"2"})")), kUnknown);
  EXPECT_EQ(memory.drifted(wanted, "u1", "no JSON"), kUnknown);
}

TEST(WriteMemory, ForgetsAndIgnores) {
  WriteMemory memory;
  memory.wrote(key(1), "u1", object("5", "1"));
  memory.forget("pods.", "a/y");
  EXPECT_EQ(memory.size(), 1u);
  memory.forget("pods.", "a/x");
  EXPECT_EQ(memory.size(), 0u);
  memory.wrote({}, "u1", object("5", "1"));  // of no child
  EXPECT_EQ(memory.size(), 0u);
  memory.wrote(key(1), "u1", object("5", "1"));
  memory.wrote(key(1), "u1", "");  // what it looks like now is not known
  EXPECT_EQ(memory.size(), 0u);
}

TEST(WriteMemory, KnowsAfterARestartWhatNobodyChanged) {
  test::KeptStore store;
  WriteMemory before(&store, "h");
  before.wrote(key(0xfedcba9876543210), "u1", object("5", "1"));
  const WriteMemory later(&store, "h"), other(&store, "other"), without;
  EXPECT_TRUE(later.as_written(key(0xfedcba9876543210), "u1", object("6", "1")));
  EXPECT_FALSE(later.as_written(key(0xfedcba9876543210), "u1", object("6", "2"))) << "somebody changed it";
  EXPECT_FALSE(later.as_written(key(1), "u1", object("5", "1"))) << "something else is wanted";
  EXPECT_FALSE(later.as_written(key(0xfedcba9876543210), "u2", object("5", "1"))) << "it is another one";
  EXPECT_EQ(later.from_this(key(1), "u1"), std::nullopt) << "others may have written it since";
  EXPECT_FALSE(other.as_written(key(0xfedcba9876543210), "u1", object("5", "1")));
  EXPECT_FALSE(without.as_written(key(0xfedcba9876543210), "u1", object("5", "1")));
}

TEST(WriteMemory, KeepsNothingOfChildrenThatAreRecreated) {
  test::KeptStore store;
  WriteMemory memory(&store, "h");
  memory.wrote(key(1, R"({"apiVersion":"v1","spec":1})"), "u1", object("5", "1"));
  EXPECT_EQ(store.rows("written"), 0u);
}

TEST(WriteMemory, AsksNothingOfAStoreThatForgetsOrHasNoRoomForIt) {
  struct Small final : state::MemoryStore {
    bool durable() const override { return true; }
    bool keeps(std::string_view) const override { return false; }
  } small;
  state::MemoryStore forgets;
  for (state::Store* store : {static_cast<state::Store*>(&small), static_cast<state::Store*>(&forgets)}) {
    WriteMemory(store, "h").wrote(key(1), "u1", object("5", "1"));
    EXPECT_TRUE(store->page("written", "", "", 10).empty());
  }
}

TEST(WriteMemory, WritesARowOnlyWhenItChanges) {
  test::KeptStore store;
  WriteMemory memory(&store, "h");
  memory.wrote(key(1), "u1", object("5", "1"));
  memory.wrote(key(1), "u1", object("6", "1", R"(,"status":{"n":1})"));
  EXPECT_EQ(store.writes, 1);
  WriteMemory later(&store, "h");
  later.wrote(key(1), "u1", object("7", "1"));
  EXPECT_EQ(store.writes, 1);
  later.wrote(key(2), "u1", object("8", "2"));
  EXPECT_EQ(store.writes, 2);
  later.forget("pods.", "a/x");
  EXPECT_EQ(store.rows("written"), 0u);
}

TEST(WriteMemory, RowsOfChildrenThatAreGoneGo) {
  test::KeptStore store;
  ManualScheduler scheduler;
  for (size_t i = 0; i < RowSweep::kPage * 2 + 10; ++i) store.put("written", fmt::format("h\npods. a/{}", i), "{}");
  store.put("written", "other\npods. a/1", "{}");
  WriteMemory memory(&store, "h");
  memory.wrote(key(1), "u1", object("5", "1"));
  memory.sweep(scheduler, [](const std::string& name) { return name == "pods. a/7"; });
  EXPECT_GT(store.rows("written"), RowSweep::kPage) << "in slices";
  scheduler.advance(Duration::zero());
  EXPECT_EQ(store.rows("written"), 3u) << "a/7, what was written by now, and another hook's";
}

}  // namespace
}  // namespace hookd::reconcile
