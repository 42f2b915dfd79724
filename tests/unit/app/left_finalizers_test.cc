#include "app/left_finalizers.h"

#include <gmock/gmock.h>

#include "state/memory_store.h"
#include "unit/support/hook_world.h"

namespace hookd::app {
namespace {

using test::HookWorld;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

kube::ResourceType pairs() {
  kube::ResourceType type;
  type.group = "example.com", type.version = "v1", type.kind = "Pair", type.plural = "pairs";
  type.verbs = {"list", "watch", "patch", "get"};
  return type;
}

class LeftFinalizersTest : public testing::Test {
 protected:
  LeftFinalizersTest() {
    world.cluster.keeps_writes = true;
    world.cluster.serve(pairs());
  }

  LeftFinalizers::Parts parts(bool dry_run = false) {
    return {world.cluster, world.discovery, world.scheduler, world.applier, store, dry_run};
  }
  static hook::Hook hook_with(const std::string& name, const std::string& finalizer,
                              const std::string& version = "v1") {
    hook::Hook hook;
    hook.name = name;
    hook.holds = {{finalizer, "example.com/" + version, "Pair"}};
    return hook;
  }
  void put(const std::string& ns, const std::string& name, const std::string& finalizers, bool ends = false) {
    world.cluster.put(
        pairs(), fmt::format(R"({{"apiVersion":"example.com/v1","kind":"Pair","metadata":{{"namespace":"{}",)"
                             R"("name":"{}","uid":"u-{}","finalizers":{}{}}}}})",
                             ns, name, name, finalizers, ends ? R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")" : ""));
  }
  std::string finalizers(const std::string& ns, const std::string& name) {
    return std::string(
        json_raw_at(world.cluster.object(pairs(), ns, name), {"metadata", "finalizers"}).value_or("none"));
  }
  std::vector<LeftFinalizers::Found> count(LeftFinalizers& left) {
    std::optional<std::vector<LeftFinalizers::Found>> found;
    left.count(left.left({}), [&](auto answer) { found = std::move(answer); });
    world.scheduler.advance(std::chrono::minutes(1));
    EXPECT_TRUE(found);
    return found.value_or(std::vector<LeftFinalizers::Found>{});
  }
  Result<LeftFinalizers::Dropped> drop(LeftFinalizers& left, const std::string& object = "") {
    std::optional<Result<LeftFinalizers::Dropped>> dropped;
    left.drop(left.left({}), object, [&](auto answer) { dropped = std::move(answer); });
    world.scheduler.advance(std::chrono::minutes(1));
    EXPECT_TRUE(dropped);
    return dropped ? *std::move(dropped) : fail(Errc::kTimeout, "no answer");
  }

