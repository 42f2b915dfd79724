#include "reconcile/related_index.h"

#include "unit/reconcile/follow_world.h"

namespace hookd::reconcile {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::shared_ptr<const filter::Filter> jq(std::string_view expression) { return *filter::Filter::compile(expression); }

class RelatedIndexTest : public FollowWorld {
 protected:
  RelatedIndexTest() {
    rule.name = "r";
    rule.api_version = "v1";
    rule.kind = "ConfigMap";
  }
  void start() {
    index = std::make_unique<RelatedIndex>(
        rule, pool, scheduler,
        [this](const RelatedIndex::Touch& touch) {
          log.push_back(fmt::format("{} {} -> {}{}", touch.type, touch.object.key(),
                                    touch.every ? "every" : fmt::format("{}", fmt::join(touch.parents, ",")),
                                    touch.background ? " background" : ""));
        },
        [this] { ++readies; });
    index->start();
    settle();
  }
  std::vector<std::string> taken() {
    settle();
    return std::exchange(log, {});
  }
  void parent(std::string_view ns, std::string_view name, std::string_view more = R"("spec":{})") {
    const std::string text = test::object_json(gadgets(), ns, name, name, "", more);
    index->parent(ns.empty() ? std::string(name) : fmt::format("{}/{}", ns, name), ns, text);
  }
  void cm(std::string_view ns, std::string_view name, std::string_view meta = "", std::string_view more = "") {
    put(configmaps(), ns, name, fmt::format("{}-{}", ns, name), meta, more);
  }
  std::vector<std::string> of(const std::string& key) const { return keys(index->of(key)); }

