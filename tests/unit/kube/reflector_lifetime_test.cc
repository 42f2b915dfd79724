// A reflector may be destroyed at any moment, also by its own callback (ASan is the judge here).
#include "unit/kube/reflector_fixture.h"

namespace hookd::kube {
namespace {

using namespace std::chrono_literals;
using namespace test;

Reflector::Options pod_options() {
  Reflector::Options options;
  options.type = pod_type();
  return options;
}

class ReflectorLifetime : public ReflectorTest {
 protected:
  // A life with everything in it; `step` is called before each thing that happens.
  void live(const std::function<void()>& step) {
    const std::function<void(Exchange&)> steps[] = {
        [](Exchange& e) { e.data(list_of({pod("a", "1")}, "5", "t").substr(0, 40)); },
        [](Exchange& e) { e.refuse(); },
        [](Exchange& e) { e.reply(list_of({pod("a", "1")}, "5", "t")); },
        [](Exchange& e) { e.reply(list_of({pod("b", "2")}, "5")); },
        [](Exchange& e) { e.head(); },
        [](Exchange& e) { e.data(event_of("ADDED", with_kind(pod("c", "6"))) + bookmark("7")); },
        [](Exchange& e) { e.data(event_of("ADDED", with_kind(pod("d", "8")))); },
        [](Exchange& e) { e.end(); },
        [](Exchange& e) { e.refuse(); },
        [](Exchange& e) { e.head(); },
        [this](Exchange&) { scheduler_.advance(1s); },  // works again
        [](Exchange& e) { e.data("rubbish"); },
        [](Exchange& e) { e.reply_error(404, "404 page not found"); },
        [](Exchange& e) { e.reply(list_of({pod("a", "1")}, "15")); },
        [](Exchange& e) { e.data(event_of("ERROR", status_of(410, "Expired"))); },
        [](Exchange& e) { e.reply_error(410, ""); },
        [](Exchange& e) { e.reply(list_of({pod("a", "1", "other")}, "25")); },
        [this](Exchange&) { scheduler_.advance(Reflector::kHeadTimeout); },
        [](Exchange& e) { e.reply_error(429, "", "1"); },
        [](Exchange& e) { e.data(bookmark("26")); },
        [this](Exchange&) { scheduler_.advance(11min); },
    };
    for (const auto& what : steps) {
      step();
      what(last());
      scheduler_.run_posted();
      for (int i = 0; i < 70 && !last().open(); ++i) scheduler_.advance(1s);  // waits for what comes next
    }
    step();
  }
};

TEST_F(ReflectorLifetime, BetweenAnyTwoSteps) {
  int steps = 0;
  start();
  live([&] { ++steps; });
  EXPECT_GE(health().lists, 5U);
  EXPECT_GE(health().watches, 7U);
  for (int end_at = 0; end_at < steps; ++end_at) {
    start();
    int step = 0;
    live([&] {
      if (step++ == end_at) reflector_.reset();
    });
    EXPECT_EQ(api_.open_count(), 0U);
    store_.flush();
  }
}

TEST_F(ReflectorLifetime, InsideItsOwnCallback) {
  const auto run = [&](int end_at) {
    int calls = 0;
    reflector_ = std::make_unique<Reflector>(api_, scheduler_, random_, store_, pod_options(), [&] {
      if (calls++ == end_at) reflector_.reset();
    });
    reflector_->start();
    live([] {});
    return calls;
  };
  const int calls = run(-1);
  EXPECT_GE(calls, 6);
  for (int end_at = 0; end_at < calls; ++end_at) {
    run(end_at);
    EXPECT_EQ(reflector_, nullptr);
    EXPECT_EQ(api_.open_count(), 0U);
    store_.flush();
  }
}

TEST_F(ReflectorLifetime, ItsStoreMayGoWhileChangesAreUntold) {
  auto store = std::make_unique<cache::ObjectStore>(scheduler_, cache::ObjectStore::Options{});
  auto reflector = std::make_unique<Reflector>(api_, scheduler_, random_, *store, pod_options(), nullptr);
  reflector->start();
  last().reply(list_of({pod("a", "1")}, "5"));
  reflector.reset();
  store.reset();
  scheduler_.advance(1h);
  EXPECT_EQ(api_.count(), 2U);
}

}  // namespace
}  // namespace hookd::kube
