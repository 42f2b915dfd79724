#include "compat/metacontroller/controllers.h"

#include <gmock/gmock.h>

#include "compat/metacontroller/parent_check.h"
#include "unit/support/fake_cluster.h"
#include "unit/support/log_tap.h"

namespace hookd::metacontroller {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

kube::ResourceType alpha(std::string kind, std::string plural) {
  auto type = test::make_type("metacontroller.k8s.io", std::move(kind), std::move(plural), false);
  type.version = "v1alpha1";
  return type;
}
const auto kComposites = alpha("CompositeController", "compositecontrollers");
const auto kDecorators = alpha("DecoratorController", "decoratorcontrollers");
const auto kCrds =
    test::make_type("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", false);

class ControllersTest : public testing::Test {
 protected:
  ControllersTest() { cluster.serve(kCrds); }
  void serve() {
    cluster.serve(kComposites);
    cluster.serve(kDecorators);
    served = true;
  }
  void start(ControllersOptions options = {}, bool with_crds = true) {
    if (with_crds && !served) serve();
    controllers = std::make_unique<Controllers>(ControllersServices{scheduler, pool, discovery, cluster, events,
                                                                    [this](auto hook) { return put(std::move(hook)); },
                                                                    [this](const std::string& name) {
                                                                      log.push_back("remove " + name);
                                                                      hooks.erase(name);
                                                                    }},
                                                std::move(options));
    controllers->start();
    settle();
  }
  const hook::Hook& hook(const std::string& name = "compositecontroller-catset") {
    const auto found = hooks.find(name);
    EXPECT_NE(found, hooks.end()) << name;
    static const hook::Hook none;
    return found == hooks.end() ? none : *found->second;
  }
  Result<void> put(std::shared_ptr<const hook::Hook> hook) {
    if (hook->name == taken) return fail(Errc::kConfig, "{} has that name", hook->name);
    log.push_back("put " + hook->name);
    hooks[hook->name] = std::move(hook);
    return {};
  }
  void settle() { scheduler.advance(1s); }
  static std::string composite(const std::string& name, const std::string& url = "http://h/s",
                               const std::string& meta = "") {
    return test::object_json(
        kComposites, "", name, "uid-" + name, meta,
        fmt::format(R"("spec":{{"parentResource":{{"apiVersion":"ctl.example.com/v1","resource":"catsets"}},
                        "hooks":{{"sync":{{"webhook":{{"url":"{}"}}}}}}}})",
                    url));
  }
  void crd(bool status, const std::string& version = "v1") {
    cluster.put(kCrds, test::object_json(kCrds, "", "catsets.ctl.example.com", "c1", "",
                                         fmt::format(R"("spec":{{"versions":[{{"name":"{}","served":true{}}}]}})",
                                                     version, status ? R"(,"subresources":{"status":{}})" : "")));
  }
  // "Reason message" of the Events so far.
  std::vector<std::string> told() {
    std::vector<std::string> all;
    for (const auto& request : cluster.written)
      if (request.path.ends_with("/events") && request.method == "POST")
        all.push_back(json_string_at(request.body, {"reason"}).value_or("") + " " +
                      json_string_at(request.body, {"message"}).value_or(""));
    return all;
  }

  ManualScheduler scheduler;
  SeededRandom random;
  test::FakeCluster cluster{scheduler};
  kube::Discovery discovery{cluster, scheduler};
  kube::InformerPool pool{{cluster, discovery, scheduler, random, 500}, [] {}};
  apply::EventRecorder events{cluster, scheduler, random};
  std::map<std::string, std::shared_ptr<const hook::Hook>> hooks;
  std::vector<std::string> log;
  std::string taken;
  bool served = false;
  std::unique_ptr<Controllers> controllers;
};

TEST_F(ControllersTest, AGoodOneBecomesAHook) {
  crd(true);
  cluster.put(kComposites, composite("catset"));
  start();
  EXPECT_TRUE(hook().reconciles());
  EXPECT_EQ(hook().concurrency, 5);
  EXPECT_EQ(hook().retry.initial, 5ms);
  EXPECT_EQ(hook().retry.max, 1000s);
  EXPECT_EQ(hook().retry.attempts, 0);
  EXPECT_THAT(controllers->degraded(), IsEmpty());
  EXPECT_TRUE(controllers->idle());
  EXPECT_THAT(told(), ElementsAre("Starting Starting controller: catset", "Started Started controller: catset"));
}

