#include "reconcile/write_memory.h"

#include <gtest/gtest.h>

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

TEST(WriteMemory, SavesAndRestores) {
  WriteMemory memory, later;
  const auto wanted = key(0xfedcba9876543210, R"({"apiVersion":"v1","spec":{"a":1}})");
  EXPECT_EQ(memory.saved("pods.", "a/x"), std::nullopt);
  memory.wrote(wanted, "u1", object("5", R"({"a":1})"));
  const auto saved = memory.saved("pods.", "a/x");
  ASSERT_TRUE(saved);
  ASSERT_TRUE(later.restore("pods.", "a/x", *saved));
  EXPECT_EQ(later.saved("pods.", "a/x"), saved);
  EXPECT_TRUE(later.as_written(wanted, identity("u1", "5")));
  EXPECT_TRUE(later.as_written(wanted, "u1", object("6", R"({"a":1})")));
  EXPECT_EQ(later.drifted(wanted, "u1", object("6", R"({"a":2})")), WriteMemory::Drift::kDrifted);
}

TEST(WriteMemory, RestoresNothingThatItCannotRead) {
  WriteMemory memory;
  for (const char* text :
       {"", "{}", "no", R"({"kind":"2","manifest":"1","essence":"1","wanted":"1","uid":"u"})",
        R"({"kind":"1","manifest":"x","essence":"1","wanted":"1","uid":"u"})",
        R"({"kind":"1","manifest":"1","essence":"1","wanted":"11111111111111111","uid":"u"})",
        R"({"kind":"1","manifest":"1","essence":"1","wanted":"1"})", R"({"kind":"1","manifest":1,"essence":"1"})"})
    EXPECT_FALSE(memory.restore("pods.", "a/x", text)) << text;
  EXPECT_FALSE(memory.restore("pods.", "", R"({"kind":"1","manifest":"1","essence":"1","wanted":"1","uid":"u"})"));
  EXPECT_EQ(memory.size(), 0u);
}

}  // namespace
}  // namespace hookd::reconcile
