#include "hook/call_writer.h"

#include <gmock/gmock.h>

#include "base/json_read.h"
#include "base/json_scanner.h"
#include "unit/support/objects.h"

namespace hookd::hook {
namespace {

using test::make_object;
using Type = Event::Type;

std::shared_ptr<const kube::ResourceType> shared(kube::ResourceType type) {
  return std::make_shared<const kube::ResourceType>(std::move(type));
}
std::shared_ptr<const std::string> text(std::string_view value) { return std::make_shared<const std::string>(value); }

std::string write(Call call) {
  CallWriter writer(std::make_shared<const Call>(std::move(call)));
  std::string all;
  for (std::string piece = writer.next(); !piece.empty(); piece = writer.next()) all += piece;
  EXPECT_EQ(writer.next(), "");
  EXPECT_TRUE(validate_json(all)) << all;
  return all;
}

Call small_call() {
  Call call;
  call.hook = "force-delete";
  call.id = "abc";
  call.reason = "watch";
  call.time = WallTime(std::chrono::seconds(1769860800));
  return call;
}

// product.md section 2, word for word.
TEST(CallWriter, WritesTheCallAsTheContractSays) {
  Call call = small_call();
  call.attempt = 2;
  Event event;
  event.type = Type::kModified;
  event.binding = "stuck";
  event.resource = shared(test::pods());
  event.object = make_object("a", "web-0", "u1", "2", R"({"kind":"Pod","n":1.50})");
  event.old = make_object("a", "web-0", "u1", "1", R"({"kind":"Pod"})");
  event.value = text(R"({"a":1})");
  event.old_value = text("null");
  call.events.push_back(event);
  Snapshot nodes{shared(test::nodes()),
                 {{make_object("", "n1", "u2", "1", R"({"kind":"Node"})"), text("5")},
                  {make_object("", "n2", "u3", "1", "{}"), nullptr}}};
  call.objects = {{"nodes", nodes}, {"none", Snapshot{}}};
  EXPECT_EQ(
      write(call),
      R"({"hook":"force-delete","id":"abc","attempt":2,"reason":"watch","time":"2026-01-31T12:00:00.000Z",)"
      R"("events":[{"binding":"stuck","type":"Modified","object":{"kind":"Pod","n":1.50},"old":{"kind":"Pod"},"value":{"a":1},"oldValue":null}],)"
      R"("objects":{"nodes":[{"object":{"kind":"Node"},"value":5},{"object":{}}],"none":[]}})"
      "\n");
}

TEST(CallWriter, WritesOnlyWhatThereIs) {
  Call call = small_call();
  call.reason = "schedule";
  Event tick;
  tick.type = Type::kSchedule;
  tick.binding = "sweep";
  call.events.push_back(tick);
  EXPECT_EQ(write(call),
            R"({"hook":"force-delete","id":"abc","attempt":1,"reason":"schedule","time":"2026-01-31T12:00:00.000Z",)"
            R"("events":[{"binding":"sweep","type":"Schedule"}],"objects":{}})"
            "\n");
}

TEST(CallWriter, ADeletionSaysWhenItsLastStateWasNotSeen) {
  Call call = small_call();
  Event event;
  event.type = Type::kDeleted;
  event.binding = "p";
  event.object = make_object("a", "x", "u1", "1", "{}");
  event.final_state_unknown = true;
  call.events.push_back(event);
  EXPECT_THAT(write(call),
              testing::HasSubstr(R"({"binding":"p","type":"Deleted","object":{},"finalStateUnknown":true})"));
}

// product.md `keep: value | none`: apiVersion, kind, namespace, name and uid are always told.
TEST(CallWriter, ObjectsWithoutTextStillSayWhoTheyAre) {
  Call call = small_call();
  call.objects["pods"] = Snapshot{shared(test::pods()), {{make_object("a", "x\"y", "u1", "1"), nullptr}}};
  call.objects["deploy"] = Snapshot{shared(test::deployments()), {{make_object("a", "d", "u2", "1"), text("[1]")}}};
  call.objects["nodes"] = Snapshot{shared(test::nodes()), {{make_object("", "n1", "u3", "1"), nullptr}}};
  EXPECT_THAT(
      write(call),
      testing::EndsWith(
          R"("objects":{"deploy":[{"object":{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","namespace":"a","uid":"u2"}},"value":[1]}],)"
          R"("nodes":[{"object":{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","uid":"u3"}}}],)"
          R"("pods":[{"object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x\"y","namespace":"a","uid":"u1"}}}]}})"
          "\n"));
}