  hook::RelatedRule rule;
  std::unique_ptr<RelatedIndex> index;
  std::vector<std::string> log;
  int readies = 0;
};

TEST(NamesOf, AreStringsAloneOrInAList) {
  EXPECT_THAT(*names_of("\"a\""), ElementsAre("a"));
  EXPECT_THAT(*names_of(R"(["b","ns/a",null,"b"])"), ElementsAre("b", "ns/a"));
  EXPECT_THAT(*names_of("null"), IsEmpty());
  EXPECT_THAT(*names_of("\"\""), IsEmpty());
  EXPECT_THAT(names_of("7").error().what, HasSubstr("not 7"));
  EXPECT_FALSE(names_of(R"(["a",7])"));
  EXPECT_FALSE(names_of(R"({"a":"b"})"));
}

// ---------------------------------------------------------------- all to all

TEST_F(RelatedIndexTest, WithNeitherAllBelongToAll) {
  cm("a", "x");
  start();
  EXPECT_TRUE(index->ready());
  EXPECT_GT(readies, 0);
  EXPECT_THAT(taken(), ElementsAre("Added a/x -> every background"));
  parent("b", "p");
  cm("b", "y");
  remove(configmaps(), "a", "x");
  EXPECT_THAT(taken(), ElementsAre("Added b/y -> every", "Deleted a/x -> every"));
  EXPECT_THAT(of("b/p"), ElementsAre("b/y"));
}

// ---------------------------------------------------------------- map

TEST_F(RelatedIndexTest, MapNamesParentsOfTheObjectsNamespace) {
  rule.map = jq(R"(.metadata.annotations["used-by"])");
  start();
  parent("a", "p");
  parent("b", "p");
  parent("", "p");
  cm("a", "x", R"("annotations":{"used-by":"p"})");
  EXPECT_THAT(taken(), ElementsAre("Added a/x -> a/p,p"));  // parents are of one scope: really only one of them is
  EXPECT_THAT(of("a/p"), ElementsAre("a/x"));
  EXPECT_THAT(of("b/p"), IsEmpty());
  cm("a", "x", R"("annotations":{"used-by":"b/p"})");  // the old and the new one
  EXPECT_THAT(taken(), ElementsAre("Modified a/x -> a/p,b/p,p"));
  EXPECT_THAT(of("a/p"), IsEmpty());
  EXPECT_THAT(of("b/p"), ElementsAre("a/x"));
  cm("a", "x");
  EXPECT_THAT(taken(), ElementsAre("Modified a/x -> b/p"));
  cm("a", "x", R"("labels":{"n":"1"})");
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(RelatedIndexTest, AMapThatFailsLeavesTheObjectWhereItWas) {
  rule.map = jq(R"(.data.p | if . == "bad" then error("no") else . end)");
  start();
  parent("a", "p");
  cm("a", "x", "", R"("data":{"p":"p"})");
  cm("a", "never", "", R"("data":{"p":"bad"})");
  taken();
  cm("a", "x", "", R"("data":{"p":"bad"})");
  EXPECT_THAT(taken(), ElementsAre("Modified a/x -> a/p"));
  EXPECT_THAT(of("a/p"), ElementsAre("a/x"));
  EXPECT_THAT(index->trouble(), HasSubstr("1 more"));
  cm("a", "x", "", R"("data":{"p":"q"})");
  EXPECT_THAT(taken(), ElementsAre("Modified a/x -> a/p"));
  EXPECT_THAT(of("a/p"), IsEmpty());
  remove(configmaps(), "a", "never");
  taken();
  EXPECT_EQ(index->trouble(), "");
}

TEST_F(RelatedIndexTest, MapMayNameMany) {
  rule.map = jq(".data.list");
  start();
  for (const char* name : {"p", "q", "r"}) parent("a", name);
  cm("a", "x", "", R"("data":{"list":["q","a/p","unknown"]})");
  EXPECT_THAT(taken(), ElementsAre("Added a/x -> a/p,a/q"));
  index->parent("a/q", "a", "");
  remove(configmaps(), "a", "x");
  EXPECT_THAT(taken(), ElementsAre("Deleted a/x -> a/p"));
  EXPECT_THAT(of("a/p"), IsEmpty());
}

TEST_F(RelatedIndexTest, AParentThatComesLaterHasItsObjects) {
  rule.map = jq(".data.p");
  cm("a", "x", "", R"("data":{"p":"p"})");
  start();
  EXPECT_THAT(taken(), IsEmpty());
  parent("a", "p");
  EXPECT_THAT(of("a/p"), ElementsAre("a/x"));
}

TEST_F(RelatedIndexTest, AMapThatFailsIsToldUntilItWorks) {
  rule.map = jq(".data.p");
  start();
  parent("a", "p");
  cm("a", "x", "", R"("data":{"p":"p"})");
  EXPECT_EQ(index->trouble(), "");
  cm("a", "x", "", R"("data":{"p":7})");
  EXPECT_THAT(taken(), ElementsAre("Added a/x -> a/p", "Modified a/x -> a/p"));
  EXPECT_THAT(index->trouble(), AllOf(HasSubstr("`map` of r: a/x"), HasSubstr("not 7")));
  cm("a", "y", "", R"("data":{"p":{}})");
  settle();
  EXPECT_THAT(index->trouble(), HasSubstr("(and 1 more)"));
  cm("a", "x", "", R"("data":{"p":"p"})");
  remove(configmaps(), "a", "y");
  settle();
  EXPECT_EQ(index->trouble(), "");
}

// ---------------------------------------------------------------- select

TEST_F(RelatedIndexTest, SelectFindsObjectsOfTheParentsOwnNamespace) {
  rule.select = jq("{\"app\": .metadata.name}");
  cm("a", "x", R"("labels":{"app":"p"})");
  cm("b", "x", R"("labels":{"app":"p"})");
  cm("a", "y", R"("labels":{"app":"q"})");
  cm("a", "z");
  start();
  parent("a", "p");
  parent("b", "p");
  parent("a", "q");
  EXPECT_THAT(of("a/p"), ElementsAre("a/x"));
  EXPECT_THAT(of("b/p"), ElementsAre("b/x"));
  EXPECT_THAT(of("a/q"), ElementsAre("a/y"));
  taken();
  cm("a", "x", R"("labels":{"app":"q"})");
  EXPECT_THAT(taken(), ElementsAre("Modified a/x -> a/p,a/q"));
  EXPECT_THAT(of("a/p"), IsEmpty());
  EXPECT_THAT(of("a/q"), ElementsAre("a/x", "a/y"));
  remove(configmaps(), "a", "x");
  EXPECT_THAT(taken(), ElementsAre("Deleted a/x -> a/q"));
}

TEST_F(RelatedIndexTest, NamedNamespacesCountAsTheyAreNamed) {
  rule.select = jq("{\"app\": .metadata.name}");
  rule.namespaces.names = {"shared"};
  cm("shared", "x", R"("labels":{"app":"p"})");
  cm("a", "x", R"("labels":{"app":"p"})");
  start();
  parent("a", "p");
  EXPECT_THAT(of("a/p"), ElementsAre("shared/x"));
}

TEST_F(RelatedIndexTest, AClusterScopedParentSelectsEverywhere) {
  rule.select = jq("{\"app\": .metadata.name}");
  cm("a", "x", R"("labels":{"app":"p"})");
  cm("b", "x", R"("labels":{"app":"p"})");
  start();
  parent("", "p");
  EXPECT_THAT(of("p"), ElementsAre("a/x", "b/x"));
}

TEST_F(RelatedIndexTest, SelectMayBeAWholeLabelSelector) {
  rule.select = jq(".spec.selector");
  cm("a", "x", R"("labels":{"app":"p","tier":"web"})");
  cm("a", "y", R"("labels":{"app":"p","tier":"db"})");
  cm("a", "z", R"("labels":{"tier":"db"})");
  start();
  parent("a", "both", R"("spec":{"selector":{"matchLabels":{"app":"p"},"matchExpressions":[
      {"key":"tier","operator":"NotIn","values":["db"]}]}})");
  parent("a", "in",
         R"("spec":{"selector":{"matchExpressions":[{"key":"tier","operator":"In","values":["db","web"]}]}})");
  parent("a", "loose", R"("spec":{"selector":{"matchExpressions":[{"key":"app","operator":"Exists"}]}})");
  EXPECT_THAT(of("a/both"), ElementsAre("a/x"));
  EXPECT_THAT(of("a/in"), ElementsAre("a/x", "a/y", "a/z"));
  EXPECT_THAT(of("a/loose"), ElementsAre("a/x", "a/y"));
  taken();
  cm("a", "y", R"("labels":{"tier":"db"})");
  EXPECT_THAT(taken(), ElementsAre("Modified a/y -> a/in,a/loose"));
}

