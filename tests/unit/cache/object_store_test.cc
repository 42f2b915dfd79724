// Rules: k8s-client.md R26, R40-R42, R44, R47; T22-T25.
#include "cache/object_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hookd::cache {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

Incoming object(const std::string& name, const std::string& version, const std::string& uid = {},
                const std::string& more = {}) {
  Incoming incoming;
  incoming.ns = "a";
  incoming.name = name;
  incoming.uid = uid.empty() ? "uid-" + name : uid;
  incoming.resource_version = version;
  incoming.text = fmt::format(R"({{"name":"{}","version":"{}"{}}})", name, version, more);
  return incoming;
}

class ObjectStoreTest : public testing::Test {
 protected:
  explicit ObjectStoreTest(bool keep_text = true) : store_(scheduler_, {.keep_text = keep_text}) {
    store_.set_listener([this](const Change& change, std::string_view text) { record(change, text); });
    store_.set_on_drained([this] { ++drained_; });
  }
  void record(const Change& change, std::string_view text) {
    const char* type = change.type == Change::Type::kAdded      ? "Added"
                       : change.type == Change::Type::kModified ? "Modified"
                                                                : "Deleted";
    told_.push_back(fmt::format("{}{} {}@{}{}{}", change.initial ? "initial " : "", type, change.object->name,
                                change.object->resource_version, change.final_state_unknown ? "?" : "",
                                change.old ? " was " + change.old->resource_version : ""));
    texts_.emplace_back(text);
  }
  void replace(std::vector<Incoming> objects) {
    store_.begin_replace();
    for (auto& one : objects) store_.stage(std::move(one));
    store_.finish_replace();
  }
  std::vector<std::string> told() {
    scheduler_.run_posted();
    return std::exchange(told_, {});
  }

  ManualScheduler scheduler_;
  ObjectStore store_;
  std::vector<std::string> told_, texts_;
  int drained_ = 0;
};

TEST_F(ObjectStoreTest, TheFirstListIsInitial) {  // R44
  replace({object("b", "2"), object("a", "1")});
  EXPECT_THAT(told_, IsEmpty());  // never from inside the call
  EXPECT_EQ(drained_, 0);
  EXPECT_FALSE(store_.drained());
  EXPECT_THAT(told(), ElementsAre("initial Added a@1", "initial Added b@2"));
  EXPECT_EQ(drained_, 1);
  EXPECT_TRUE(store_.drained());
  EXPECT_EQ(store_.find("a/b")->text.unpack(), R"({"name":"b","version":"2"})");
  EXPECT_THAT(texts_, ElementsAre(R"({"name":"a","version":"1"})", R"({"name":"b","version":"2"})"));
}

TEST_F(ObjectStoreTest, AnEmptyFirstListIsToldAsDrained) {
  replace({});
  EXPECT_EQ(drained_, 0);
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_EQ(drained_, 1);
}

TEST_F(ObjectStoreTest, ALaterListIsTheDifferenceDeletionsFirst) {  // R40, R42, T22, T24
  replace({object("a", "1"), object("b", "2"), object("m", "3")});
  told();
  replace({object("b", "2"), object("m", "4"), object("c", "5")});
  EXPECT_THAT(told(), ElementsAre("Deleted a@1? was 1", "Added c@5", "Modified m@4 was 3"));
  EXPECT_EQ(store_.size(), 3U);
}

TEST_F(ObjectStoreTest, TheSameListAgainIsNoChange) {  // T24
  replace({object("a", "1")});
  told();
  const auto before = store_.find("a/a");
  replace({object("a", "1")});
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_EQ(store_.find("a/a"), before);  // shared, not a second copy
}

TEST_F(ObjectStoreTest, ANewUidIsADeletionAndAnAddition) {  // R41, T23
  replace({object("a", "1", "old")});
  told();
  replace({object("a", "9", "new")});
  EXPECT_THAT(told(), ElementsAre("Deleted a@1? was 1", "Added a@9"));
  store_.upsert(object("a", "12", "newer"));
  EXPECT_THAT(told(), ElementsAre("Deleted a@9? was 9", "Added a@12"));
  EXPECT_EQ(store_.find("a/a")->uid, "newer");
}

TEST_F(ObjectStoreTest, TheStoreDecidesWhatAnEventIs) {  // R26
  store_.upsert(object("a", "1"));
  store_.upsert(object("a", "2"));
  store_.upsert(object("a", "2"));  // R42
  store_.remove(object("unknown", "3"));
  store_.remove(object("a", "4"));
  store_.remove(object("a", "4"));
  EXPECT_THAT(told(), ElementsAre("Added a@1", "Modified a@2 was 1", "Deleted a@4 was 2"));
  EXPECT_EQ(texts_.back(), R"({"name":"a","version":"4"})");  // R25: the last state
  EXPECT_EQ(store_.size(), 0U);
}