TEST_F(ControllersTest, OnlyAChangedSpecMakesAnotherVersion) {
  crd(true);
  cluster.put(kComposites, composite("catset"));
  start();
  const auto before = hook().content_hash;
  cluster.put(kComposites, composite("catset", "http://h/s", R"("labels":{"a":"b"})"));
  settle();
  EXPECT_THAT(log, ElementsAre("put compositecontroller-catset"));
  cluster.put(kComposites, composite("catset", "http://other/s"));
  settle();
  EXPECT_THAT(log, ElementsAre("put compositecontroller-catset", "put compositecontroller-catset"));
  EXPECT_NE(hook().content_hash, before);
  cluster.remove(kComposites, "", "catset");
  settle();
  EXPECT_TRUE(hooks.empty());
  EXPECT_EQ(controllers->size(), 0u);
}

TEST_F(ControllersTest, ABrokenNewVersionLeavesTheOneBefore) {
  crd(true);
  cluster.put(kComposites, composite("catset"));
  start();
  cluster.put(kComposites, composite("catset", "nonsense"));
  settle();
  EXPECT_EQ(hooks.size(), 1u);
  EXPECT_THAT(log, ElementsAre("put compositecontroller-catset"));
  EXPECT_THAT(controllers->degraded(),
              ElementsAre(AllOf(HasSubstr("CompositeController catset: spec.hooks.sync.webhook.url"),
                                HasSubstr("the version before goes on"))));
  EXPECT_THAT(told().back(), HasSubstr("CreateError"));
  cluster.put(kComposites, composite("catset"));
  settle();
  EXPECT_THAT(controllers->degraded(), IsEmpty());
  EXPECT_THAT(log, ElementsAre("put compositecontroller-catset")) << "it is the one that runs";
}

TEST_F(ControllersTest, AParentWithoutStatusWaitsForItsCrd) {
  crd(false);
  cluster.put(kComposites, composite("catset"));
  start();
  EXPECT_TRUE(hooks.empty());
  EXPECT_THAT(told(),
              ElementsAre(AllOf(HasSubstr("SyncError"), HasSubstr("does not have subresource 'Status' enabled"))));
  EXPECT_THAT(controllers->degraded(), ElementsAre(HasSubstr("'Status'")));
  scheduler.advance(5min);
  EXPECT_EQ(told().size(), 1u) << "told once";
  crd(true);
  scheduler.advance(Controllers::kLookAgain);
  EXPECT_EQ(hooks.size(), 1u);
  EXPECT_THAT(controllers->degraded(), IsEmpty());
}

TEST_F(ControllersTest, AMissingParentIsWaitedFor) {
  cluster.put(kComposites, composite("catset"));
  start();
  EXPECT_TRUE(hooks.empty());
  EXPECT_TRUE(controllers->ready());
  EXPECT_THAT(told().front(), HasSubstr("CreateError Cannot create new controller: spec.parentResource"));
  crd(true);
  scheduler.advance(Controllers::kLookAgain);
  EXPECT_EQ(hooks.size(), 1u);
}

TEST_F(ControllersTest, BuiltInParentsAreRefusedUnlessAllowed) {
  cluster.serve(test::deployments());
  cluster.put(kComposites,
              test::object_json(kComposites, "", "d", "u", "",
                                R"("spec":{"parentResource":{"apiVersion":"apps/v1","resource":"deployments"},
                                   "hooks":{"sync":{"webhook":{"url":"http://h/s"}}}})"));
  start();
  EXPECT_TRUE(hooks.empty());
  EXPECT_THAT(controllers->degraded(), ElementsAre(HasSubstr("is no custom resource")));
  ControllersOptions options;
  options.built_in_parents = true;
  start(options);
  EXPECT_EQ(hooks.size(), 1u);
}

