#include "hook/native_reconcile.h"

#include <gmock/gmock.h>

#include "base/fd.h"
#include "hook/native_loader.h"

namespace hookd::hook {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::SizeIs;

std::shared_ptr<const Hook> load(const std::string& spec, const std::string& name = "cache",
                                 std::string run = "{command: [sh]}") {
  LoadResult result;
  LoadOptions options;
  options.path = "/usr/bin:/bin";
  load_hook_text("apiVersion: hookd/v1\nkind: Hook\nmetadata: {name: " + name + "}\nspec:\n  run: " + run + "\n" + spec,
                 "/x/hook.yaml", options, result);
  for (const LoadError& error : result.errors) ADD_FAILURE() << error.text();
  return result.hooks.empty() ? std::make_shared<const Hook>() : result.hooks[0];
}

constexpr auto kLeast = "  reconcile: {for: {apiVersion: example.com/v1, kind: Memcached}}\n";

TEST(NativeReconcile, HasTheDefaultsOfTheContract) {
  const auto hook = load(kLeast);
  EXPECT_EQ(hook->concurrency, 5);
  EXPECT_EQ(hook->retry.initial, 5ms);
  EXPECT_EQ(hook->retry.max, 1000s);
  EXPECT_EQ(hook->retry.attempts, 0);
  EXPECT_EQ(hook->batch.max, 1);
  ASSERT_TRUE(hook->reconcile);
  EXPECT_TRUE(hook->reconciles());
  const Reconcile& reconcile = *hook->reconcile;
  EXPECT_EQ(reconcile.parent.api_version, "example.com/v1");
  EXPECT_EQ(reconcile.parent.kind, "Memcached");
  EXPECT_TRUE(reconcile.parent.namespaces.all());
  EXPECT_FALSE(reconcile.parent.label_selector);
  EXPECT_EQ(reconcile.parent.when, nullptr);
  EXPECT_TRUE(reconcile.parent.changed.spec);
  EXPECT_TRUE(reconcile.parent.changed.labels);
  EXPECT_TRUE(reconcile.parent.changed.annotations);
  EXPECT_FALSE(reconcile.parent.changed.status);
  EXPECT_EQ(reconcile.resync, 0s);
  EXPECT_FALSE(reconcile.finalizer);
  EXPECT_EQ(reconcile.finalizer_name, "hookd.dev/cache");
  EXPECT_EQ(reconcile.at_start, Reconcile::AtStart::kAll);
}

TEST(NativeReconcile, WhatIsGivenGoesBeforeTheDefaults) {
  const auto hook = load(std::string(kLeast) + "  concurrency: 2\n  retry: {initial: 1s, attempts: 3}\n");
  EXPECT_EQ(hook->concurrency, 2);
  EXPECT_EQ(hook->retry.initial, 1s);
  EXPECT_EQ(hook->retry.max, 1000s);
  EXPECT_EQ(hook->retry.attempts, 3);
  EXPECT_EQ(load(kLeast, "w", "{command: [sh], mode: worker, callsAtOnce: 3}")->concurrency, 3);
}

TEST(NativeReconcile, FillsEveryField) {
  const std::string file = HOOKD_SOURCE_DIR "/tests/golden/hooks/valid/every-key.yaml";
  LoadResult result;
  load_hook_text(*read_file(file), file, {}, result);
  ASSERT_TRUE(result.errors.empty());
  ASSERT_THAT(result.hooks, SizeIs(3));
  const Hook& hook = *result.hooks[2];
  ASSERT_TRUE(hook.reconcile);
  const Reconcile& reconcile = *hook.reconcile;
  EXPECT_THAT(reconcile.parent.namespaces.names, ElementsAre("a"));
  EXPECT_EQ(reconcile.parent.namespaces.label_selector->to_string(), "app=cache,env");
  EXPECT_EQ(reconcile.parent.label_selector->to_string(), "app=cache,env");
  EXPECT_EQ(reconcile.parent.when->expression(), ".spec.paused != true");
  EXPECT_TRUE(reconcile.parent.changed.status);

  ASSERT_THAT(reconcile.children, SizeIs(5));
  const ChildRule& child = reconcile.children[0];
  EXPECT_EQ(child.api_version, "apps/v1");
  EXPECT_EQ(child.kind, "Deployment");
  EXPECT_THAT(child.namespaces, ElementsAre("a", "b"));
  EXPECT_EQ(child.label_selector->to_string(), "app=cache,env");
  EXPECT_EQ(child.update, ChildRule::Update::kRolling);
  ASSERT_THAT(child.checks, SizeIs(2));
  EXPECT_EQ(child.checks[0].type, "Available");
  EXPECT_EQ(child.checks[0].status, "True");
  EXPECT_EQ(child.checks[0].reason, "MinimumReplicasAvailable");
  EXPECT_FALSE(child.checks[1].status);
  EXPECT_TRUE(child.adopt);
  EXPECT_TRUE(child.release);
  EXPECT_EQ(reconcile.children[1].update, ChildRule::Update::kApply);
  EXPECT_FALSE(reconcile.children[1].adopt);
  EXPECT_FALSE(reconcile.children[1].release);
  EXPECT_EQ(reconcile.children[2].update, ChildRule::Update::kRecreate);
  EXPECT_EQ(reconcile.children[3].update, ChildRule::Update::kOnDelete);
  EXPECT_EQ(reconcile.children[4].update, ChildRule::Update::kRollingRecreate);

  ASSERT_THAT(reconcile.related, SizeIs(2));
  EXPECT_EQ(reconcile.related[0].name, "config");
  EXPECT_THAT(reconcile.related[0].namespaces.names, ElementsAre("a"));
  EXPECT_EQ(reconcile.related[0].label_selector->to_string(), "app=cache,env");
  EXPECT_EQ(reconcile.related[0].map->expression(), ".metadata.annotations.used");
  EXPECT_EQ(reconcile.related[0].select, nullptr);
  EXPECT_EQ(reconcile.related[1].select->expression(), "{\"app\": .metadata.name}");

  ASSERT_THAT(reconcile.sources, SizeIs(2));
  EXPECT_EQ(reconcile.sources[0].source, "repo");
  EXPECT_EQ(reconcile.sources[0].map, nullptr) << "`all` is no jq here";
  EXPECT_EQ(reconcile.sources[1].map->expression(), ".name");
  EXPECT_EQ(reconcile.resync, 10min);
  EXPECT_TRUE(reconcile.finalizer);
  EXPECT_EQ(reconcile.finalizer_name, "example.com/cleanup");
  EXPECT_EQ(reconcile.at_start, Reconcile::AtStart::kChanged);
}

TEST(NativeReconcile, AnEmptyListOfChangesCallsForNone) {
  const auto changed =
      load("  reconcile: {for: {apiVersion: v1, kind: Pod, changed: []}}\n")->reconcile->parent.changed;
  EXPECT_FALSE(changed.spec || changed.labels || changed.annotations || changed.status);
}

TEST(NativeReconcile, ChildrenAreWatchedWhereTheirOwnersCanBe) {
  const auto hook = load(
      "  reconcile:\n    for: {apiVersion: v1, kind: ConfigMap, namespaces: {names: [a, b]}}\n"
      "    children: [{apiVersion: v1, kind: Pod}, {apiVersion: v1, kind: Secret, namespaces: [b]}]\n");
  EXPECT_THAT(hook->reconcile->children.at(0).namespaces, ElementsAre("a", "b"));
  EXPECT_THAT(hook->reconcile->children.at(1).namespaces, ElementsAre("b"));
}

TEST(NativeReconcile, AKindMayOwnItsOwnWhereParentsAreToldApart) {
  load(
      "  reconcile:\n    for: {apiVersion: v1, kind: ConfigMap, labelSelector: role=parent}\n"
      "    children: [{apiVersion: v1, kind: ConfigMap}]\n");
}

TEST(NativeReconcile, TheFinalizerOfALongNameIsCutAndStaysItsOwn) {
  const std::string a = default_finalizer(std::string(62, 'h') + ".one"),
                    b = default_finalizer(std::string(62, 'h') + ".two");
  EXPECT_EQ(a.size(), std::string("hookd.dev/").size() + 63);
  EXPECT_NE(a, b);
  EXPECT_EQ(a, default_finalizer(std::string(62, 'h') + ".one"));
  EXPECT_EQ(default_finalizer(std::string(63, 'h')), "hookd.dev/" + std::string(63, 'h'));
  // The name that it makes is one that `finalizer: NAME` takes.
  EXPECT_EQ(load("  reconcile: {for: {apiVersion: v1, kind: Pod}, finalizer: " + a + "}\n")->reconcile->finalizer_name,
            a);
}

}  // namespace
}  // namespace hookd::hook
