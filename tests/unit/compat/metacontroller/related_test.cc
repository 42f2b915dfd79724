#include "compat/metacontroller/related.h"

#include <gmock/gmock.h>

#include "unit/compat/metacontroller/controller_world.h"

namespace hookd::metacontroller {
namespace {

using test::object_json;
using test::secrets;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RelatedResource rule(std::string resource, std::string ns = "", std::vector<std::string> names = {},
                     std::string_view labels = "-", std::string_view namespaces = "-") {
  RelatedResource out;
  out.api_version = "v1";
  out.resource = std::move(resource);
  out.ns = std::move(ns);
  out.names = std::move(names);
  if (labels != "-") out.label_selector = *cache::LabelSelector::parse(labels);
  if (namespaces != "-") out.namespace_selector = *cache::LabelSelector::parse(namespaces);
  return out;
}

TEST(RelatedRules, V1KeepsANamespacedParentToItsNamespace) {
  const cache::Identity parent{"a", "p", "u", "1"};
  EXPECT_EQ(related_rules({rule("secrets")}, HookVersion::kV1, parent)->at(0).ns, "a");
  EXPECT_EQ(related_rules({rule("secrets", "a")}, HookVersion::kV1, parent)->at(0).ns, "a");
  const auto other = related_rules({rule("secrets"), rule("secrets", "b")}, HookVersion::kV1, parent);
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().what, HasSubstr("relatedResources[1]: namespace b is not the parent's (a)"));
  EXPECT_FALSE(related_rules({rule("secrets", "", {}, "-", "x=y")}, HookVersion::kV1, parent));
}

TEST(RelatedRules, V2AndClusterScopedParentsReachEverywhere) {
  for (const auto& [version, ns] : {std::pair{HookVersion::kV2, "a"}, std::pair{HookVersion::kV1, ""}}) {
    const auto rules =
        related_rules({rule("secrets"), rule("secrets", "b", {"z", "y", "z"}), rule("secrets", "", {}, "-", "x=y")},
                      version, {ns, "p", "u", "1"});
    ASSERT_TRUE(rules);
    EXPECT_EQ(rules->at(0).ns, "");
    EXPECT_EQ(rules->at(1).ns, "b");
    EXPECT_THAT(rules->at(1).names, ElementsAre("y", "z"));
  }
}

struct RelatedObjectsTest : testing::Test, test::HookWorld {
  RelatedObjectsTest() {
    cluster.serve(secrets());
    cluster.serve(test::namespaces());
    put_namespace("a", "");
    put_namespace("b", "");
    put("a", "s", R"("app":"x")");
    put("a", "t", "");
    put("b", "s", R"("app":"x")");
  }
  void put(const std::string& ns, const std::string& name, std::string_view labels) {
    cluster.put(secrets(), object_json(secrets(), ns, name, ns + name, fmt::format(R"("labels":{{{}}})", labels)));
    settle();
  }
  void put_namespace(const std::string& name, std::string_view labels) {
    cluster.put(test::namespaces(),
                object_json(test::namespaces(), "", name, name, fmt::format(R"("labels":{{{}}})", labels)));
    settle();
  }
  void settle() { scheduler.advance(Duration::zero()); }
  void set(const std::string& parent, const std::vector<RelatedResource>& rules) {
    related.set(parent, *related_rules(rules, HookVersion::kV2, {"a", parent, "u", "1"}));
    settle();
  }
  std::vector<std::string> of(const std::string& parent) {
    std::vector<std::string> all;
    for (const auto& kind : related.of(parent))
      for (const auto& object : kind.objects) all.push_back(object->key());
    return all;
  }
  std::set<std::string> called() { return std::exchange(touched, {}); }