  HookWorld world;
  state::MemoryStore store;
};

TEST_F(LeftFinalizersTest, AreThoseThatNoHookUsesAnyMore) {
  LeftFinalizers left(parts());
  const auto one = hook_with("one", "x.dev/one"), other = hook_with("other", "x.dev/other");
  left.used(one);
  left.used(other);
  EXPECT_THAT(left.left({&one, &other}), IsEmpty());
  ASSERT_THAT(left.left({&other}), SizeIs(1));
  EXPECT_EQ(left.left({&other})[0].hook, "one");
  EXPECT_EQ(left.left({&other})[0].held, one.holds[0]);
  const auto renamed = hook_with("new-name", "x.dev/one", "v2");
  EXPECT_THAT(left.left({&renamed, &other}), IsEmpty()) << "whoever uses it takes it off, in whatever version";
  hook::Hook without = one;
  without.holds.clear();
  EXPECT_THAT(left.left({&without, &other}), SizeIs(1)) << "the hook is there and does not use it now";
}

TEST_F(LeftFinalizersTest, OutliveTheProcessInTheStore) {
  LeftFinalizers(parts()).used(hook_with("one", "x.dev/one"));
  EXPECT_THAT(LeftFinalizers(parts()).left({}), SizeIs(1));
}

// SIGKILL may come right after the first object has it.
TEST_F(LeftFinalizersTest, AreInTheStoreForGoodBeforeAnyObjectHasThem) {
  struct Store final : state::MemoryStore {
    void put(std::string_view table, std::string_view key, std::string_view value) override {
      flushed = false;
      MemoryStore::put(table, key, value);
    }
    void flush() override { flushed = true; }
    bool flushed = false;
  } lazy;
  LeftFinalizers({world.cluster, world.discovery, world.scheduler, world.applier, lazy})
      .used(hook_with("one", "x.dev/one"));
  EXPECT_TRUE(lazy.flushed);
}

TEST_F(LeftFinalizersTest, OfADryRunAreNone) {
  LeftFinalizers left(parts(true));
  left.used(hook_with("one", "x.dev/one"));
  EXPECT_THAT(left.left({}), IsEmpty());
}

TEST_F(LeftFinalizersTest, CountsWhatCarriesThem) {
  LeftFinalizers left(parts());
  left.used(hook_with("one", "x.dev/one"));
  put("a", "live", R"(["x.dev/one"])");
  put("b", "ending", R"(["other.dev/f","x.dev/one"])", true);
  put("b", "other", R"(["other.dev/f"])");
  const auto found = count(left);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].objects, 2u);
  EXPECT_EQ(found[0].ending, 1u);
  EXPECT_TRUE(found[0].whole);
  EXPECT_THAT(found[0].names, ElementsAre("b/ending", "a/live")) << "those that wait stand first";
  EXPECT_THAT(world.cluster.lists().at(0).accept, HasSubstr("PartialObjectMetadataList"));
}

TEST_F(LeftFinalizersTest, WhatNothingCarriesIsForgotten) {
  LeftFinalizers left(parts());
  left.used(hook_with("one", "x.dev/one"));
  EXPECT_THAT(count(left), IsEmpty());
  EXPECT_THAT(left.left({}), IsEmpty());
}

// It was put back while what carries its finalizer was counted, and puts it on objects from now on.
TEST_F(LeftFinalizersTest, OfAHookThatComesWhileTheyAreCountedNothingIsForgotten) {
  LeftFinalizers left(parts());
  const auto hook = hook_with("one", "x.dev/one");
  left.used(hook);
  left.count(left.left({}), [](auto) {});
  left.used(hook);
  world.scheduler.advance(std::chrono::minutes(1));
  EXPECT_THAT(left.left({}), SizeIs(1));
}

TEST_F(LeftFinalizersTest, AKindThatIsGoneTookItsObjectsAlong) {
  LeftFinalizers left(parts());
  auto hook = hook_with("one", "x.dev/one");
  hook.holds[0].kind = "Gone";
  left.used(hook);
  EXPECT_THAT(count(left), IsEmpty());
}

TEST_F(LeftFinalizersTest, AreTakenOffAndOthersStay) {
  LeftFinalizers left(parts());
  left.used(hook_with("one", "x.dev/one"));
  put("a", "live", R"(["x.dev/one"])");
  put("b", "ending", R"(["other.dev/f","x.dev/one"])", true);
  put("b", "other", R"(["other.dev/f"])");
  const auto dropped = drop(left);
  ASSERT_TRUE(dropped) << dropped.error().what;
  EXPECT_EQ(dropped->taken, 2u);
  EXPECT_THAT(dropped->problems, IsEmpty());
  EXPECT_EQ(finalizers("a", "live"), "none");
  EXPECT_EQ(finalizers("b", "ending"), R"(["other.dev/f"])");
  EXPECT_EQ(finalizers("b", "other"), R"(["other.dev/f"])");
  ASSERT_THAT(world.cluster.written, SizeIs(2));
  for (const auto& request : world.cluster.written) {
    EXPECT_TRUE(json_string_at(request.body, {"metadata", "uid"}).value_or("").starts_with("u-")) << request.body;
    EXPECT_NE(json_string_at(request.body, {"metadata", "resourceVersion"}).value_or(""), "") << request.body;
  }
  EXPECT_THAT(left.left({}), IsEmpty());
}

