#include "app/parking.h"

#include <gmock/gmock.h>

#include "state/memory_store.h"
#include "unit/support/log_tap.h"
#include "unit/support/objects.h"

namespace hookd::app {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Type = hook::Event::Type;

hook::Event full_event() {
  hook::Event event;
  event.type = Type::kModified;
  event.binding = "pods";
  auto type = test::pods();
  event.resource = std::make_shared<const kube::ResourceType>(type);
  event.object = test::make_object("a", "x", "u1", "5", R"({"n":12345678901234567890.10,"text":"\u00e9 \"q\""})");
  event.old = test::make_object("a", "x", "u1", "4", R"({"n":1})");
  event.value = std::make_shared<const std::string>("[1]");
  event.old_value = std::make_shared<const std::string>("[0]");
  event.data = std::make_shared<const std::string>("\"line\"");
  event.old_data = std::make_shared<const std::string>("null");
  event.final_state_unknown = true;
  event.coalesce = false;
  event.ticket = std::make_shared<int>(1);
  return event;
}

Parked item_of(std::string key, hook::Event event) {
  Parked item;
  item.key = std::move(key);
  item.events.push_back(std::move(event));
  item.attempts = 3;
  item.error = "exit code 1";
  item.at = WallTime(std::chrono::seconds(1767225600)) + std::chrono::nanoseconds(123456789);
  return item;
}

hook::Event sized(size_t bytes) {
  hook::Event event;
  event.type = Type::kSource;
  event.data = std::make_shared<const std::string>(bytes, 'x');
  return event;
}

TEST(ParkedJson, KeepsEveryByteOfAnItem) {
  Parked item = item_of("pods./a/x", full_event());
  item.exclusive = true;
  const auto read = read_parked(write_parked(item));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->key, item.key);
  EXPECT_TRUE(read->exclusive);
  EXPECT_EQ(read->attempts, 3);
  EXPECT_EQ(read->error, item.error);
  EXPECT_EQ(read->at, item.at);
  ASSERT_THAT(read->events, SizeIs(1));
  const hook::Event& event = read->events[0];
  const hook::Event& before = item.events[0];
  EXPECT_EQ(event.type, before.type);
  EXPECT_EQ(event.binding, before.binding);
  EXPECT_EQ(event.resource->api_version(), "v1");
  EXPECT_EQ(event.resource->plural, "pods");
  EXPECT_EQ(event.resource->short_names, before.resource->short_names);
  EXPECT_EQ(event.object->key(), "a/x");
  EXPECT_EQ(event.object->uid, "u1");
  EXPECT_EQ(event.object->resource_version, "5");
  EXPECT_EQ(event.object->text.unpack(), before.object->text.unpack());
  EXPECT_EQ(event.old->text.unpack(), before.old->text.unpack());
  EXPECT_EQ(*event.value, "[1]");
  EXPECT_EQ(*event.old_value, "[0]");
  EXPECT_EQ(*event.data, "\"line\"");
  EXPECT_EQ(*event.old_data, "null");
  EXPECT_TRUE(event.final_state_unknown);
  EXPECT_FALSE(event.coalesce);
}