TEST_F(ObjectStoreTest, ADeletionOfANamesakeSaysThatTheOneWeKnewIsGone) {
  store_.upsert(object("a", "1", "old"));
  store_.remove(object("a", "5", "new"));
  EXPECT_THAT(told(), ElementsAre("Added a@1", "Deleted a@1? was 1"));
}

TEST_F(ObjectStoreTest, ADeletionStillUntoldIsToldOnce) {  // T25, R40
  store_.upsert(object("a", "1"));
  told();
  store_.remove(object("a", "2"));
  replace({});
  EXPECT_THAT(told(), ElementsAre("Deleted a@2 was 1"));
}

TEST_F(ObjectStoreTest, AnAbandonedListChangesNothing) {  // R14
  replace({object("a", "1")});
  told();
  store_.begin_replace();
  store_.stage(object("b", "2"));
  EXPECT_EQ(store_.staged(), 1U);
  store_.abandon_replace();
  EXPECT_EQ(store_.staged(), 0U);
  EXPECT_THAT(told(), IsEmpty());
  EXPECT_EQ(store_.size(), 1U);
}

TEST_F(ObjectStoreTest, AnObjectTwiceInAListIsTheLastOne) {  // pages of an inconsistent continuation
  replace({object("a", "1"), object("a", "2")});
  EXPECT_THAT(told(), ElementsAre("initial Added a@2"));
}

TEST_F(ObjectStoreTest, ClearDeletesAllAndForgetsAListUnderWay) {  // R47
  replace({object("a", "1"), object("b", "2")});
  told();
  store_.begin_replace();
  store_.stage(object("c", "3"));
  store_.clear();
  EXPECT_THAT(told(), ElementsAre("Deleted a@1? was 1", "Deleted b@2? was 2"));
  EXPECT_EQ(store_.size(), 0U);
  EXPECT_EQ(store_.staged(), 0U);
  EXPECT_EQ(store_.stored_bytes(), 0U);
  EXPECT_EQ(store_.raw_bytes(), 0U);
}

TEST_F(ObjectStoreTest, OrderIsKeptPerObject) {
  for (int i = 1; i <= 100; ++i) store_.upsert(object("p" + std::to_string(i % 3), std::to_string(i)));
  std::map<std::string, int> last;
  for (const auto& line : told()) {
    const std::string name = line.substr(line.find(' ') + 1, 2);
    const int version = std::stoi(line.substr(line.find('@') + 1));
    EXPECT_GT(version, last[name]);
    last[name] = version;
  }
  EXPECT_EQ(last["p0"], 99);
}

TEST_F(ObjectStoreTest, ReplayTellsOneListenerWhatIsThere) {
  replace({object("a", "1"), object("b", "2")});
  told();
  texts_.clear();
  store_.replay([this](const Change& change, std::string_view text) {
    record(change, text);
    store_.remove(object("b", "3"));  // it may change the store
  });
  EXPECT_THAT(std::exchange(told_, {}), ElementsAre("initial Added a@1", "initial Added b@2"));
  EXPECT_THAT(told(), ElementsAre("Deleted b@3 was 2"));
}

TEST_F(ObjectStoreTest, FlushTellsNowAndNotTwice) {
  store_.upsert(object("a", "1"));
  store_.flush();
  EXPECT_THAT(std::exchange(told_, {}), ElementsAre("Added a@1"));
  EXPECT_EQ(drained_, 1);
  EXPECT_THAT(told(), IsEmpty());
  store_.set_listener([this](const Change& change, std::string_view text) {
    store_.flush();  // from a listener: nothing
    record(change, text);
  });
  store_.upsert(object("b", "2"));
  store_.upsert(object("c", "3"));
  EXPECT_THAT(told(), ElementsAre("Added b@2", "Added c@3"));
}

TEST_F(ObjectStoreTest, ChangesMadeByAListenerFollow) {
  store_.set_listener([this](const Change& change, std::string_view text) {
    record(change, text);
    if (change.type == Change::Type::kAdded) store_.remove(object(change.object->name, "9"));
  });
  replace({object("a", "1"), object("b", "1")});
  EXPECT_THAT(told(), ElementsAre("initial Added a@1", "initial Added b@1", "Deleted a@9 was 1", "Deleted b@9 was 1"));
}

