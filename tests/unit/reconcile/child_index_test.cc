#include "reconcile/child_index.h"

#include "unit/reconcile/follow_world.h"

namespace hookd::reconcile {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class ChildIndexTest : public FollowWorld {
 protected:
  void start(std::vector<std::string> namespaces = {}, const char* kind = "Pod") {
    index = std::make_unique<ChildIndex>(
        pool, ChildIndex::Selection{kind == std::string("Pod") ? "v1" : "x.io/v1", kind, std::move(namespaces), ""},
        [this](const ChildChange& change) { heard(change); }, [this] { ++readies; });
    index->start();
    settle();
  }
  // "+a/x o=p1 was=p2"
  void heard(const ChildChange& told) {
    const auto& object = *told.change.object;
    using Type = cache::Change::Type;
    std::string line = told.change.type == Type::kAdded ? "+" : told.change.type == Type::kDeleted ? "-" : "~";
    line += object.key();
    if (told.owner) line += " o=" + told.owner->uid;
    if (told.before) line += " was=" + told.before->uid;
    if (told.change.final_state_unknown) line += " unseen";
    const auto known = index->find(object.ns, object.name);
    if (told.change.type == Type::kDeleted ? known != nullptr : known != told.change.object) line += " NOT TAKEN IN";
    log.push_back(line);
  }
  std::vector<std::string> taken() {
    settle();
    return std::exchange(log, {});
  }

