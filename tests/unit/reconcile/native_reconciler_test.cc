// What calls every parent at once: in slices, so that no turn of the loop is long.
#include "reconcile/native_reconciler.h"

#include <gmock/gmock.h>

#include "unit/support/hook_world.h"

namespace hookd::reconcile {
namespace {

constexpr size_t kParents = NativeReconciler::kWaveSlice * 2 + 200;

class NativeReconcilerTest : public testing::Test, protected test::HookWorld {
 protected:
  NativeReconcilerTest() {
    for (const auto& type : {widgets, test::pods()}) cluster.serve(type);
    auto made = std::make_shared<hook::Hook>();
    made->name = "h";
    hook::Reconcile& rule = made->reconcile.emplace();
    rule.parent.api_version = "x.io/v1";
    rule.parent.kind = "Widget";
    rule.sources.push_back({"s", nullptr});
    rule.related.emplace_back().name = "r";
    rule.related.back().api_version = "v1";
    rule.related.back().kind = "Pod";
    for (size_t i = 0; i < kParents; ++i)
      cluster.put(widgets, test::object_json(widgets, "a", fmt::format("w{}", i), fmt::format("u{}", i)));
    hook::ReconcilerServices services{scheduler, random,  pool,    discovery, cluster, applier.events(),
                                      metrics,   nullptr, callers, "",        false,   false};
    services.emit = [this](const std::string& key, const hook::Event& event) {
      ++emitted;
      last_causes = event.causes;
      keys.insert(key);
    };
    reconciler = std::make_unique<NativeReconciler>(made, std::move(services));
    reconciler->start();
    scheduler.advance(std::chrono::seconds(1));
    EXPECT_EQ(keys.size(), kParents);
    forget();
  }
  void source() {
    hook::Event event;
    event.type = hook::Event::Type::kSource;
    event.binding = "s";
    event.ticket = ticket;
    reconciler->source_event(event);
  }
  void forget() {
    emitted = 0;
    keys.clear();
  }

  const kube::ResourceType widgets = test::make_type("x.io", "Widget", "widgets");
  hook::CallerServices callers{scheduler, random, launcher, nullptr, metrics};
  std::shared_ptr<int> ticket = std::make_shared<int>(1);
  size_t emitted = 0;
  std::set<std::string> keys;
  std::vector<hook::ReconcileCause> last_causes;
  std::unique_ptr<NativeReconciler> reconciler;
};

TEST_F(NativeReconcilerTest, ASourceThatMeansAllParentsCallsThemInSlices) {
  source();
  EXPECT_EQ(emitted, NativeReconciler::kWaveSlice);
  EXPECT_FALSE(reconciler->idle());
  EXPECT_GT(ticket.use_count(), 1) << "the source is held until all were called";
  scheduler.advance(Duration::zero());
  EXPECT_EQ(emitted, kParents);
  EXPECT_EQ(keys.size(), kParents);
  EXPECT_TRUE(reconciler->idle());
  EXPECT_EQ(ticket.use_count(), 1);
}

TEST_F(NativeReconcilerTest, WhatComesWhileAllAreCalledIsOneMoreRound) {
  source();
  source();
  cluster.put(test::pods(), test::object_json(test::pods(), "a", "p", "u-p"));
  source();
  scheduler.advance(Duration::zero());
  EXPECT_EQ(emitted, 2 * kParents);
  EXPECT_EQ(last_causes.size(), 2u) << "of the source, and of the Pod";
}

TEST_F(NativeReconcilerTest, WhoHandsOverMeanwhileCallsTheRestAtOnce) {
  source();
  reconciler->hand_over();
  EXPECT_EQ(keys.size(), kParents);
  EXPECT_EQ(ticket.use_count(), 1);
}

}  // namespace
}  // namespace hookd::reconcile