// Time passes while a task runs.
class SlowScheduler final : public Scheduler {
 public:
  SteadyTime now() const override { return now_; }
  WallTime wall_now() const override { return {}; }
  void post(Task task) override { posted_.push_back(std::move(task)); }
  void pass(Duration duration) { now_ += duration; }
  // Runs one posted task; false if there is none.
  bool run_one() {
    if (posted_.empty()) return false;
    Task task = std::move(posted_.front());
    posted_.pop_front();
    task();
    return true;
  }

 private:
  void earliest_changed() override {}
  SteadyTime now_{};
  std::deque<Task> posted_;
};

TEST(ObjectStore, ALongListIsToldInSlices) {  // a handler may take 5 ms at most
  SlowScheduler scheduler;
  ObjectStore store(scheduler, {});
  int told = 0, drained = 0;
  store.set_listener([&](const Change&, std::string_view) {
    ++told;
    scheduler.pass(1ms);
  });
  store.set_on_drained([&] { ++drained; });
  store.begin_replace();
  for (int i = 0; i < 30; ++i) store.stage(object(fmt::format("p{:02}", i), "1"));
  store.finish_replace();
  int slices = 0;
  for (SteadyTime before = scheduler.now(); scheduler.run_one(); before = scheduler.now(), ++slices)
    EXPECT_LE(scheduler.now() - before, 3ms);
  EXPECT_EQ(told, 30);
  EXPECT_EQ(drained, 1);
  EXPECT_GE(slices, 10);
}

TEST_F(ObjectStoreTest, MayBeDestroyedByItsListenerOrBeforeItIsTold) {
  auto store = std::make_unique<ObjectStore>(scheduler_, ObjectStore::Options{});
  const std::string kept(100, 'x');
  int calls = 0;
  store->set_listener([&, kept](const Change&, std::string_view) {
    ++calls;
    store.reset();
    EXPECT_EQ(kept, std::string(100, 'x'));
  });
  store->upsert(object("a", "1"));
  store->upsert(object("b", "1"));
  scheduler_.run_posted();
  EXPECT_EQ(calls, 1);
  store = std::make_unique<ObjectStore>(scheduler_, ObjectStore::Options{});
  store->set_on_drained([&] { store.reset(); });
  store->upsert(object("a", "1"));
  scheduler_.run_posted();
  EXPECT_EQ(store, nullptr);
  store = std::make_unique<ObjectStore>(scheduler_, ObjectStore::Options{});
  store->upsert(object("a", "1"));
  store.reset();
  scheduler_.run_posted();
}

TEST_F(ObjectStoreTest, BytesAreCountedUpAndDown) {
  std::vector<Incoming> many;
  for (int i = 0; i < 100; ++i)
    many.push_back(object("p" + std::to_string(i), "1", "", ",\"pad\":\"" + std::string(1000, 'x') + "\""));
  replace(std::move(many));
  EXPECT_GT(store_.raw_bytes(), 100'000U);
  EXPECT_LT(store_.stored_bytes(), store_.raw_bytes());
  for (int i = 0; i < 100; ++i) store_.upsert(object("p" + std::to_string(i), "2"));
  for (int i = 0; i < 100; ++i) store_.remove(object("p" + std::to_string(i), "3"));
  EXPECT_EQ(store_.raw_bytes(), 0U);
  EXPECT_EQ(store_.stored_bytes(), 0U);
}

class IdentityStoreTest : public ObjectStoreTest {
 protected:
  IdentityStoreTest() : ObjectStoreTest(false) {}
};

TEST_F(IdentityStoreTest, TextsAreToldButNotKept) {
  replace({object("a", "1")});
  store_.upsert(object("b", "2"));
  EXPECT_THAT(told(), ElementsAre("initial Added a@1", "Added b@2"));
  EXPECT_THAT(texts_, ElementsAre(R"({"name":"a","version":"1"})", R"({"name":"b","version":"2"})"));
  EXPECT_EQ(store_.stored_bytes(), 0U);
  EXPECT_TRUE(store_.find("a/a")->text.empty());
  EXPECT_EQ(store_.find("a/a")->uid, "uid-a");
  replace({object("a", "1"), object("b", "3")});
  EXPECT_THAT(told(), ElementsAre("Modified b@3 was 2"));
  EXPECT_EQ(texts_.back(), R"({"name":"b","version":"3"})");
  EXPECT_EQ(store_.stored_bytes(), 0U);
}

TEST_F(IdentityStoreTest, ADeletionWithoutItsLastStateHasNoText) {
  replace({object("a", "1")});
  told();
  replace({});
  EXPECT_THAT(told(), ElementsAre("Deleted a@1? was 1"));
  EXPECT_EQ(texts_.back(), "");
}

}  // namespace
}  // namespace hookd::cache
