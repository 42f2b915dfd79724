// Random changes, failures, timeouts, exits 75 and 65, failing operations, requeues, batches, pauses, late, new
// versions and restarts, over many seeds: per object never two calls at once, never back in time, and in the end the
// hook knows every object's last state.
#include "app/hook_unit.h"

#include <gmock/gmock.h>

#include "base/json_read.h"
#include "state/memory_store.h"
#include "unit/support/hook_world.h"
#include "unit/support/log_tap.h"

namespace hookd::app {
namespace {

using namespace std::chrono_literals;
using Started = std::shared_ptr<test::FakeLauncher::Started>;

struct Trial : test::HookWorld {
  explicit Trial(uint64_t seed) : HookWorld(seed, 3) {
    options.default_namespace = "a";
    cluster.serve(test::pods());
    launcher.script = [this](const Started& child) { called(child); };
    cluster.intercept = [this](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
      if (request.method != "PATCH" || healthy || dice(2) == 0) return std::nullopt;
      if (dice(3) == 0) return fail(Error{Errc::kInvalid, "no such label", 422, "Invalid", {}});
      return fail(Error{Errc::kUnavailable, "etcd is away", 503, "ServiceUnavailable", {}});
    };
    version();
    start({});
  }
  uint64_t dice(uint64_t sides) { return random.bits() % sides; }
  Duration up_to(int milliseconds) { return std::chrono::milliseconds(dice(static_cast<uint64_t>(milliseconds))); }
  void complain(std::string what) { complaints.push_back(std::move(what)); }

  // A version of the hook: what matters for the order of calls is chosen anew.
  void version() {
    auto next = std::make_shared<hook::Hook>();
    next->name = "h";
    next->run.command = {"/h.sh"};
    next->concurrency = static_cast<int>(1 + dice(4));
    next->batch.max = dice(2) == 0 ? 1 : static_cast<int>(1 + dice(6));
    if (next->batch.max > 1 && dice(2) == 0) next->batch.window = up_to(3000);
    next->retry.attempts = dice(2) == 0 ? 0 : 3;
    next->retry.max = 1min;
    auto& watch = next->watches.emplace_back();
    watch.name = "pods";
    watch.kind = "Pod";
    watch.coalesce = dice(2) == 0;
    hook = std::move(next);
  }
  void start(Inheritance inheritance) {
    auto next = std::make_unique<HookUnit>(
        hook,
        UnitServices{
            {scheduler, random, launcher, applier, metrics, options, nullptr, &store}, pool, slots, nullptr, false});
    next->start(std::move(inheritance));
    unit = std::move(next);
  }

  // ---- the hook
  struct Seen {
    std::string name, type;
    int at = 0;  // the change that it tells of
  };
  std::vector<Seen> read(const Started& child) {
    std::vector<Seen> all;
    const auto call = *parse_json(child->read_input());
    for (const auto& event : call.at("events").as_array()) {
      const auto& meta = event.at("object").at("metadata");
      Seen seen{meta.at("name").as_string().c_str(), event.at("type").as_string().c_str(), 0};
      const std::string uid = meta.at("uid").as_string().c_str();
      seen.at = seen.type == "Deleted" ? deleted_at.at(uid) : std::stoi(meta.at("labels").at("n").as_string().c_str());
      all.push_back(std::move(seen));
    }
    return all;
  }
  void called(const Started& child) {
    const std::vector<Seen> events = read(child);
    std::set<std::string> names;
    std::map<std::string, int> before = floor;
    if (static_cast<int>(events.size()) > hook->batch.max) complain("a batch is too large");
    for (const Seen& seen : events) {
      names.insert(seen.name);
      const bool is_late = seen.type == "Deleted" && late.contains(seen.name);
      if (seen.at < before[seen.name] && !is_late)
        complain(fmt::format("{} goes back from {} to {}", seen.name, before[seen.name], seen.at));
      before[seen.name] = seen.at;
    }
    for (const std::string& name : names)
      if (running[name]++ > 0) complain(name + " is called twice at once");
    const uint64_t id = ++calls;
    timers[id] = scheduler.after(dice(4) == 0 ? 0s : up_to(4000), [this, id, child, events, names] {
      auto keep = timers.extract(id);
      if (child->over) return;
      for (const std::string& name : names) --running[name];
      end(child, events);
    });
  }
  void end(const Started& child, const std::vector<Seen>& events) {
    const uint64_t fate = healthy ? 0 : dice(12);
    if (fate <= 6) {
      // With operations the call may be made once more: what they do may be refused.
      const bool operations = !healthy && dice(4) == 0;
      for (const Seen& seen : events) {
        told[seen.name] = seen.at;
        heard.insert(seen.at);
        if (!operations) floor[seen.name] = seen.at;
      }
      if (operations)
        child->print(fmt::format(
            R"({{"operation":"Label","apiVersion":"v1","kind":"Pod","namespace":"a","name":"{}","labels":{{"l":"1"}}}})",
            events.front().name));
      if (!healthy && dice(6) == 0) {
        child->print("{\"requeueAfter\":\"7s\"}");
        for (const Seen& seen : events) late.insert(seen.name);
      }
      return child->exit(0);
    }
    if (fate == 7) child->print("{\"operation\":");  // cut short
    if (fate == 8) {
      process::ChildExit exit;
      exit.kind = process::ChildExit::Kind::kTimedOut;
      return child->finish(exit);
    }
    child->exit(fate == 7 ? 0 : fate == 9 ? 75 : fate == 10 && dice(3) == 0 ? 65 : 1);
  }

