#include "compat/metacontroller/desired.h"

#include "unit/compat/metacontroller/parts.h"

namespace hookd::metacontroller {
namespace {

using test::json;
using test::Parts;

struct World : Parts {
  Result<std::vector<Wanted>> read(const std::vector<DesiredObject>& desired) {
    return wanted_children(desired, {spec, parent_type, parent, selector ? &*selector : nullptr,
                                     [this](const DesiredObject& child) -> std::optional<ChildKind> {
                                       if (child.kind == "Pod") return kind();
                                       if (child.kind == "Node")
                                         return ChildKind{nullptr,
                                                          std::make_shared<const kube::ResourceType>(test::nodes())};
                                       return std::nullopt;
                                     }});
  }
  static DesiredObject object(std::string kind, std::string name, std::string ns = "", std::string meta = "",
                              std::string version = "v1") {
    std::string text =
        fmt::format(R"({{"apiVersion":"{}","kind":"{}","metadata":{{"name":"{}"{}{}}}}})", version, kind, name,
                    ns.empty() ? "" : fmt::format(R"(,"namespace":"{}")", ns), meta.empty() ? "" : "," + meta);
    return {text, version, kind, name, ns};
  }
  std::string refusal(const std::vector<DesiredObject>& desired) {
    const auto wanted = read(desired);
    EXPECT_FALSE(wanted);
    if (wanted) return {};
    EXPECT_EQ(wanted.error().code, Errc::kInvalid);
    return wanted.error().what;
  }
  std::optional<cache::LabelSelector> selector;
};

TEST(WantedChildren, GetTheParentsNamespace) {
  World world;
  const auto wanted = world.read({World::object("Pod", "x"), World::object("Pod", "y", "a")});
  ASSERT_TRUE(wanted);
  EXPECT_EQ(wanted->at(0).object.text_at({"metadata", "namespace"}), "a");
  EXPECT_EQ(wanted->at(0).display(), "Pod a/x");
  EXPECT_EQ(wanted->at(1).key(), "a/y");
}

TEST(WantedChildren, OutsideOfTheParentsNamespaceAreRefused) {
  World world;
  EXPECT_EQ(world.refusal({World::object("Pod", "x", "b")}),
            "Pod x is to be in namespace b, but its parent lives in a: the garbage collector would delete it");
  EXPECT_NE(world.refusal({World::object("Node", "n")}).find("cluster-scoped"), std::string::npos);
  world.parent.ns.clear();
  EXPECT_EQ(world.refusal({World::object("Pod", "x")}),
            "Pod x needs metadata.namespace, as its parent is cluster-scoped");
  EXPECT_TRUE(world.read({World::object("Pod", "x", "b"), World::object("Pod", "x", "c"), World::object("Node", "n")}));
}

TEST(WantedChildren, AChildTwiceIsRefused) {
  World world;
  EXPECT_EQ(world.refusal({World::object("Pod", "x"), World::object("Pod", "x", "a")}),
            "Pod x stands twice in the hook's answer");
}

TEST(WantedChildren, AKindThatIsNotServedOrDeclaredInAnotherVersionIsRefused) {
  World world;
  EXPECT_NE(world.refusal({World::object("Ghost", "x")}).find("the server has no kind Ghost"), std::string::npos);
  EXPECT_EQ(world.refusal({World::object("Pod", "x", "", "", "v2")}),
            "Pod x: the hook wants it as v2, but the controller declares v1; use one of them");
}

TEST(WantedChildren, OneWhoseLabelsDoNotMatchRefusesAll) {
  World world;
  world.selector = *cache::LabelSelector::parse("app=web");
  const auto why =
      world.refusal({World::object("Pod", "x", "", R"("labels":{"app":"web"})"), World::object("Pod", "y")});
  EXPECT_NE(why.find("the labels of Pod y do not match the parent's selector app=web"), std::string::npos) << why;
}

TEST(WantedChildren, GenerateSelectorSetsTheUidUnlessTheHookDid) {
  World world;
  world.spec.generate_selector = true;
  world.selector = *cache::LabelSelector::parse("controller-uid=parent-uid");
  const auto wanted = world.read({World::object("Pod", "x")});
  ASSERT_TRUE(wanted);
  EXPECT_EQ(wanted->at(0).object.text_at({"metadata", "labels", "controller-uid"}), "parent-uid");
  EXPECT_NE(
      world.refusal({World::object("Pod", "y", "", R"("labels":{"controller-uid":"mine"})")}).find("do not match"),
      std::string::npos)
      << "what the hook set is not overwritten";
}

TEST(WantedChildren, AttachmentsCarryTheControllersName) {
  World world;
  world.spec.kind = ControllerKind::kDecorator;
  const auto wanted = world.read({World::object("Pod", "x", "", R"("annotations":{"k":"v"})")});
  ASSERT_TRUE(wanted);
  EXPECT_EQ(*wanted->at(0).object.at_path({"metadata", "annotations"}),
            json(R"({"k":"v","metacontroller.k8s.io/decorator-controller":"catset"})"));
}

}  // namespace
}  // namespace hookd::metacontroller
