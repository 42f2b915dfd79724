// Rules: k8s-client.md R21-R24, R27; T19, T20, T21 (their reading half).
#include "kube/watch_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/kube/scripted_api.h"

namespace hookd::kube {
namespace {

using test::event_of;
using test::pod;
using testing::HasSubstr;
using Type = WatchEvent::Type;

struct Stream {
  std::vector<WatchEvent> events;
  WatchReader reader;
  explicit Stream(size_t max_event_bytes = 1u << 20)
      : reader(
            [this](WatchEvent event) -> Result<void> {
              events.push_back(std::move(event));
              return {};
            },
            max_event_bytes) {}
};

TEST(WatchReader, AnEventSplitAtEveryByteIsTheSame) {  // T19
  const std::string object = test::with_kind(pod("a\\\"}", "5"));
  const std::string text = event_of("ADDED", object) + event_of("MODIFIED", object);
  for (size_t split = 0; split <= text.size(); ++split) {
    Stream stream;
    ASSERT_TRUE(stream.reader.feed(std::string_view(text).substr(0, split))) << split;
    ASSERT_TRUE(stream.reader.feed(std::string_view(text).substr(split))) << split;
    ASSERT_EQ(stream.events.size(), 2U) << split;
    EXPECT_EQ(stream.events[0].type, Type::kAdded);
    EXPECT_EQ(stream.events[1].type, Type::kModified);
    EXPECT_EQ(stream.events[0].object, object);
    EXPECT_EQ(stream.events[1].object, object);
  }
}

TEST(WatchReader, TenEventsInOnePieceAreTen) {  // T19
  std::string text;
  for (int i = 0; i < 10; ++i) text += event_of("ADDED", pod("p" + std::to_string(i), "1"));
  Stream stream;
  ASSERT_TRUE(stream.reader.feed(text));
  ASSERT_EQ(stream.events.size(), 10U);
  EXPECT_EQ(stream.reader.events(), 10U);
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(stream.events[i].object, pod("p" + std::to_string(i), "1"));
}

TEST(WatchReader, BlankLinesAndNoLineEndsAreFine) {  // R21
  const std::string one = R"({"type":"DELETED","object":{"a":1}})";
  Stream stream;
  ASSERT_TRUE(stream.reader.feed("\n\r\n  " + one + one + "\n\n\t" + one));
  EXPECT_EQ(stream.events.size(), 3U);
}

TEST(WatchReader, PrettyPrintedAndReorderedMembersAreFine) {
  Stream stream;
  ASSERT_TRUE(
      stream.reader.feed("{\n  \"object\": {\n    \"type\": \"x\"\n  },\n  \"more\": 1,\n  \"type\": \"ADDED\"\n}\n"));
  ASSERT_EQ(stream.events.size(), 1U);
  EXPECT_EQ(stream.events[0].object, "{\n    \"type\": \"x\"\n  }");
}

TEST(WatchReader, KnowsTheFiveTypes) {  // R23
  Stream stream;
  for (const auto* type : {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"})
    ASSERT_TRUE(stream.reader.feed(event_of(type, "{}")));
  std::vector<Type> types;
  for (const auto& event : stream.events) types.push_back(event.type);
  EXPECT_THAT(types,
              testing::ElementsAre(Type::kAdded, Type::kModified, Type::kDeleted, Type::kBookmark, Type::kError));
}

TEST(WatchReader, APartialEventIsNoError) {  // R21: dropped at the end of the stream
  Stream stream;
  ASSERT_TRUE(stream.reader.feed(event_of("ADDED", "{}") + R"({"type":"ADDED","obj)"));
  EXPECT_EQ(stream.events.size(), 1U);
}

class WatchReaderBad : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(WatchReaderBad, IsAnError) {  // R23, T21
  for (const size_t piece : {size_t{1}, size_t{5}, size_t{1000}}) {
    Stream stream;
    Result<void> result = stream.reader.feed(event_of("ADDED", "{}"));
    ASSERT_TRUE(result);
    const std::string_view text = GetParam().first;
    for (size_t i = 0; i < text.size() && result; i += piece) result = stream.reader.feed(text.substr(i, piece));
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code, Errc::kDecode);
    EXPECT_THAT(result.error().what, HasSubstr(GetParam().second));
    EXPECT_EQ(stream.events.size(), 1U);
  }
}

INSTANTIATE_TEST_SUITE_P(All, WatchReaderBad,
                         testing::Values(std::pair(event_of("BOGUS", "{}"), "unknown watch event type \"BOGUS\""),
                                         std::pair(event_of("added", "{}"), "unknown watch event type"),
                                         std::pair("<html>", "not JSON"), std::pair("upstream error", "not JSON"),
                                         std::pair(R"({"type":"ADDED"})", "not a watch event"),
                                         std::pair(R"({"object":{}})", "not a watch event"),
                                         std::pair(R"({"type":1,"object":{}})", "unknown watch event type"),
                                         std::pair(R"({"type":"ADDED","object":null})", "not a watch event"),
                                         std::pair(R"({"type":"ADDED","object":[]})", "not a watch event"),
                                         std::pair("[] ", "not a watch event"), std::pair("17 ", "not a watch event"),
                                         std::pair(R"({"type":"ADDED","object":{"a":01}})", "not JSON")));

TEST(WatchReader, AFiveMebibyteObjectIsTaken) {  // T20
  const std::string object = fmt::format(R"({{"a":"{}"}})", std::string(5u << 20, 'x'));
  const std::string text = event_of("ADDED", object);
  Stream stream(32u << 20);
  for (size_t i = 0; i < text.size(); i += 16384)
    ASSERT_TRUE(stream.reader.feed(std::string_view(text).substr(i, 16384)));
  ASSERT_EQ(stream.events.size(), 1U);
  EXPECT_TRUE(stream.events[0].object == object);
}

TEST(WatchReader, AnEventOverTheBoundIsAnErrorBeforeItIsWhole) {  // T20, R22: memory is bounded
  Stream stream(10000);
  const std::string piece(1000, 'x');
  Result<void> result = stream.reader.feed(R"({"type":"ADDED","object":{"a":")");
  size_t fed = 0;
  for (; fed < 100'000 && result; fed += piece.size()) result = stream.reader.feed(piece);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::kTooLarge);
  EXPECT_THAT(result.error().what, HasSubstr("over 10000 bytes"));
  EXPECT_LE(fed, 11'000U);
}

TEST(WatchReader, AnErrorOfTheConsumerEndsTheReading) {
  int calls = 0;
  WatchReader reader(
      [&](WatchEvent) -> Result<void> {
        ++calls;
        return fail(Errc::kGone, "mine");
      },
      1000);
  const auto result = reader.feed(event_of("ERROR", "{}") + event_of("ADDED", "{}"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::kGone);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace hookd::kube