TEST_F(RelatedIndexTest, AChangedSelectFindsOthers) {
  rule.select = jq(".spec.l");
  cm("a", "x", R"("labels":{"app":"p"})");
  cm("a", "y", R"("labels":{"tier":"q"})");
  start();
  parent("a", "p", R"("spec":{"l":{"app":"p"}})");
  EXPECT_THAT(of("a/p"), ElementsAre("a/x"));
  parent("a", "p", R"("spec":{"l":{"tier":"q"}})");
  EXPECT_THAT(of("a/p"), ElementsAre("a/y"));
  taken();
  cm("a", "x", R"("labels":{"app":"p","n":"1"})");
  EXPECT_THAT(taken(), IsEmpty());
  parent("a", "p", R"("spec":{"l":null})");
  EXPECT_THAT(of("a/p"), IsEmpty());
  index->parent("a/p", "a", "");
  cm("a", "y", R"("labels":{"tier":"q","n":"1"})");
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(RelatedIndexTest, ASelectThatIsNoSelectorSelectsNothing) {
  rule.select = jq(".spec.l");
  cm("a", "x", R"("labels":{"app":"p"})");
  start();
  for (const auto& [bad, text] : std::map<std::string, std::string>{{"{}", "everything"},
                                                                    {R"({"matchLabels":{}})", "everything"},
                                                                    {"7", "not 7"},
                                                                    {R"({"app":null})", "is null"},
                                                                    {R"({"app":7})", "no string"}}) {
    parent("a", "p", fmt::format(R"("spec":{{"l":{}}})", bad));
    EXPECT_THAT(of("a/p"), IsEmpty()) << bad;
    EXPECT_THAT(index->failure_of("a/p").value_or(""), HasSubstr(text)) << bad;
    EXPECT_THAT(index->trouble(), HasSubstr(text)) << bad;
  }
  parent("a", "p", R"("spec":{"l":{"app":"p"}})");
  EXPECT_EQ(index->trouble(), "");
  EXPECT_THAT(of("a/p"), ElementsAre("a/x"));
}

TEST_F(RelatedIndexTest, OneEventAmongTenThousandParentsComparesOne) {
  rule.select = jq("{\"app\": .metadata.name}");
  start();
  for (int i = 0; i < 10'000; ++i) parent("a", "p" + std::to_string(i));
  for (int i = 0; i < 100; ++i) cm("a", "x" + std::to_string(i), fmt::format(R"("labels":{{"app":"p{}"}})", i));
  taken();
  const uint64_t before = index->compared();
  cm("a", "one", R"("labels":{"app":"p7000","other":"label"})");
  EXPECT_THAT(taken(), ElementsAre("Added a/one -> a/p7000"));
  EXPECT_EQ(index->compared() - before, 1u);
  EXPECT_THAT(of("a/p7000"), ElementsAre("a/one"));
}

// ---------------------------------------------------------------- the rule's own selection

TEST_F(RelatedIndexTest, LabelsAndNamespacesOfTheRuleHold) {
  rule.label_selector = *cache::LabelSelector::parse("yes");
  rule.namespaces.label_selector = *cache::LabelSelector::parse("team=a");
  put(test::namespaces(), "", "a", "na", R"("labels":{"team":"a"})");
  put(test::namespaces(), "", "b", "nb");
  cm("a", "x", R"("labels":{"yes":""})");
  cm("a", "no");
  cm("b", "y", R"("labels":{"yes":""})");
  start();
  EXPECT_THAT(taken(), ElementsAre("Added a/x -> every background"));
  put(test::namespaces(), "", "b", "nb", R"("labels":{"team":"a"})");
  EXPECT_THAT(taken(), ElementsAre("Added b/y -> every"));
  put(test::namespaces(), "", "a", "na");
  EXPECT_THAT(taken(), ElementsAre("Deleted a/x -> every"));
  EXPECT_EQ(index->size(), 1u);
}

TEST_F(RelatedIndexTest, AKindThatVanishesTouchesNobody) {
  rule.api_version = "x.io/v1";
  rule.kind = "Gadget";
  rule.map = jq(".spec.p");
  put(gadgets(), "a", "g", "1", "", R"("spec":{"p":"p"})");
  start();
  parent("a", "p");
  taken();
  unserve(gadgets());
  EXPECT_FALSE(index->ready());
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_THAT(of("a/p"), ElementsAre("a/g"));
  cluster.serve(gadgets());
  settle(2min);
  EXPECT_TRUE(index->ready());
  EXPECT_THAT(taken(), ElementsAre("Deleted a/g -> a/p"));
}

// Random labels, selectors, objects and parents: always what a look at all of them says.
TEST_F(RelatedIndexTest, IsAlwaysWhatALookAtAllSays) {
  rule.select = jq(".spec.s");
  start();
  const auto dice = [&](uint64_t sides) { return random.bits() % sides; };
  const auto label = [&] { return fmt::format(R"("{}":"{}")", "abc"[dice(3)], dice(3)); };
  std::map<std::string, cache::LabelSelector> selectors;
  std::map<std::string, cache::LabelSelector::Labels> objects;
  for (int i = 0; i < 2000; ++i) {
    const std::string ns = dice(2) ? "n" : "m", name = fmt::format("o{}", dice(12)), key = ns + "/" + name;
    switch (dice(5)) {
      case 0: {
        index->parent(key, ns, "");
        selectors.erase(key);
        break;
      }
      case 1:
      case 2: {
        const std::string json = dice(3) == 0
                                     ? fmt::format(R"({{"matchExpressions":[{{"key":"{}","operator":"{}"}}]}})",
                                                   "abc"[dice(3)], dice(2) ? "Exists" : "DoesNotExist")
                                     : fmt::format(R"({{"matchLabels":{{{}}},"matchExpressions":[
                                                  {{"key":"{}","operator":"In","values":["0","1"]}}]}})",
                                                   label(), "abc"[dice(3)]);
        parent(ns, name, fmt::format(R"("spec":{{"s":{}}})", json));
        selectors[key] = *cache::LabelSelector::from_json(parse_json(json)->get_object());
        break;
      }
      case 3:
        if (objects.erase(key) > 0) remove(configmaps(), ns, name);
        break;
      default: {
        std::string labels = label();
        if (const std::string more = label(); more.substr(0, 3) != labels.substr(0, 3)) labels += "," + more;
        cm(ns, name, fmt::format(R"("labels":{{{}}})", labels));
        objects[key] = labels_of(fmt::format(R"({{"metadata":{{"labels":{{{}}}}}}})", labels));
      }
    }
    if (i % 20 != 0) continue;
    settle();
    for (const auto& [parent_key, selector] : selectors) {
      std::vector<std::string> wanted;
      for (const auto& [object, labels] : objects)
        if (object.substr(0, 1) == parent_key.substr(0, 1) && selector.matches(labels)) wanted.push_back(object);
      ASSERT_EQ(of(parent_key), wanted) << parent_key << " " << selector.to_string() << " at " << i;
    }
  }
}

}  // namespace
}  // namespace hookd::reconcile