  std::set<std::string> touched;
  RelatedObjects related{
      pool, [this](const RelatedObjects::Touch& touch) { touched.insert(touch.parents.begin(), touch.parents.end()); },
      [] {}};
};
using Keys = std::set<std::string>;

TEST_F(RelatedObjectsTest, FindsByEveryKindOfRule) {
  set("all", {rule("secrets")});
  EXPECT_THAT(of("all"), ElementsAre("a/s", "a/t", "b/s"));
  set("ns", {rule("secrets", "a")});
  EXPECT_THAT(of("ns"), ElementsAre("a/s", "a/t"));
  set("named", {rule("secrets", "b", {"s", "none"})});
  EXPECT_THAT(of("named"), ElementsAre("b/s"));
  set("named-anywhere", {rule("secrets", "", {"s"})});
  EXPECT_THAT(of("named-anywhere"), ElementsAre("a/s", "b/s"));
  set("labelled", {rule("secrets", "a", {}, "app=x")});
  EXPECT_THAT(of("labelled"), ElementsAre("a/s"));
  set("empty-selector", {rule("secrets", "", {}, "")});
  EXPECT_EQ(of("empty-selector").size(), 3u);
  set("two", {rule("secrets", "b"), rule("namespaces")});
  EXPECT_THAT(of("two"), ElementsAre("b/s", "a", "b"));
  set("none", {rule("secrets", "c")});
  EXPECT_EQ(related.of("none").size(), 1u) << "its kind stands in the request all the same";
  EXPECT_THAT(related.of("nobody"), IsEmpty());
}

TEST_F(RelatedObjectsTest, AnObjectCallsTheParentsOfItsRulesBeforeAndAfter) {
  set("all", {rule("secrets")});
  set("ns", {rule("secrets", "a")});
  set("named", {rule("secrets", "b", {"s"})});
  set("anywhere", {rule("secrets", "", {"s"})});
  set("labelled", {rule("secrets", "a", {}, "app=x")});
  EXPECT_EQ(called(), Keys{}) << "a first list calls nobody";
  put("a", "s", R"("app":"y")");
  EXPECT_EQ(called(), (Keys{"all", "ns", "anywhere", "labelled"}));
  put("a", "s", R"("app":"z")");
  EXPECT_EQ(called(), (Keys{"all", "ns", "anywhere"}));
  put("b", "new", "");
  EXPECT_EQ(called(), Keys{"all"});
  cluster.remove(secrets(), "b", "s");
  settle();
  EXPECT_EQ(called(), (Keys{"all", "named", "anywhere"}));
}

TEST_F(RelatedObjectsTest, ANamespaceThatComesIntoASelectorCallsItsParents) {
  set("p", {rule("secrets", "", {}, "-", "team=x")});
  EXPECT_THAT(of("p"), IsEmpty());
  put_namespace("b", R"("team":"x")");
  EXPECT_EQ(called(), Keys{"p"});
  EXPECT_THAT(of("p"), ElementsAre("b/s"));
  put_namespace("a", R"("other":"1")");
  EXPECT_EQ(called(), Keys{});
  put("a", "s", R"("app":"q")");
  EXPECT_EQ(called(), Keys{}) << "its namespace does not match";
  put_namespace("b", "");
  EXPECT_EQ(called(), Keys{"p"});
  EXPECT_THAT(of("p"), IsEmpty());
}

TEST_F(RelatedObjectsTest, KindsAreFollowedAsLongAsSomebodyWantsThem) {
  set("p", {rule("secrets")});
  set("q", {rule("secrets"), rule("secrets", "", {}, "-", "x=y")});
  EXPECT_EQ(related.kinds(), 2u) << "one watch a kind, and the namespaces";
  EXPECT_EQ(cluster.lists(secrets().collection_path("")), 1u);
  related.forget("p");
  set("q", {rule("secrets")});
  EXPECT_EQ(related.kinds(), 1u);
  put("a", "new", "");
  EXPECT_EQ(called(), Keys{"q"});
  related.forget("q");
  EXPECT_EQ(related.kinds(), 0u);
  EXPECT_THAT(related.informers(), IsEmpty());
}

TEST_F(RelatedObjectsTest, RulesOfAParentReplaceTheFormerOnes) {
  set("p", {rule("secrets", "a"), rule("secrets", "a")});
  set("p", {rule("secrets", "b"), rule("secrets", "a", {"t"})});
  EXPECT_THAT(of("p"), ElementsAre("b/s", "a/t"));
  put("a", "s", R"("n":"1")");
  EXPECT_EQ(called(), Keys{});
  put("a", "t", R"("n":"1")");
  EXPECT_EQ(called(), Keys{"p"});
}

TEST_F(RelatedObjectsTest, TellsWhyAKindIsNotFollowed) {
  set("p", {rule("ghosts")});
  EXPECT_FALSE(related.ready("p"));
  EXPECT_THAT(related.trouble("p").value_or(""), HasSubstr("related ghosts (v1)"));
  EXPECT_EQ(related.trouble("q"), std::nullopt);
  EXPECT_TRUE(related.ready("q"));
  set("p", {rule("namespaces", "", {}, "-", "x=y")});
  EXPECT_THAT(related.trouble("p").value_or(""), HasSubstr("cluster-scoped"));
}

}  // namespace
}  // namespace hookd::metacontroller