TEST(CallWriter, ASyncCarriesItsWholeSnapshotOnce) {
  Call call = small_call();
  Event sync;
  sync.type = Type::kSync;
  sync.binding = "pods";
  Event tick;
  tick.type = Type::kSchedule;
  tick.binding = "sweep";
  call.events = {sync, tick};
  call.objects["nodes"] = Snapshot{};
  call.objects["pods"] = Snapshot{shared(test::pods()), {{make_object("a", "x", "u1", "1", "{\"n\":1}"), nullptr}}};
  call.only_sync = {"pods"};
  EXPECT_THAT(write(call),
              testing::EndsWith(R"("events":[{"binding":"pods","type":"Sync","objects":[{"object":{"n":1}}]},)"
                                R"({"binding":"sweep","type":"Schedule"}],"objects":{"nodes":[]}})"
                                "\n"));
  call.only_sync.clear();  // something includes it too
  EXPECT_THAT(write(call), testing::EndsWith(R"("objects":{"nodes":[],"pods":[{"object":{"n":1}}]}})"
                                             "\n"));
}

TEST(CallWriter, AnEmptySyncIsAnEmptyList) {
  Call call = small_call();
  Event sync;
  sync.type = Type::kSync;
  sync.binding = "pods";
  call.events = {sync};
  call.objects["pods"] = Snapshot{};
  call.only_sync = {"pods"};
  EXPECT_THAT(write(call), testing::HasSubstr(R"([{"binding":"pods","type":"Sync","objects":[]}],"objects":{}})"));
}

// product.md section 2: a call may be far larger than memory should hold at once.
TEST(CallWriter, StreamsAHundredThousandObjectsInPiecesOfBoundedSize) {
  Call call = small_call();
  Snapshot& pods = call.objects["pods"];
  pods.type = shared(test::pods());
  const std::string filler(2000, 'x');
  const auto packed =
      make_object("a", "x", "u1", "1", test::object_json(test::pods(), "a", "x", "u1", "", "\"f\":\"" + filler + "\""));
  const size_t object_bytes = packed->text.raw_bytes();
  for (int i = 0; i < 100'000; ++i) pods.entries.push_back({packed, nullptr});
  CallWriter writer(std::make_shared<const Call>(std::move(call)));
  JsonScanner scanner;
  size_t total = 0, largest = 0, pieces = 0, used = 0;
  for (std::string piece = writer.next(); !piece.empty(); piece = writer.next()) {
    ++pieces;
    total += piece.size();
    largest = std::max(largest, piece.capacity());
    const auto taken = scanner.feed(piece);
    ASSERT_TRUE(taken) << taken.error().what;
    used += *taken;
  }
  EXPECT_TRUE(scanner.finish());
  EXPECT_EQ(used + 1, total);  // the newline
  EXPECT_GT(total, 100'000 * object_bytes);
  EXPECT_LT(largest, 4 * CallWriter::kPieceBytes);
  EXPECT_GT(pieces, total / (2 * CallWriter::kPieceBytes));
}

TEST(CallWriter, PiecesAreWorthAWrite) {
  Call call = small_call();
  for (int i = 0; i < 1000; ++i)
    call.objects["pods"].entries.push_back(
        {make_object("a", "x", "u1", "1", std::string("{\"f\":\"") + std::string(500, 'x') + "\"}"), nullptr});
  CallWriter writer(std::make_shared<const Call>(std::move(call)));
  std::vector<size_t> sizes;
  for (std::string piece = writer.next(); !piece.empty(); piece = writer.next()) sizes.push_back(piece.size());
  ASSERT_GT(sizes.size(), 2u);
  for (size_t i = 0; i + 1 < sizes.size(); ++i) EXPECT_GE(sizes[i], CallWriter::kPieceBytes);
}

}  // namespace
}  // namespace hookd::hook
