#include "reconcile/source_keys.h"

#include "unit/reconcile/follow_world.h"
#include "unit/support/log_tap.h"

namespace hookd::reconcile {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SourceKeysTest : public FollowWorld {
 protected:
  void start(const char* version, const char* kind) {
    ParentSet::Options options;
    options.rule.api_version = version;
    options.rule.kind = kind;
    parents = std::make_unique<ParentSet>(
        pool, scheduler, options, [](const cache::Object&, std::string_view, cache::ObjectPtr, bool) {}, [] {});
    parents->start();
    settle();
  }
  std::vector<std::string> meant(const std::vector<std::string>& names) { return keys.meant("bus", names, *parents); }

  std::unique_ptr<ParentSet> parents;
  SourceKeys keys{"h"};
};

TEST_F(SourceKeysTest, ANameIsEverybodyOfThatName) {
  put(gadgets(), "a", "x", "1");
  put(gadgets(), "b", "x", "2");
  put(gadgets(), "b", "y", "3");
  start("x.io/v1", "Gadget");
  EXPECT_THAT(meant({"x"}), ElementsAre("a/x", "b/x"));
  EXPECT_THAT(meant({"b/x", "x", "b/y"}), ElementsAre("a/x", "b/x", "b/y"));
  EXPECT_THAT(meant({"a/y", "z"}), IsEmpty());
  EXPECT_THAT(meant({}), IsEmpty());
}

TEST_F(SourceKeysTest, ClusterScopedOnesHaveNoNamespace) {
  put(test::nodes(), "", "n", "1");
  start("v1", "Node");
  EXPECT_THAT(meant({"n", "a/n"}), ElementsAre("n"));
}

TEST_F(SourceKeysTest, WhatMeansNobodyIsToldOnce) {
  test::LogTap tap;
  start("x.io/v1", "Gadget");
  for (int i = 0; i < 3; ++i) meant({"a/x"});
  EXPECT_EQ(tap.count("object=a/x"), 1u);
  put(gadgets(), "a", "x", "1");
  settle();
  EXPECT_THAT(meant({"a/x"}), ElementsAre("a/x"));
  remove(gadgets(), "a", "x");
  settle();
  meant({"a/x"});
  EXPECT_EQ(tap.count("object=a/x"), 2u);
  for (int i = 0; i < 2000; ++i) meant({"k" + std::to_string(i)});
  EXPECT_LE(tap.count("not there"), SourceKeys::kTold + 2);
}

}  // namespace
}  // namespace hookd::reconcile