TEST_F(ControllersTest, ADecoratorNeedsNoCrd) {
  cluster.put(kDecorators,
              test::object_json(kDecorators, "", "d.x", "u", "",
                                R"("spec":{"resources":[{"apiVersion":"apps/v1","resource":"statefulsets"}],
                                                "hooks":{"sync":{"webhook":{"url":"http://h/s"}}}})"));
  start();
  ASSERT_EQ(hooks.size(), 1u);
  const std::string& name = hooks.begin()->first;
  EXPECT_TRUE(name.starts_with("decoratorcontroller-d-x-")) << name;
  EXPECT_EQ(name.size(), std::string("decoratorcontroller-d-x-").size() + 8) << name;
}

TEST_F(ControllersTest, WithAFinalizeHookItHoldsItsParents) {
  cluster.put(kDecorators,
              test::object_json(kDecorators, "", "d", "u", "",
                                R"("spec":{"resources":[{"apiVersion":"apps/v1","resource":"statefulsets"}],
                                                "hooks":{"sync":{"webhook":{"url":"http://h/s"}},
                                                         "finalize":{"webhook":{"url":"http://h/f"}}}})"));
  start();
  EXPECT_THAT(hook("decoratorcontroller-d").holds,
              ElementsAre(hook::HeldKind{"metacontroller.io/decoratorcontroller-d", "apps/v1", "statefulsets"}));
}

TEST_F(ControllersTest, OnlyControllersThatTheTargetSelectorTakes) {
  crd(true);
  cluster.put(kComposites, composite("one", "http://h/s", R"("labels":{"shard":"a"})"));
  cluster.put(kComposites, composite("two", "http://h/s", R"("labels":{"shard":"b"})"));
  ControllersOptions options;
  options.target_label_selector = "shard=a";
  start(options);
  EXPECT_THAT(log, ElementsAre("put compositecontroller-one"));
  cluster.put(kComposites, composite("one"));
  settle();
  EXPECT_THAT(log, ElementsAre("put compositecontroller-one", "remove compositecontroller-one"));
}

TEST_F(ControllersTest, WithoutTheirCrdsItIsDegradedAndWaits) {
  start({}, false);
  EXPECT_TRUE(controllers->ready());
  EXPECT_EQ(controllers->degraded().size(), 2u);
  serve();
  crd(true);
  cluster.put(kComposites, composite("catset"));
  scheduler.advance(1min);
  EXPECT_EQ(hooks.size(), 1u);
  EXPECT_THAT(controllers->degraded(), IsEmpty());
}

TEST_F(ControllersTest, ANameThatAFolderHasIsNotTaken) {
  crd(true);
  taken = "compositecontroller-catset";
  cluster.put(kComposites, composite("catset"));
  start();
  EXPECT_THAT(controllers->degraded(), ElementsAre("CompositeController catset: compositecontroller-catset has that "
                                                   "name"));
  EXPECT_THAT(told(), ElementsAre(HasSubstr("CreateError")));
  scheduler.advance(1h);
  EXPECT_THAT(told(), ElementsAre(HasSubstr("CreateError"))) << "it is not told to start each time";
  taken.clear();
  scheduler.advance(Controllers::kLookAgain);
  EXPECT_THAT(controllers->degraded(), IsEmpty());
  EXPECT_EQ(hooks.size(), 1u) << "the hook of the folder went";
}

TEST_F(ControllersTest, AGuardOfTheDaemonOrOfTheControllerItself) {
  crd(true);
  cluster.put(kComposites, composite("catset"));
  ControllersOptions options;
  options.guard.deletes = hook::Guard::Rate{20, 1min};
  start(options);
  EXPECT_EQ(hook().guard, options.guard);
  const auto annotated = [&](const std::string& guard) {
    cluster.put(kComposites,
                composite("catset", "http://h/s", fmt::format(R"("annotations":{{"hookd.dev/guard":"{}"}})", guard)));
    settle();
  };
  annotated("writes=600/1m");
  EXPECT_EQ(hook().guard, (hook::Guard{std::nullopt, hook::Guard::Rate{600, 1min}}))
      << "it takes the place of the whole";
  annotated("none");
  EXPECT_EQ(hook().guard, hook::Guard());
  annotated("deletes=0/1m");
  EXPECT_THAT(controllers->degraded(), ElementsAre(AllOf(HasSubstr("hookd.dev/guard"), HasSubstr("0 would let nothing"),
                                                         HasSubstr("the version before goes on"))));
}