TEST_F(LeftFinalizersTest, AreTakenOffOneObjectAlone) {
  LeftFinalizers left(parts());
  left.used(hook_with("one", "x.dev/one"));
  put("a", "live", R"(["x.dev/one"])");
  put("b", "live", R"(["x.dev/one"])");
  EXPECT_EQ(drop(left, "b/live")->taken, 1u);
  EXPECT_EQ(finalizers("a", "live"), R"(["x.dev/one"])");
  EXPECT_EQ(finalizers("b", "live"), "none");
  EXPECT_THAT(left.left({}), SizeIs(1)) << "others may carry it";
  const auto nobody = drop(left, "c/live");
  ASSERT_FALSE(nobody);
  EXPECT_THAT(nobody.error().what, HasSubstr("c/live"));
}

// Between list and patch somebody changes the object: it is looked at again, and what they wrote stays.
TEST_F(LeftFinalizersTest, WhatChangedMeanwhileIsLookedAtAgain) {
  LeftFinalizers left(parts());
  left.used(hook_with("one", "x.dev/one"));
  put("a", "live", R"(["x.dev/one"])");
  bool changed = false;
  world.cluster.intercept = [&](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
    if (request.method != "PATCH" || std::exchange(changed, true)) return std::nullopt;
    put("a", "live", R"(["x.dev/one","new.dev/f"])");
    return std::nullopt;
  };
  const auto dropped = drop(left);
  ASSERT_TRUE(dropped);
  EXPECT_THAT(dropped->problems, IsEmpty());
  EXPECT_EQ(finalizers("a", "live"), R"(["new.dev/f"])");
}

TEST_F(LeftFinalizersTest, WhatIsForbiddenIsTold) {
  LeftFinalizers left(parts());
  left.used(hook_with("one", "x.dev/one"));
  put("a", "live", R"(["x.dev/one"])");
  world.cluster.intercept = [](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
    if (request.method != "PATCH") return std::nullopt;
    return fail(kube::error_from_answer(
        403, R"({"kind":"Status","status":"Failure","reason":"Forbidden","message":"no patch for you","code":403})", "",
        "PATCH"));
  };
  const auto dropped = drop(left);
  ASSERT_TRUE(dropped);
  EXPECT_EQ(dropped->taken, 0u);
  EXPECT_THAT(dropped->problems, ElementsAre(HasSubstr("no patch for you")));
  EXPECT_THAT(left.left({}), SizeIs(1));
}

// `for.namespaces` was narrowed: the hook goes on, and does not see the others any more.
TEST_F(LeftFinalizersTest, AreAlsoThoseInNamespacesThatTheHookDoesNotLookAtAnyMore) {
  LeftFinalizers left(parts());
  auto hook = hook_with("one", "x.dev/one");
  hook.holds[0].namespaces = {"a", "b", "c"};
  left.used(hook);
  EXPECT_THAT(left.left({&hook}), IsEmpty());
  hook.holds[0].namespaces = {"b"};
  left.used(hook);
  put("a", "lost", R"(["x.dev/one"])");
  put("b", "mine", R"(["x.dev/one"])");
  put("c", "too", R"(["x.dev/one"])");
  put("d", "never", R"(["x.dev/one"])");
  const auto uses = left.left({&hook});
  ASSERT_THAT(uses, SizeIs(1));
  EXPECT_THAT(uses[0].held.namespaces, ElementsAre("a", "c"));
  std::vector<LeftFinalizers::Found> found;
  left.count(uses, [&](auto answer) { found = std::move(answer); });
  world.scheduler.advance(std::chrono::minutes(1));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].names, ElementsAre("a/lost", "c/too"));
  EXPECT_TRUE(found[0].whole);
  size_t taken = 0;
  left.drop(uses, "", [&](auto dropped) { taken = dropped ? dropped->taken : 99; });
  world.scheduler.advance(std::chrono::minutes(1));
  EXPECT_EQ(taken, 2u);
  EXPECT_EQ(finalizers("a", "lost"), "none");
  EXPECT_EQ(finalizers("c", "too"), "none");
  EXPECT_EQ(finalizers("b", "mine"), R"(["x.dev/one"])") << "the hook looks after it";
  EXPECT_THAT(left.left({&hook}), IsEmpty());
  EXPECT_THAT(left.left({}), SizeIs(1)) << "it is still known where the hook goes on";
}

