#include <gmock/gmock.h>

#include "base/json_read.h"
#include "unit/reconcile/child_kinds.h"

namespace hookd::reconcile {
namespace {

using testing::HasSubstr;

class ReadDesired : public testing::Test {
 protected:
  ReadDesired() {
    kinds.add(test::deployments());
    kinds.add(test::config_maps());
  }
  Result<std::vector<Desired>> read(std::vector<std::string_view> manifests) {
    return read_desired(manifests, kinds.kinds, parent_type, parent);
  }
  std::string error(std::vector<std::string_view> manifests, Errc code = Errc::kInvalid) {
    const auto result = read(std::move(manifests));
    if (result) return "no error";
    EXPECT_EQ(result.error().code, code);
    return result.error().what;
  }

  test::ChildKinds kinds;
  kube::ResourceType parent_type = test::memcacheds();
  cache::Identity parent{"a", "m", "up", "1"};
};

constexpr char kConfig[] = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"n":"1.50"}})";

TEST_F(ReadDesired, GivesAChildItsParentsNamespace) {
  const auto all = read({kConfig});
  ASSERT_TRUE(all) << all.error().what;
  ASSERT_EQ(all->size(), 1u);
  const Desired& one = all->front();
  EXPECT_EQ(one.key(), "a/c");
  EXPECT_EQ(one.display(), "ConfigMap a/c");
  EXPECT_EQ(one.kind.rule, &kinds.rule(1));
  EXPECT_EQ(one.text,
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"a"},"data":{"n":"1.50"}})");
}

TEST_F(ReadDesired, HashDoesNotDependOnHowItIsWritten) {
  const auto one = read({kConfig});
  const auto other = read({R"({ "kind":"ConfigMap","data":{"n":"1.50"},"metadata":{"namespace":"a","name":"c",
                               "uid":"7","resourceVersion":"3"}, "apiVersion":"v1"})"});
  const auto different = read({R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"n":"1.5"}})"});
  ASSERT_TRUE(one && other && different);
  EXPECT_EQ(one->front().hash, other->front().hash);
  EXPECT_NE(one->front().hash, different->front().hash);
}

TEST_F(ReadDesired, AnotherVersionOfTheGroupIsTheSameKind) {
  const auto all = read({R"({"apiVersion":"apps/v1beta2","kind":"Deployment","metadata":{"name":"d"}})"});
  ASSERT_TRUE(all) << all.error().what;
  EXPECT_EQ(all->front().api_version, "apps/v1beta2");
  EXPECT_EQ(all->front().kind.type->version, "v1");
}

TEST_F(ReadDesired, ACopiedObjectLosesWhatIsTheServers) {
  const auto all =
      read({R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","namespace":"a","uid":"u7",
    "resourceVersion":"12","generation":2,"creationTimestamp":"2026-01-01T00:00:00Z","selfLink":"/x","managedFields":[{}],
    "deletionTimestamp":"2026-01-01T00:00:00Z","deletionGracePeriodSeconds":30,
    "annotations":{"hookd.dev/manifest-hash":"1-aa"},
    "ownerReferences":[{"apiVersion":"x","kind":"Memcached","name":"m","uid":"up","controller":true}]},
    "spec":{"replicas":1},"status":{"replicas":1}})"});
  ASSERT_TRUE(all) << all.error().what;
  EXPECT_EQ(all->front().text, R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","namespace":"a"},)"
                               R"("spec":{"replicas":1}})");
}

TEST_F(ReadDesired, OthersReferencesAnnotationsAndPlainStatusStay) {
  const auto all = read({R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"a","annotations":
    {"hookd.dev/manifest-hash":"1-aa","k":"v"},"ownerReferences":[{"uid":"u9"},{"uid":"up"}]},"status":{"own":1}})"});
  ASSERT_TRUE(all) << all.error().what;
  EXPECT_EQ(all->front().text,
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"a","annotations":{"k":"v"},)"
            R"("ownerReferences":[{"uid":"u9"}]},"status":{"own":1}})");
}

TEST_F(ReadDesired, ANamespaceThatIsNullOrEmptyIsTheParents) {
  for (const char* ns : {"null", "\"\""}) {
    const auto all = read({fmt::format(
        R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"namespace":{},"name":"c","annotations":{{}}}}}})",
        ns)});
    ASSERT_TRUE(all) << all.error().what;
    EXPECT_EQ(all->front().text, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","annotations":{},)"
                                 R"("namespace":"a"}})");
  }
}

