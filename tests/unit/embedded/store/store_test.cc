#include "embedded/store/store.h"

#include <gtest/gtest.h>

namespace hookd::embedded {
namespace {

struct StoreTest : ::testing::Test {
  StoredPtr put(std::string ns, std::string name, std::string text = "{}") {
    return store.put("pods", {std::move(ns), std::move(name), "u", 0, std::move(text)});
  }
  std::string names(std::string_view ns, std::string_view after = "") const {
    std::string out;
    store.scan("pods", ns, after, [&](const StoredPtr& object) {
      out += (out.empty() ? "" : " ") + object->ns + "/" + object->name;
      return true;
    });
    return out;
  }
  ManualScheduler scheduler;
  Store store{scheduler};
};

TEST_F(StoreTest, OneRevisionCounterForAllKinds) {
  EXPECT_EQ(store.revision(), 1u);
  EXPECT_EQ(put("a", "x")->revision, 2u);
  store.put("nodes", {"", "n", "u", 0, "{}"});
  EXPECT_EQ(store.revision(), 3u);
  store.remove("pods", "a", "x", "{}");
  EXPECT_EQ(store.revision(), 4u);
  EXPECT_EQ(store.get("pods", "a", "x"), nullptr);
}

TEST_F(StoreTest, ScansInOrderOfNamespaceAndName) {
  put("b", "x");
  put("a", "y");
  put("a", "x");
  put("ab", "x");
  EXPECT_EQ(names(""), "a/x a/y ab/x b/x");
  EXPECT_EQ(names("a"), "a/x a/y");
  EXPECT_EQ(names("", "a/y"), "ab/x b/x");
  EXPECT_EQ(names("a", "a/x"), "a/y");
}

TEST_F(StoreTest, TellsChangesWithWhatWasBefore) {
  std::string told;
  const auto subscription = store.subscribe("pods", [&](const StoreEvent& event) {
    told += std::string(event.type == StoreEvent::Type::kAdded      ? "A"
                        : event.type == StoreEvent::Type::kModified ? "M"
                                                                    : "D") +
            (event.previous ? event.previous->text : "-") + event.object->text + " ";
  });
  put("a", "x", "1");
  put("a", "x", "2");
  store.put("nodes", {"", "n", "u", 0, "{}"});
  store.remove("pods", "a", "x", "3");
  EXPECT_EQ(told, "A-1 M12 D23 ");
}

TEST_F(StoreTest, AListenerThatWritesIsToldAfterwards) {
  std::vector<uint64_t> first, second;
  const auto one = store.subscribe("", [&](const StoreEvent& event) {
    first.push_back(event.revision);
    if (event.storage_key == "pods") store.put("nodes", {"", "n", "u", 0, "{}"});
  });
  const auto two = store.subscribe("", [&](const StoreEvent& event) { second.push_back(event.revision); });
  put("a", "x");
  EXPECT_EQ(first, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(second, first);
}

TEST_F(StoreTest, AListenerMayGoWhileItIsTold) {
  int told = 0;
  Store::Subscription subscription;
  subscription = store.subscribe("pods", [&](const StoreEvent&) {
    ++told;
    subscription = {};
  });
  put("a", "x");
  put("a", "y");
  EXPECT_EQ(told, 1);
}

TEST_F(StoreTest, ReplaysUntilItIsCompacted) {
  put("a", "x");
  put("a", "y");
  int events = 0;
  const auto count = [&](const StoreEvent&) { ++events; };
  EXPECT_TRUE(store.replay(2, count));
  EXPECT_EQ(events, 1);
  store.compact(2);
  EXPECT_FALSE(store.replay(1, count));
  EXPECT_TRUE(store.replay(2, count));
  EXPECT_EQ(store.oldest_replayable(), 2u);
}

TEST_F(StoreTest, KnowsThePastFromItsLog) {
  put("a", "x", "1");                   // 2
  put("a", "y", "1");                   // 3
  put("a", "x", "2");                   // 4
  store.remove("pods", "a", "y", "1");  // 5
  const auto past = store.past("pods", 3);
  ASSERT_TRUE(past);
  EXPECT_EQ(past->at("a/x")->text, "1");
  EXPECT_EQ(past->at("a/y")->text, "1");
  const auto before = store.past("pods", 2);
  EXPECT_EQ(before->at("a/y"), nullptr);
  store.compact(4);
  EXPECT_FALSE(store.past("pods", 3));
}

TEST_F(StoreTest, ForgetsOldHistoryByAge) {
  for (int i = 0; i < 1500; ++i) put("a", "x", std::to_string(i));
  scheduler.advance(Store::kLogAge + std::chrono::seconds(1));
  put("a", "x", "last");
  EXPECT_GT(store.oldest_replayable(), 400u);
  EXPECT_TRUE(store.replay(store.revision() - 10, [](const StoreEvent&) {}));
}

TEST_F(StoreTest, ForgetsOldHistoryBySize) {
  const std::string big(size_t{1} << 20, 'x');
  const auto fits = Store::kLogBytes / big.size();
  for (size_t i = 0; i < fits + 10; ++i) put("a", "x", big);
  EXPECT_EQ(store.oldest_replayable(), 11u);
  store.compact(20);
  for (int i = 0; i < 9; ++i) put("a", "x", big);
  EXPECT_EQ(store.oldest_replayable(), 20u) << "what was compacted counts no more";
}

}  // namespace
}  // namespace hookd::embedded