  // ---- the world
  void step() {
    switch (dice(30)) {
      case 0:
        return unit->pause("test");
      case 1:
      case 2:
        return unit->resume();
      case 3:
        for (const Parked& item : unit->parked()) late.insert(item.events.front().object->name);
        unit->retry("");
        return;
      case 4:
        return dice(3) == 0 ? restart() : reload();
      case 5:
      case 6:
      case 7: {
        const std::string name = "p" + std::to_string(dice(5));
        if (!cluster.has(test::pods(), "a", name)) return;
        deleted_at[uids[name]] = last[name] = ++change;
        deletions.insert(change);
        return cluster.remove(test::pods(), "a", name);
      }
      default: {
        const std::string name = "p" + std::to_string(dice(5));
        last[name] = ++change;
        if (!cluster.has(test::pods(), "a", name)) uids[name] = fmt::format("u{}", change);
        cluster.put(test::pods(), test::object_json(test::pods(), "a", name, uids[name],
                                                    fmt::format(R"("labels":{{"n":"{}"}})", change)));
      }
    }
  }
  // As Engine does it.
  void reload() {
    unit->stop();
    while (unit->running() > 0) scheduler.advance(50ms);
    version();
    auto old = std::move(unit);
    start(old->hand_over());
  }
  void restart() {
    unit.reset();
    running.clear();
    timers.clear();
    // Without `state` nobody tells of what went while the daemon was not there, or was not handled yet.
    for (const auto& [name, at] : last)
      if (!cluster.has(test::pods(), "a", name) && told[name] != at) excused[name] = at;
    version();
    start({});
  }

  void run() {
    for (int i = 0; i < 250 && complaints.empty(); ++i) {
      step();
      scheduler.advance(dice(3) == 0 ? 0s : up_to(1500));
    }
    healthy = true;
    unit->resume();
    for (int i = 0; i < 5; ++i) {
      scheduler.advance(1h);
      for (const Parked& item : unit->parked()) late.insert(item.events.front().object->name);
      unit->retry("");
    }
    scheduler.advance(1h);
    if (!unit->idle()) complain("it does not come to rest");
    if (!unit->parked().empty()) complain("something stays parked");
    for (const auto& [name, at] : last) {
      // Of several incarnations that are gone the order may change where deletions come late.
      const bool gone = !cluster.has(test::pods(), "a", name) && heard.contains(at) && deletions.contains(told[name]);
      if (told[name] != at && excused[name] != at && !gone)
        complain(fmt::format("{} was last told of change {}, not {}", name, told[name], at));
    }
    size_t rows = 0;
    store.each("parked", "", [&](std::string_view, std::string_view) { ++rows; });
    if (rows > 0) complain("parked items stay in the store");
  }

  test::LogTap quiet;
  state::MemoryStore store;
  std::shared_ptr<const hook::Hook> hook;
  std::set<int> heard, deletions;  // changes
  std::map<std::string, int> last, told, floor, excused, running, deleted_at;
  std::map<std::string, std::string> uids;
  std::set<std::string> late;  // names of which a deletion may come late: a parked one, or one asked for again
  std::map<uint64_t, Timer> timers;
  uint64_t calls = 0;
  int change = 0;
  bool healthy = false;
  std::vector<std::string> complaints;
  std::unique_ptr<HookUnit> unit;
};

class HookUnitProperty : public testing::TestWithParam<int> {};

TEST_P(HookUnitProperty, EveryObjectsLastStateIsToldOnceItCanBeAndNeverOutOfOrder) {
  uint64_t calls = 0;
  for (int seed = GetParam() * 25; seed < GetParam() * 25 + 25; ++seed) {
    Trial trial(static_cast<uint64_t>(seed));
    trial.run();
    EXPECT_THAT(trial.complaints, testing::IsEmpty()) << "seed " << seed;
    calls += trial.calls;
    if (HasFailure()) break;
  }
  EXPECT_GT(calls, 25u * 50);
}

INSTANTIATE_TEST_SUITE_P(Seeds, HookUnitProperty, testing::Range(0, 8));

}  // namespace
}  // namespace hookd::app
