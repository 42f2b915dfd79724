#include "reconcile/followed_kind.h"

#include "unit/reconcile/follow_world.h"
#include "unit/support/log_tap.h"

namespace hookd::reconcile {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(LabelsOf, ReadsWhatIsThere) {
  EXPECT_THAT(labels_of(R"({"metadata":{"labels":{"a":"1","b":"\u0078"}}})"),
              ElementsAre(testing::Pair("a", "1"), testing::Pair("b", "x")));
  for (const char* none : {"", "{}", R"({"metadata":{"labels":null}})", R"({"metadata":{"labels":{}}})", R"([1])"})
    EXPECT_THAT(labels_of(none), IsEmpty()) << none;
}

class FollowedKindTest : public FollowWorld {
 protected:
  void make(FollowedKind::Selection selection) {
    kind =
        std::make_unique<FollowedKind>(pool, std::move(selection),
                                       FollowedKind::Hear{[this](const std::string& key, const cache::Change& change,
                                                                 std::string_view text) { heard(key, change, text); },
                                                          [this] { ++readies; }});
    kind->start();
    settle();
  }
  // Follows what is told, and complains where it does not fit.
  void heard(const std::string& key, const cache::Change& change, std::string_view text) {
    using Type = cache::Change::Type;
    const auto known = told.find(key);
    if (key != change.object->key()) complaints.push_back(key + " is not the object's key");
    if (change.type == Type::kDeleted) {
      if (known == told.end()) return complaints.push_back(key + " is deleted, but was not there");
      if (!change.old || change.old->uid != change.object->uid) complaints.push_back(key + ": deleted is another");
      if (kind->find(key)) complaints.push_back(key + " is deleted and found");
      told.erase(known);
      return;
    }
    if ((known == told.end()) != (change.type == Type::kAdded)) complaints.push_back(key + ": wrong type");
    if (known != told.end() && known->second->uid != change.object->uid) complaints.push_back(key + ": uid changes");
    if (known != told.end() && known->second->resource_version == change.object->resource_version)
      complaints.push_back(key + " did not change");
    if (kind->find(key) != change.object) complaints.push_back(key + " is not found");
    if (text != change.object->text.unpack()) complaints.push_back(key + ": another text");
    told[key] = change.object;
    ++changes;
  }

  std::unique_ptr<FollowedKind> kind;
  std::map<std::string, cache::ObjectPtr> told;
  std::vector<std::string> complaints;
  int readies = 0, changes = 0;
};

TEST_F(FollowedKindTest, WhatComesBackAsItWasIsNoChange) {
  put(gadgets(), "a", "x", "1");
  make({"x.io/v1", "Gadget", {}, ""});
  EXPECT_EQ(changes, 1);
  // The type leaves discovery, but its objects live on (an aggregated server that is away).
  const std::string text = kind->find("a/x")->text.unpack();
  unserve(gadgets());
  EXPECT_FALSE(kind->ready());
  EXPECT_EQ(told.size(), 1u);
  cluster.put_back(gadgets(), text);
  cluster.serve(gadgets());
  settle(2min);
  EXPECT_TRUE(kind->ready());
  EXPECT_EQ(changes, 1);
  EXPECT_THAT(complaints, IsEmpty());
}

// Objects, relists, the kind and namespaces come and go: what was told adds up to what there is.
TEST_F(FollowedKindTest, WhatIsToldAddsUpWhateverHappens) {
  test::LogTap tap;
  size_t total = 0;
  int held = 0;
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(seed);
    SeededRandom dice_of(seed);
    const auto dice = [&](uint64_t sides) { return dice_of.bits() % sides; };
    FollowWorldOf world;
    told.clear();
    const bool by_label = seed % 3 == 0, by_name = seed % 3 == 1;
    FollowedKind::Selection selection{"x.io/v1", "Gadget", {}, ""};
    if (by_label) selection.namespaces.label_selector = *cache::LabelSelector::parse("on=1");
    if (by_name) selection.namespaces.names = {"n0", "n1"};
    kind =
        std::make_unique<FollowedKind>(world.pool, selection,
                                       FollowedKind::Hear{[this](const std::string& key, const cache::Change& change,
                                                                 std::string_view text) { heard(key, change, text); },
                                                          [] {}});
    kind->start();
    std::map<std::string, std::string> truth;  // key -> uid
    std::set<std::string> on;
    bool served = true;
    const std::vector<std::string> paths = {"", "n0", "n1"};
    for (int i = 0; i < 300; ++i) {
      const std::string ns = fmt::format("n{}", dice(3)), name = fmt::format("o{}", dice(6)), key = ns + "/" + name;
      const uint64_t what = dice(20);
      if (what == 0) {
        served ? world.cluster.unserve("gadgets") : world.cluster.serve(gadgets());
        served = !served;
        if (!served) truth.clear();
      } else if (what == 1) {
        for (const std::string& path : paths) world.cluster.cut(gadgets().collection_path(path));
      } else if (what == 2) {
        const bool now = on.erase(ns) == 0;
        if (now) on.insert(ns);
        world.cluster.put(test::namespaces(), test::object_json(test::namespaces(), "", ns, ns,
                                                                fmt::format(R"("labels":{{"on":"{}"}})", now ? 1 : 0)));
      } else if (what < 7 && served) {
        if (truth.erase(key) > 0) world.cluster.remove(gadgets(), ns, name);
      } else if (served) {
        const std::string uid = dice(4) == 0 || !truth.contains(key) ? fmt::format("u{}", i) : truth[key];
        world.cluster.put(gadgets(), test::object_json(gadgets(), ns, name, uid));
        truth[key] = uid;
      }
      if (dice(3) == 0) world.scheduler.advance(std::chrono::seconds(dice(40)));
      if (!kind->type() || kind->ready() || told.empty()) continue;
      held += kind->informers().front()->type() ? 0 : 1;
    }
    if (!served) world.cluster.serve(gadgets());
    world.scheduler.advance(5min);
    EXPECT_TRUE(kind->ready());
    // What the informers know is the truth: whether that is what the server has is not the matter here.
    truth.clear();
    for (const auto& informer : kind->informers()) {
      if (informer->key().kind != "Gadget") continue;
      informer->store().replay([&](const cache::Change& change, std::string_view) {
        if (!by_label || on.contains(change.object->ns)) truth[change.object->key()] = change.object->uid;
      });
    }
    total += truth.size();
    std::map<std::string, std::string> known;
    for (const auto& [key, object] : told) known[key] = object->uid;
    EXPECT_EQ(known, truth);
    EXPECT_EQ(kind->objects().size(), truth.size());
    ASSERT_THAT(complaints, IsEmpty());
    kind.reset();
  }
  EXPECT_GT(total, 50u);
  EXPECT_GT(held, 20);  // moments in which the kind was gone and its objects were still known
}

}  // namespace
}  // namespace hookd::reconcile