TEST(ParkedJson, ReadsNothingIntoRubbish) {
  for (const char* text :
       {"", "[]", "{}", R"({"key":"k"})", R"({"key":"k","events":[]})", R"({"key":"k","events":[1]})",
        R"({"key":"k","events":[{"type":"Eaten"}]})", R"({"key":"k","events":[{"type":"Added","binding":"p"}]})",
        R"({"key":1,"events":[{"type":"Schedule"}]})", R"({"key":"k","events":[{"type":"Sch)"})
    EXPECT_FALSE(read_parked(text)) << text;
}

TEST(Parking, AnObjectThatFailsAgainAfterARestartIsParkedOnce) {
  state::MemoryStore store;
  const auto event = [](const std::string& uid, Type type = Type::kModified, bool coalesce = true) {
    hook::Event made = full_event();
    made.object = test::make_object("a", "x", uid, "5", "{}");
    made.type = type;
    made.coalesce = coalesce;
    return made;
  };
  Parking parking("h", &store, nullptr);
  parking.add(item_of("pods./a/x", event("u1")));
  parking.add(item_of("pods./a/x", event("u1", Type::kAdded)));
  ASSERT_THAT(parking.all(), SizeIs(1));
  EXPECT_EQ(parking.all()[0].id, "p2");
  parking.add(item_of("pods./a/x", event("u2")));                       // a namesake
  parking.add(item_of("pods./a/x", event("u2", Type::kDeleted)));       // says something else
  parking.add(item_of("pods./a/x", event("u2", Type::kAdded, false)));  // each one counts
  EXPECT_THAT(parking.all(), SizeIs(4));
  size_t rows = 0;
  store.each("parked", "", [&](std::string_view, std::string_view) { ++rows; });
  EXPECT_EQ(rows, 4u);
}

TEST(Parking, LetsTheSourceOfAParkedEventGoOn) {
  Parking parking("h", nullptr, nullptr);
  auto event = full_event();
  const std::weak_ptr<void> ticket = event.ticket;
  parking.add(item_of("k", std::move(event)));
  EXPECT_TRUE(ticket.expired());
}

TEST(Parking, IdsGoOnAfterARestartInTheirOrder) {
  state::MemoryStore store;
  Parking first("h", &store, nullptr);
  for (int i = 0; i < 12; ++i) first.add(item_of("k" + std::to_string(i), full_event()));
  Parking other("h2", &store, nullptr);
  other.add(item_of("k", full_event()));
  Parking second("h", &store, nullptr);
  second.load();
  ASSERT_THAT(second.all(), SizeIs(12));
  EXPECT_EQ(second.all().front().id, "p1");
  EXPECT_EQ(second.all().back().id, "p12");
  second.add(item_of("new", full_event()));
  EXPECT_EQ(second.all().back().id, "p13");
}

TEST(Parking, ARowThatCannotBeReadIsToldAndGoes) {
  test::LogTap tap;
  state::MemoryStore store;
  store.put("parked", "h\np1", "{\"key\":");
  Parking parking("h", &store, nullptr);
  parking.load();
  EXPECT_THAT(parking.all(), IsEmpty());
  EXPECT_FALSE(store.get("parked", "h\np1"));
  EXPECT_EQ(tap.count("a parked item cannot be read"), 1u);
}

TEST(Parking, IsBoundedByItemsAndByBytes) {
  test::LogTap tap;
  state::MemoryStore store;
  metrics::Registry metrics;
  Parking parking("h", &store, &metrics);
  for (size_t i = 0; i <= Parking::kMaxItems; ++i) parking.add(item_of("k", sized(1)));
  EXPECT_THAT(parking.all(), SizeIs(Parking::kMaxItems));
  EXPECT_FALSE(store.get("parked", "h\np1"));
  EXPECT_TRUE(store.get("parked", "h\np2"));
  parking.drop("");
  for (int i = 0; i < 12; ++i) parking.add(item_of("k", sized(3u << 20)));
  EXPECT_THAT(parking.all(), SizeIs(10));
  EXPECT_EQ(tap.count("too many parked items"), 3u);
  EXPECT_THAT(metrics.text(), HasSubstr("hookd_parked_dropped_total{hook=\"h\"} 3"));
}

// The newest is never dropped for its size; only it does not outlive the process.
TEST(Parking, OneThatIsTooLargeForTheStoreStaysInMemory) {
  state::MemoryStore store;
  Parking parking("h", &store, nullptr);
  parking.add(item_of("k", sized(Parking::kMaxRowBytes + 1)));
  EXPECT_THAT(parking.all(), SizeIs(1));
  EXPECT_FALSE(store.get("parked", "h\np1"));
  auto event = sized(3u << 20);
  event.old_data = event.data;
  parking.add(item_of("k", event));
  EXPECT_TRUE(store.get("parked", "h\np2"));  // without what was before
  EXPECT_EQ(parking.all().back().events[0].old_data, nullptr);
}

}  // namespace
}  // namespace hookd::app