  std::unique_ptr<ChildIndex> index;
  std::vector<std::string> log;
  int readies = 0;
};

TEST_F(ChildIndexTest, FindsChildrenByOwnerAndOrphansByNamespace) {
  put(test::pods(), "a", "z", "1", owner("p1"));
  put(test::pods(), "a", "b", "2", owner("p1"));
  put(test::pods(), "b", "c", "3", owner("p2"));
  put(test::pods(), "a", "free", "4");
  put(test::pods(), "b", "loose", "5", owner("p1", "p", false));  // owned, but not controlled
  start();
  EXPECT_TRUE(index->ready());
  EXPECT_GT(readies, 0);
  EXPECT_EQ(index->type()->kind, "Pod");
  EXPECT_THAT(keys(index->owned_by("p1")), ElementsAre("a/b", "a/z"));
  EXPECT_THAT(keys(index->owned_by("p2")), ElementsAre("b/c"));
  EXPECT_THAT(index->owned_by("nobody"), IsEmpty());
  EXPECT_THAT(keys(index->orphans("a")), ElementsAre("a/free"));
  EXPECT_THAT(keys(index->orphans("")), ElementsAre("a/free", "b/loose"));
  EXPECT_EQ(index->owner_of("a", "b")->uid, "p1");
  EXPECT_FALSE(index->owner_of("a", "free"));
  EXPECT_EQ(index->find("b", "loose")->uid, "5");
  EXPECT_EQ(index->find("b", "nothing"), nullptr);
  EXPECT_EQ(index->size(), 5u);
  EXPECT_EQ(index->owners(), 2u);
}

TEST_F(ChildIndexTest, TellsOldAndNewOwnerOfEveryChange) {
  start();
  put(test::pods(), "a", "x", "1", owner("p1"));
  EXPECT_THAT(taken(), ElementsAre("+a/x o=p1"));
  put(test::pods(), "a", "x", "1", owner("p1"), R"("spec":{"n":1})");
  EXPECT_THAT(taken(), ElementsAre("~a/x o=p1 was=p1"));
  put(test::pods(), "a", "x", "1");  // released
  EXPECT_THAT(taken(), ElementsAre("~a/x was=p1"));
  EXPECT_THAT(keys(index->orphans("a")), ElementsAre("a/x"));
  EXPECT_THAT(index->owned_by("p1"), IsEmpty());
  EXPECT_EQ(index->owners(), 0u);
  put(test::pods(), "a", "x", "1", owner("p2"));  // adopted
  EXPECT_THAT(taken(), ElementsAre("~a/x o=p2"));
  EXPECT_THAT(index->orphans("a"), IsEmpty());
  put(test::pods(), "a", "x", "1", owner("p3"));
  EXPECT_THAT(taken(), ElementsAre("~a/x o=p3 was=p2"));
  remove(test::pods(), "a", "x");
  EXPECT_THAT(taken(), ElementsAre("-a/x o=p3 was=p3"));
  EXPECT_EQ(index->size(), 0u);
  EXPECT_EQ(index->owners(), 0u);
}

TEST_F(ChildIndexTest, ANewUidUnderTheSameNameIsAnotherChild) {
  put(test::pods(), "a", "x", "1", owner("p1"));
  start();
  taken();
  put(test::pods(), "a", "x", "2", owner("p2"));
  EXPECT_THAT(taken(), ElementsAre("-a/x o=p1 was=p1 unseen", "+a/x o=p2"));
  EXPECT_EQ(index->find("a", "x")->uid, "2");
}

TEST_F(ChildIndexTest, ARelistThatBringsNothingNewCallsNobody) {
  put(test::pods(), "a", "x", "1", owner("p1"));
  put(test::pods(), "a", "y", "2");
  start();
  taken();
  unseen(test::pods(), [] {});
  EXPECT_GE(cluster.lists("/api/v1/pods"), 2u);
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(ChildIndexTest, WhatWentUnseenIsToldWithItsLastOwner) {
  put(test::pods(), "a", "x", "1", owner("p1"));
  put(test::pods(), "a", "y", "2", owner("p1"));
  start();
  taken();
  unseen(test::pods(), [&] { remove(test::pods(), "a", "x"); });
  EXPECT_THAT(taken(), ElementsAre("-a/x o=p1 was=p1 unseen"));
  EXPECT_THAT(keys(index->owned_by("p1")), ElementsAre("a/y"));
}

TEST_F(ChildIndexTest, NamedNamespacesAreStreamsOfTheirOwn) {
  put(test::pods(), "a", "x", "1", owner("p1"));
  put(test::pods(), "b", "x", "2", owner("p1"));
  put(test::pods(), "c", "x", "3", owner("p1"));
  cluster.hold("/api/v1/namespaces/b/pods");
  start({"b", "a", "a"});
  EXPECT_FALSE(index->ready());
  EXPECT_EQ(index->informers().size(), 2u);
  cluster.release("/api/v1/namespaces/b/pods");
  settle();
  EXPECT_TRUE(index->ready());
  EXPECT_THAT(keys(index->owned_by("p1")), ElementsAre("a/x", "b/x"));
  EXPECT_EQ(cluster.lists("/api/v1/pods"), 0u);
}

TEST_F(ChildIndexTest, ALateOneOfASharedInformerKnowsAllAtOnce) {
  put(test::pods(), "a", "x", "1", owner("p1"));
  start();
  int heard = 0;
  ChildIndex late(pool, {"v1", "Pod", {}, ""}, [&](const ChildChange&) { ++heard; }, [] {});
  late.start();
  EXPECT_TRUE(late.ready());
  EXPECT_EQ(heard, 1);
  EXPECT_EQ(late.find("a", "x"), index->find("a", "x"));  // one object in memory
  EXPECT_EQ(cluster.lists("/api/v1/pods"), 1u);
}

// ---------------------------------------------------------------- a kind that vanishes

TEST_F(ChildIndexTest, AKindThatVanishesIsNeverAnEmptyList) {
  put(gadgets(), "a", "x", "1", owner("p1"));
  put(gadgets(), "a", "y", "2");
  start({}, "Gadget");
  taken();
  EXPECT_TRUE(index->ready());
  unserve(gadgets());
  EXPECT_FALSE(index->ready());
  EXPECT_TRUE(index->error());
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_THAT(keys(index->owned_by("p1")), ElementsAre("a/x"));  // the last that is known
  EXPECT_EQ(index->type()->kind, "Gadget");
}

TEST_F(ChildIndexTest, WhenItIsBackWhatIsGoneIsTold) {
  put(gadgets(), "a", "kept", "1", owner("p1"));
  put(gadgets(), "a", "lost", "2", owner("p2"));
  put(gadgets(), "a", "new", "3", owner("p3"));
  start({}, "Gadget");
  taken();
  unserve(gadgets());
  const int before = readies;
  put(gadgets(), "a", "new", "4", owner("p4"));
  cluster.serve(gadgets());
  settle(2min);
  EXPECT_TRUE(index->ready());
  EXPECT_FALSE(index->error());
  EXPECT_GT(readies, before);
  EXPECT_THAT(taken(), ElementsAre("-a/new o=p3 was=p3 unseen", "+a/new o=p4", "-a/kept o=p1 was=p1 unseen",
                                   "-a/lost o=p2 was=p2 unseen"));
  EXPECT_EQ(index->size(), 1u);
  put(gadgets(), "a", "new", "4", owner("p5"));  // and it follows
  EXPECT_THAT(taken(), ElementsAre("~a/new o=p5 was=p4"));
}

TEST_F(ChildIndexTest, AKindThatIsNotServedYetIsNotReady) {
  cluster.unserve("gadgets");
  start({}, "Gadget");
  settle(1min);
  EXPECT_FALSE(index->ready());
  EXPECT_EQ(index->type(), nullptr);
  EXPECT_TRUE(index->error());
  put(gadgets(), "a", "x", "1", owner("p1"));
  cluster.serve(gadgets());
  settle(1min);
  EXPECT_TRUE(index->ready());
  EXPECT_THAT(taken(), ElementsAre("+a/x o=p1"));
}

TEST_F(ChildIndexTest, StopKeepsWhatIsKnown) {
  put(test::pods(), "a", "x", "1", owner("p1"));
  start();
  taken();
  index->stop();
  put(test::pods(), "a", "y", "2", owner("p1"));
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_THAT(keys(index->owned_by("p1")), ElementsAre("a/x"));
}

// Random owners, namesakes and deletions: the index always says what the objects' own texts say.
TEST_F(ChildIndexTest, IsAlwaysWhatTheTextsSay) {
  start();
  std::map<std::string, std::string> truth;  // key -> owner, "" = none
  for (int i = 0; i < 3000; ++i) {
    const std::string name = fmt::format("c{}", random.bits() % 40), ns = random.bits() % 2 ? "a" : "a-b";
    const std::string key = ns + "/" + name;
    const uint64_t what = random.bits() % 10;
    if (what < 2) {
      if (truth.erase(key) > 0) remove(test::pods(), ns, name);
    } else {
      const std::string of = what < 4 ? "" : fmt::format("p{}", random.bits() % 5);
      const std::string uid = fmt::format("{}-{}", key, what == 4 ? i : 0);
      put(test::pods(), ns, name, uid, of.empty() ? "" : owner(of));
      truth[key] = of;
    }
    if (random.bits() % 7 == 0) settle();
  }
  settle();
  std::map<std::string, std::vector<std::string>> by_owner;
  for (const auto& [key, of] : truth) by_owner[of].push_back(key);
  for (const auto& [of, wanted] : by_owner)
    EXPECT_THAT(keys(of.empty() ? index->orphans("") : index->owned_by(of)), testing::ElementsAreArray(wanted)) << of;
  EXPECT_EQ(index->size(), truth.size());
  for (const std::string& line : log) EXPECT_EQ(line.find("NOT TAKEN IN"), std::string::npos) << line;
}

}  // namespace
}  // namespace hookd::reconcile