TEST_F(LeftFinalizersTest, OfAHookThatLookedEverywhereAreThoseOutsideOfWhereItLooksNow) {
  LeftFinalizers left(parts());
  auto hook = hook_with("one", "x.dev/one");
  left.used(hook);
  hook.holds[0].namespaces = {"b"};
  left.used(hook);
  put("a", "lost", R"(["x.dev/one"])");
  put("b", "mine", R"(["x.dev/one"])");
  std::vector<LeftFinalizers::Found> found;
  left.count(left.left({&hook}), [&](auto answer) { found = std::move(answer); });
  world.scheduler.advance(std::chrono::minutes(1));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].names, ElementsAre("a/lost"));
  EXPECT_EQ(found[0].objects, 1u);
  world.cluster.remove(pairs(), "a", "lost");
  left.count(left.left({&hook}), [&](auto answer) { found = std::move(answer); });
  world.scheduler.advance(std::chrono::minutes(1));
  EXPECT_THAT(found, IsEmpty());
  EXPECT_THAT(left.left({&hook}), IsEmpty()) << "nothing is there any more";
  EXPECT_THAT(left.left({})[0].held.namespaces, ElementsAre("b"));
}

TEST_F(LeftFinalizersTest, OfAHookThatLooksEverywhereNowAreThoseEverywhere) {
  LeftFinalizers left(parts());
  auto hook = hook_with("one", "x.dev/one");
  hook.holds[0].namespaces = {"a"};
  left.used(hook);
  hook.holds[0].namespaces = {};
  left.used(hook);
  ASSERT_THAT(left.left({}), SizeIs(1));
  EXPECT_THAT(left.left({})[0].held.namespaces, IsEmpty());
}

// What the store said may be all there is to know about objects that hang.
TEST_F(LeftFinalizersTest, WhereTheyWereBeforeIsEverywhereIfItCannotBeRead) {
  struct Store final : state::MemoryStore {
    Result<std::optional<std::string>> read(std::string_view table, std::string_view key) const override {
      if (broken) return fail(Errc::kInternal, "the disk is broken");
      return MemoryStore::read(table, key);
    }
    bool broken = true;
  } broken;
  LeftFinalizers left({world.cluster, world.discovery, world.scheduler, world.applier, broken});
  auto hook = hook_with("one", "x.dev/one");
  hook.holds[0].namespaces = {"a"};
  left.used(hook);
  broken.broken = false;
  ASSERT_THAT(left.left({}), SizeIs(1));
  EXPECT_THAT(left.left({})[0].held.namespaces, IsEmpty());
}

TEST_F(LeftFinalizersTest, GoesWhileItIsAtWork) {
  auto left = std::make_unique<LeftFinalizers>(parts());
  left->used(hook_with("one", "x.dev/one"));
  put("a", "live", R"(["x.dev/one"])");
  bool told = false;
  left->count(left->left({}), [&](auto) { told = true; });
  left->drop(left->left({}), "", [&](auto) { told = true; });
  left.reset();
  world.scheduler.advance(std::chrono::minutes(1));
  EXPECT_FALSE(told);
  EXPECT_EQ(finalizers("a", "live"), R"(["x.dev/one"])");
}

}  // namespace
}  // namespace hookd::app