TEST_F(ControllersTest, TwoOfTheSameParentsAndChildrenAreTold) {
  const auto one = [](const std::string& name, std::string_view children, std::string_view labels = "") {
    return test::object_json(
        kComposites, "", name, "uid-" + name, "",
        fmt::format(R"("spec":{{"parentResource":{{"apiVersion":"ctl.example.com/v1","resource":"catsets"{}}},
                        "childResources":[{{"apiVersion":"v1","resource":"{}"}}],
                        "hooks":{{"sync":{{"webhook":{{"url":"http://h/s"}}}}}}}})",
                    labels, children));
  };
  crd(true);
  cluster.put(kComposites, one("a", "pods"));
  cluster.put(kComposites, one("b", "secrets"));
  start();
  EXPECT_THAT(controllers->degraded(), IsEmpty());
  cluster.put(kComposites, one("c", "pods"));
  settle();
  EXPECT_THAT(controllers->degraded(),
              ElementsAre(AllOf(HasSubstr("CompositeController a and CompositeController c"), HasSubstr("pods"))));
  cluster.put(kComposites, one("a", "pods", R"(,"labelSelector":{"matchLabels":{"of":"a"}})"));
  cluster.put(kComposites, one("c", "pods", R"(,"labelSelector":{"matchLabels":{"of":"c"}})"));
  settle();
  EXPECT_THAT(controllers->degraded(), IsEmpty()) << "they share the parents out";
}

TEST_F(ControllersTest, WhatOnlyCannotRunNowMayCome) {
  crd(true);
  cluster.hold(kDecorators.collection_path(""));
  cluster.put(kComposites, composite("catset"));
  cluster.put(kComposites, test::object_json(kComposites, "", "broken", "uid-b", "", R"("spec":{})"));
  start();
  EXPECT_FALSE(controllers->may_come("compositecontroller-catset")) << "it runs";
  EXPECT_TRUE(controllers->may_come("compositecontroller-broken"));
  EXPECT_FALSE(controllers->may_come("compositecontroller-none"));
  EXPECT_TRUE(controllers->may_come("decoratorcontroller-any")) << "they are not known yet";
  EXPECT_FALSE(controllers->may_come("any"));
  cluster.release(kDecorators.collection_path(""));
  settle();
  EXPECT_FALSE(controllers->may_come("decoratorcontroller-any"));
  cluster.remove(kComposites, "", "broken");
  settle();
  EXPECT_FALSE(controllers->may_come("compositecontroller-broken"));
}

TEST(ControllersHookName, IsShortAndUnique) {
  const auto name = [](const std::string& controller) {
    return Controllers::hook_name(ControllerKind::kComposite, controller);
  };
  EXPECT_EQ(name("catset"), "compositecontroller-catset");
  EXPECT_NE(name("a.b"), name("a-b"));
  EXPECT_LE(name(std::string(253, 'x')).size(), 100u);
  EXPECT_NE(name(std::string(253, 'x')), name(std::string(252, 'x')));
}

TEST(LookAtCrd, SaysWhetherTheVersionHasStatus) {
  const auto crd = [](std::string_view version) { return fmt::format(R"({{"spec":{{"versions":[{}]}}}})", version); };
  EXPECT_EQ(look_at_crd(crd(R"({"name":"v1","served":true,"subresources":{"status":{}}})"), "v1"), CrdAnswer::kGood);
  EXPECT_EQ(look_at_crd(crd(R"({"name":"v1","served":true,"subresources":{}})"), "v1"), CrdAnswer::kNoStatus);
  EXPECT_EQ(look_at_crd(crd(R"({"name":"v1","served":true})"), "v1"), CrdAnswer::kNoStatus);
  EXPECT_EQ(look_at_crd(crd(R"({"name":"v1","served":false,"subresources":{"status":{}}})"), "v1"),
            CrdAnswer::kNotServed);
  EXPECT_EQ(look_at_crd(crd(R"({"name":"v2","served":true})"), "v1"), CrdAnswer::kNotServed);
  EXPECT_FALSE(look_at_crd("{}", "v1"));
}

}  // namespace
}  // namespace hookd::metacontroller