TEST_F(ReadDesired, RefusesWhatIsNoManifest) {
  EXPECT_THAT(error({"null"}), HasSubstr("children[0]: a child is a manifest"));
  EXPECT_THAT(error({kConfig, "[]"}),
              HasSubstr("children[1]: a child is a manifest, an object with apiVersion, kind and "
                        "metadata.name; this is a list"));
  EXPECT_THAT(error({"{}"}), HasSubstr("children[0]: manifest: the object needs `metadata`"));
  EXPECT_THAT(error({R"({"kind":"ConfigMap","metadata":{"name":"c"}})"}), HasSubstr("`apiVersion`"));
  EXPECT_THAT(error({R"({"apiVersion":"v1","metadata":{"name":"c"}})"}), HasSubstr("`kind`"));
  EXPECT_THAT(error({R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"c-"}})"}),
              HasSubstr("metadata.name"));
  EXPECT_THAT(error({R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"../x"}})"}),
              HasSubstr("cannot be a name"));
  EXPECT_THAT(error({R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","name":"d"}})"}),
              HasSubstr("twice"));
  EXPECT_THAT(error({"{\"apiVersion\":"}), HasSubstr("children[0]"));
  EXPECT_THAT(error({R"({"apiVersion":"v1","kind":"List","metadata":{"name":"l"},"items":[]})"}),
              HasSubstr("give its items one by one"));
}

TEST_F(ReadDesired, RefusesAKindThatIsNotDeclared) {
  EXPECT_THAT(error({R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}})"}),
              HasSubstr("children[0] (Secret s): its kind is not declared; add {apiVersion: v1, kind: Secret} to "
                        "`reconcile.children` of the hook (declared: Deployment (apps/v1), ConfigMap (v1))"));
  EXPECT_THAT(error({R"({"apiVersion":"extensions/v1","kind":"Deployment","metadata":{"name":"s"}})"}),
              HasSubstr("write apps/v1"));
  kinds.kinds.clear();
  EXPECT_THAT(error({kConfig}), HasSubstr("(declared: none)"));
}

TEST_F(ReadDesired, AKindThatVanishedMayComeBack) {
  kinds.kinds[1].type = nullptr;
  EXPECT_THAT(error({kConfig}, Errc::kUnavailable), HasSubstr("the cluster does not serve ConfigMap (v1) now"));
  EXPECT_TRUE(read({R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"}})"}));
}

TEST_F(ReadDesired, RefusesAChildTwiceInAnyVersion) {
  EXPECT_THAT(error({R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"}})", kConfig,
                     R"({"apiVersion":"apps/v1beta2","kind":"Deployment","metadata":{"name":"d","namespace":"a"}})"}),
              HasSubstr("children[2] (Deployment a/d): children[0] is the same object"));
}

TEST_F(ReadDesired, RefusesWhatTheParentCannotOwn) {
  EXPECT_THAT(error({R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"b"}})"}),
              HasSubstr("children[0] (ConfigMap b/c): namespace b is not that of its parent, a;"));
  kinds.add(test::nodes());
  EXPECT_THAT(error({R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}})"}),
              HasSubstr("Node (v1) is cluster-scoped, and a Memcached in a namespace cannot own it"));
  kinds.add(test::memcacheds());
  EXPECT_THAT(error({R"({"apiVersion":"cache.example.com/v1","kind":"Memcached","metadata":{"name":"m"}})"}),
              HasSubstr("it is the parent itself"));
  EXPECT_TRUE(read({R"({"apiVersion":"cache.example.com/v1","kind":"Memcached","metadata":{"name":"m2"}})"}));
}

TEST_F(ReadDesired, BelowAClusterScopedParentAChildSaysWhereItLives) {
  parent_type = test::memcacheds(false);
  parent.ns = "";
  kinds.add(test::nodes());
  EXPECT_THAT(error({kConfig}),
              HasSubstr("children[0] (ConfigMap c): it needs metadata.namespace: its parent Memcached"));
  EXPECT_THAT(error({R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n","namespace":"x"}})"}),
              HasSubstr("leave metadata.namespace out"));
  const auto all = read({R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"x"}})",
                         R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"y"}})",
                         R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}})"});
  ASSERT_TRUE(all) << all.error().what;
  EXPECT_EQ(all->back().key(), "n");
}

TEST_F(ReadDesired, RefusesAnotherController) {
  EXPECT_THAT(error({R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","ownerReferences":)"
                     R"([{"apiVersion":"v1","kind":"Foo","name":"f","uid":"u8","controller":true}]}})"}),
              HasSubstr("another controller, Foo f"));
}

TEST_F(ReadDesired, RefusesWhatItsRuleWouldHide) {
  kinds.rule(1).namespaces = {"b", "c"};
  EXPECT_THAT(error({kConfig}), HasSubstr("namespace a is not among the `namespaces` of its rule in hook.yaml (b, c)"));
  kinds.rule(1).namespaces = {"a"};
  EXPECT_TRUE(read({kConfig}));
  kinds.rule(1).label_selector = *cache::LabelSelector::parse("app=x");
  EXPECT_THAT(error({kConfig}),
              HasSubstr("its labels do not match the `labelSelector` of its rule in hook.yaml (app=x)"));
  EXPECT_TRUE(read({R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","labels":{"app":"x"}}})"}));
}

}  // namespace
}  // namespace hookd::reconcile
