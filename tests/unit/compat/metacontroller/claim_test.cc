#include "compat/metacontroller/claim.h"

#include <gtest/gtest.h>

#include "compat/metacontroller/orphan_index.h"
#include "compat/metacontroller/selector_index.h"
#include "unit/support/objects.h"

namespace hookd::metacontroller {
namespace {

cache::ObjectPtr pod(std::string name, std::string_view meta) {
  return test::make_object("a", name, "uid-" + name, "1",
                           test::object_json(test::pods(), "a", name, "uid-" + name, meta));
}
std::vector<std::string> names(const std::vector<cache::ObjectPtr>& objects) {
  std::vector<std::string> all;
  for (const auto& object : objects) all.push_back(object->name);
  return all;
}
using Names = std::vector<std::string>;

const cache::LabelSelector kSelector = *cache::LabelSelector::parse("app=web");

TEST(Claim, KeepsReleasesAndAdoptsByLabels) {
  const auto claims = claim({pod("ours", R"("labels":{"app":"web"})"), pod("drifted", R"("labels":{"app":"db"})"),
                             pod("going", R"("labels":{"app":"web"},"deletionTimestamp":"t")"), pod("bare", "")},
                            {pod("orphan", R"("labels":{"app":"web"})"), pod("stranger", R"("labels":{"app":"db"})"),
                             pod("dying", R"("labels":{"app":"web"},"deletionTimestamp":"t")")},
                            kSelector, false);
  EXPECT_EQ(names(claims.kept), (Names{"ours", "going"}));
  EXPECT_EQ(names(claims.release), (Names{"drifted", "bare"}));
  EXPECT_EQ(names(claims.adopt), Names{"orphan"});
}

TEST(Claim, AParentThatGoesNeitherTakesNorGives) {
  const auto claims = claim({pod("ours", R"("labels":{"app":"web"})"), pod("drifted", R"("labels":{"app":"db"})")},
                            {pod("orphan", R"("labels":{"app":"web"})")}, kSelector, true);
  EXPECT_EQ(names(claims.kept), Names{"ours"});
  EXPECT_TRUE(claims.release.empty());
  EXPECT_TRUE(claims.adopt.empty());
}

TEST(ChildSelector, IsNeverEverything) {
  for (const auto* parent : {R"({})", R"({"spec":{}})", R"({"spec":{"selector":null}})", R"({"spec":{"selector":{}}})",
                             R"({"spec":{"selector":{"matchLabels":{},"matchExpressions":[]}}})",
                             R"({"spec":{"selector":"app=web"}})", R"({"spec":{"selector":[]}})"}) {
    const auto selector = child_selector(parent, "u", false);
    ASSERT_FALSE(selector) << parent;
    EXPECT_EQ(selector.error().code, Errc::kInvalid) << parent;
    EXPECT_NE(selector.error().what.find("spec.selector"), std::string::npos) << selector.error().what;
  }
}

TEST(ChildSelector, IsTheParentsOrItsUid) {
  EXPECT_EQ(child_selector(R"({"spec":{"selector":{"matchLabels":{"app":"web"}}}})", "u", false)->to_string(),
            "app=web");
  EXPECT_EQ(
      child_selector(R"({"spec":{"selector":{"matchExpressions":[{"key":"app","operator":"Exists"}]}}})", "u", false)
          ->to_string(),
      "app");
  EXPECT_EQ(child_selector(R"({"spec":{"selector":{"matchLabels":{"app":"web"}}}})", "1-2", true)->to_string(),
            "controller-uid=1-2");
}

TEST(Attachments, AreThoseWithTheControllersName) {
  const auto mine = pod("mine", R"("annotations":{"metacontroller.k8s.io/decorator-controller":"svc"})");
  const auto theirs = pod("theirs", R"("annotations":{"metacontroller.k8s.io/decorator-controller":"other"})");
  EXPECT_EQ(names(attachments_of({mine, theirs, pod("none", "")}, "svc")), Names{"mine"});
}

TEST(SelectorIndex, FindsParentsByWhatTheySelect) {
  SelectorIndex index;
  const auto selector = [](std::string_view text) { return *cache::LabelSelector::parse(text); };
  index.set("a/one", "a", selector("app=web,tier=front"));
  index.set("a/two", "a", selector("app in (web,db)"));
  index.set("a/three", "a", selector("!gone"));
  index.set("b/one", "b", selector("app=web"));
  index.set("cluster", "", selector("app=web"));
  EXPECT_EQ(index.matching("a", {{"app", "web"}, {"tier", "front"}}), (Names{"a/one", "a/three", "a/two", "cluster"}));
  EXPECT_EQ(index.matching("a", {{"app", "db"}}), (Names{"a/three", "a/two"}));
  EXPECT_EQ(index.matching("a", {{"gone", "1"}}), Names{});
  EXPECT_EQ(index.matching("c", {{"app", "web"}}), Names{"cluster"});
  EXPECT_EQ(index.matching("", {{"app", "web"}}), Names{"cluster"});
  index.set("a/two", "a", selector("app=cache"));
  index.erase("a/three");
  EXPECT_EQ(index.matching("a", {{"app", "db"}}), Names{});
  EXPECT_EQ(index.matching("a", {{"app", "cache"}}), Names{"a/two"});
  for (const auto* parent : {"a/one", "a/two", "b/one", "cluster", "nobody"}) index.erase(parent);
  EXPECT_EQ(index.size(), 0u);
  EXPECT_EQ(index.matching("a", {{"app", "web"}}), Names{});
}

TEST(OrphanIndex, FindsWhatASelectorSelects) {
  OrphanIndex index;
  index.set("a/x", "a", {{"app", "web"}, {"tier", "front"}});
  index.set("a/y", "a", {{"app", "db"}});
  index.set("b/x", "b", {{"app", "web"}});
  index.set("node", "", {});
  const auto selected = [&](std::string_view ns, std::string_view selector) {
    return index.selected(ns, *cache::LabelSelector::parse(selector));
  };
  EXPECT_EQ(selected("a", "app=web"), Names{"a/x"});
  EXPECT_EQ(selected("", "app in (db,web)"), (Names{"a/x", "a/y", "b/x"}));
  EXPECT_EQ(selected("a", "tier=front,app=db"), Names{});
  EXPECT_EQ(selected("a", "!tier"), Names{"a/y"});
  EXPECT_EQ(selected("", "!app"), Names{"node"});
  index.set("a/x", "a", {{"app", "db"}});
  EXPECT_EQ(selected("a", "app=web"), Names{});
  EXPECT_EQ(selected("a", "app=db"), (Names{"a/x", "a/y"}));
  for (const auto* key : {"a/x", "a/y", "b/x", "node", "nobody"}) index.erase(key);
  EXPECT_EQ(index.size(), 0u);
  EXPECT_EQ(selected("", "app=db"), Names{});
}

}  // namespace
}  // namespace hookd::metacontroller
