#include "hook/answer.h"

#include <gmock/gmock.h>

namespace hookd::hook {
namespace {

using namespace std::chrono_literals;
using apply::Verb;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Answer good(std::string_view output) {
  auto answer = parse_answer(output);
  EXPECT_TRUE(answer) << output << "\n" << (answer ? "" : answer.error().what);
  return answer ? *std::move(answer) : Answer{};
}
std::string bad(std::string_view output) {
  const auto answer = parse_answer(output);
  EXPECT_FALSE(answer) << output;
  if (answer) return {};
  EXPECT_EQ(answer.error().code, Errc::kInvalid);
  return answer.error().what;
}
// "Delete Pod a/b", one an operation.
std::vector<std::string> shown(const Answer& answer) {
  std::vector<std::string> all;
  for (const auto& op : answer.operations) all.push_back(op.describe());
  return all;
}

constexpr const char* kDelete =
    R"({"operation":"Delete","apiVersion":"v1","kind":"Pod","namespace":"a","name":"b","gracePeriodSeconds":0})";
constexpr const char* kManifest =
    R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"a"},"data":{"k":"v"}})";

TEST(ParseAnswer, NothingIsAnAnswerToo) {
  for (const char* output : {"", "\n", " \r\n\n\t", "{}", "[]", "---\n", "---\n---\n...\n"}) {
    const Answer answer = good(output);
    EXPECT_THAT(answer.operations, IsEmpty()) << output;
    EXPECT_THAT(answer.text, IsEmpty()) << output;
    EXPECT_FALSE(answer.status || answer.requeue_after);
  }
}

TEST(ParseAnswer, TakesTheThreeKindsOfDocuments) {
  const Answer answer =
      good(std::string(kManifest) + "\n" + kDelete + "\n" +
           R"({"operations":[{"operation":"Label","apiVersion":"v1","kind":"Pod","name":"x","labels":{"a":"1"}}],)"
           R"("status":{"phase":"Ready"},"requeueAfter":"20s","message":"done"})");
  EXPECT_THAT(shown(answer), ElementsAre("Apply ConfigMap a/c", "Delete Pod a/b", "Label Pod x"));
  EXPECT_TRUE(answer.operations[0].from_manifest);
  EXPECT_EQ(answer.operations[1].grace_period_seconds, 0);
  EXPECT_EQ(answer.status, R"({"phase":"Ready"})");
  EXPECT_EQ(answer.requeue_after, Duration(20s));
  EXPECT_THAT(answer.messages, ElementsAre("done"));
  EXPECT_EQ(answer.documents, 4u);
}

TEST(ParseAnswer, DocumentsMayBePrettyPrintedOrOnOneLine) {
  const Answer answer =
      good("{\n  \"operation\": \"Delete\",\n  \"apiVersion\": \"v1\",\n  \"kind\": \"Pod\",\n  \"name\": \"b\"\n}\n" +
           std::string(kDelete) + kDelete + " " + kManifest);
  EXPECT_THAT(shown(answer), ElementsAre("Delete Pod b", "Delete Pod a/b", "Delete Pod a/b", "Apply ConfigMap a/c"));
}

TEST(ParseAnswer, TakesListsOfDocuments) {
  EXPECT_THAT(shown(good("[" + std::string(kDelete) + ",\n" + kManifest + "]")),
              ElementsAre("Delete Pod a/b", "Apply ConfigMap a/c"));
  EXPECT_THAT(shown(good("[\n  " + std::string(kDelete) + "\n]\n" + kDelete)),
              ElementsAre("Delete Pod a/b", "Delete Pod a/b"));
  EXPECT_THAT(bad("[{}, [{}]]"), HasSubstr("was expected, not a list")) << "lists in lists";
  EXPECT_THAT(bad("[{}, 5]"), HasSubstr("was expected, not 5"));
}

TEST(ParseAnswer, TakesAListOfManifestsApart) {
  EXPECT_THAT(
      shown(good(R"({"apiVersion":"v1","kind":"List","items":[)" + std::string(kManifest) + "," + kManifest + "]}")),
      ElementsAre("Apply ConfigMap a/c", "Apply ConfigMap a/c"));
  EXPECT_THAT(bad(R"({"apiVersion":"v1","kind":"List","items":[)" + std::string(kManifest) + ",{\"kind\":\"x\"}]}"),
              HasSubstr("item 1 of List"));
}

TEST(ParseAnswer, TakesYamlWithAndWithoutMarkers) {
  const std::string one = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  k: v\n";
  EXPECT_THAT(shown(good(one)), ElementsAre("Apply ConfigMap c"));
  EXPECT_THAT(shown(good("---\n" + one)), ElementsAre("Apply ConfigMap c"));
  EXPECT_THAT(shown(good("---\n# first\n" + one + "---\n" + one + "...\n" + one)),
              ElementsAre("Apply ConfigMap c", "Apply ConfigMap c", "Apply ConfigMap c"));
  EXPECT_THAT(shown(good(one + kDelete)), ElementsAre("Apply ConfigMap c", "Delete Pod a/b"));
  EXPECT_THAT(shown(good(std::string(kDelete) + "\n" + one)), ElementsAre("Delete Pod a/b", "Apply ConfigMap c"));
  EXPECT_THAT(shown(good("operation: Delete\napiVersion: v1\nkind: Pod\nname: b")), ElementsAre("Delete Pod b"));
  EXPECT_EQ(good("status:\n  phase: Ready\nrequeueAfter: 5m\n").requeue_after, Duration(5min));
}

TEST(ParseAnswer, TakesAYamlListOfDocuments) {
  EXPECT_THAT(shown(good("- operation: Delete\n  apiVersion: v1\n  kind: Pod\n  name: b\n- apiVersion: v1\n  kind: "
                         "ConfigMap\n  metadata: {name: c}\n")),
              ElementsAre("Delete Pod b", "Apply ConfigMap c"));
}

// A ConfigMap that holds several YAML documents is one document.
TEST(ParseAnswer, AMarkerInsideABlockOfTextIsText) {
  const Answer answer = good(
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  x: |\n    a: 1\n    ---\n    b: 2\n    ...\n    "
      "{\"c\": 3}\n");
  ASSERT_EQ(answer.operations.size(), 1u);
  EXPECT_THAT(answer.operations[0].object, HasSubstr(R"("x":"a: 1\n---\nb: 2\n...\n{\"c\": 3}\n")"));
}

TEST(ParseAnswer, TextOutsideDocumentsIsForTheLog) {
  const Answer answer = good("pod \"x\" deleted\n" + std::string(kDelete) + "\n  node/n1 cordoned\r\n\n" + kManifest +
                             "\nNAME   READY\n");
  EXPECT_THAT(shown(answer), ElementsAre("Delete Pod a/b", "Apply ConfigMap a/c"));
  EXPECT_THAT(answer.text, ElementsAre("pod \"x\" deleted", "node/n1 cordoned", "NAME   READY"));
}

TEST(ParseAnswer, TextMayFollowADocumentOnItsLine) {
  const Answer answer = good(std::string(kDelete) + "done\n");
  EXPECT_THAT(shown(answer), ElementsAre("Delete Pod a/b"));
  EXPECT_THAT(answer.text, ElementsAre("done"));
}

TEST(ParseAnswer, TextBehindALineOfDashesIsText) {
  const Answer answer = good("---\njust text\n---\n" + std::string(kDelete));
  EXPECT_THAT(answer.text, ElementsAre("just text"));
  EXPECT_THAT(shown(answer), ElementsAre("Delete Pod a/b"));
}

TEST(ParseAnswer, LinesThatOnlyLookALittleLikeDocumentsAreText) {
  const Answer answer = good(
      "[INFO] starting\n[2026-01-31] {\"a\":1}\nwarning: x\nfoo: bar\nkinds: many\n  kind: indented\n--- done "
      "---\n----\n\"quoted\"\n12\n- a bullet\n(x)\n");
  EXPECT_EQ(answer.text.size(), 12u);
  EXPECT_THAT(answer.operations, IsEmpty());
}

// product.md: a document that begins and is broken or cut is an error; nothing of the rest counts.
TEST(ParseAnswer, ABrokenDocumentIsAnErrorWithItsLine) {
  EXPECT_THAT(bad(std::string(kDelete) + "\n\n{\"operation\": Delete}\n"),
              AllOf(HasSubstr("line 3:"), HasSubstr("broken")));
  EXPECT_THAT(bad("{'a': 1}"), HasSubstr("broken"));
  EXPECT_THAT(bad("text\n{braces} in text"), AllOf(HasSubstr("line 2:"), HasSubstr("broken")));
  EXPECT_THAT(bad("apiVersion: v1\nkind: [\n"), AllOf(HasSubstr("line 1:"), HasSubstr("YAML"), HasSubstr("broken")));
  EXPECT_THAT(bad("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\npod \"x\" deleted\n"), HasSubstr("YAML"));
}

TEST(ParseAnswer, PlacesInBrokenYamlAreThoseOfTheOutput) {
  EXPECT_THAT(bad("text\ntext\n---\na: b\nc: [\n"), AllOf(HasSubstr("line 3:"), HasSubstr("5:4:")));
}

TEST(ParseAnswer, ACutDocumentIsAnError) {
  const std::string whole = kManifest;
  for (size_t length = 1; length < whole.size(); ++length) {
    const std::string error = bad(std::string(kDelete) + "\n" + whole.substr(0, length));
    EXPECT_THAT(error, AllOf(HasSubstr("line 2:"), HasSubstr("cut off"))) << length;
  }
}

TEST(ParseAnswer, ADocumentWithoutItsBeginningIsAnError) {
  EXPECT_THAT(bad(std::string(kDelete) + "}\n"), HasSubstr("without its beginning"));
  EXPECT_THAT(bad(std::string(kDelete) + "," + kDelete), HasSubstr("without its beginning"));
  EXPECT_THAT(bad(std::string(kDelete) + ",\n" + kDelete), HasSubstr("without its beginning"));
  EXPECT_THAT(bad("\"operation\": \"Delete\"\n}\n"), AllOf(HasSubstr("line 2:"), HasSubstr("without its beginning")));
  EXPECT_THAT(bad(std::string(kDelete) + "]"), HasSubstr("without its beginning"));
}

TEST(ParseAnswer, ADocumentThatIsNothingKnownIsAnError) {
  EXPECT_THAT(bad(R"({"kind":"Pod","metadata":{"name":"x"}})"),
              AllOf(HasSubstr("neither a manifest"), HasSubstr("unknown key \"kind\"")));
  EXPECT_THAT(bad(R"({"operation":"Delete","apiVersion":"v1","kind":"Pod","name":"b","grace":0})"),
              HasSubstr("`grace` is not a key of it"));
  EXPECT_THAT(bad(R"({"operation":"Remove","apiVersion":"v1","kind":"Pod","name":"b"})"),
              HasSubstr("`operation: Remove` is not known"));
  EXPECT_THAT(bad(R"({"apiVersion":"v1","kind":"Pod"})"), HasSubstr("metadata"));
  EXPECT_THAT(bad(R"({"requeueAfter":20})"), AllOf(HasSubstr("requeueAfter"), HasSubstr("\"20s\"")));
  EXPECT_THAT(bad(R"({"requeueAfter":"soon"})"), HasSubstr("requeueAfter"));
  EXPECT_THAT(bad(R"({"status":"Ready"})"), HasSubstr("\"status\" must be an object"));
  EXPECT_THAT(bad(R"({"message":["x"]})"), HasSubstr("\"message\" must be a text"));
  EXPECT_THAT(bad(R"({"operations":{}})"), HasSubstr("\"operations\" must be a list"));
  EXPECT_THAT(bad(R"({"operations":[{"status":{}}]})"), HasSubstr("neither an operation nor a manifest"));
  EXPECT_THAT(bad(R"({"operations":[5]})"), HasSubstr("neither an operation nor a manifest"));
  EXPECT_THAT(bad("---\n5\n"), HasSubstr("was expected, not 5"));
  EXPECT_THAT(bad("kind: odd\n"), HasSubstr("unknown key \"kind\""));
}

TEST(ParseAnswer, AKeyTwiceIsAnError) {
  EXPECT_THAT(bad(R"({"requeueAfter":"1s","requeueAfter":"2s"})"), HasSubstr("twice"));
  EXPECT_THAT(bad(R"({"operation":"Delete","apiVersion":"v1","kind":"Pod","name":"b","name":"c"})"),
              HasSubstr("twice"));
  EXPECT_THAT(bad("requeueAfter: 1s\nrequeueAfter: 2s\n"), HasSubstr("requeueAfter"));
}

TEST(ParseAnswer, NullIsWhatJqMakesOfAMissingField) {
  const Answer answer = good(R"({"operations":[],"status":null,"requeueAfter":null,"message":null})");
  EXPECT_FALSE(answer.status || answer.requeue_after);
  EXPECT_THAT(answer.messages, IsEmpty());
  EXPECT_THAT(bad(R"({"operations":null})"), HasSubstr("must be a list"));
}

TEST(ParseAnswer, WindowsLineEndsAndByteOrderMarkAreTaken) {
  const Answer answer = good(
      "\xEF\xBB\xBF{\r\n\"operation\":\"Delete\",\r\n\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"b\"}"
      "\r\nhello\r\n---\r\napiVersion: v1\r\nkind: ConfigMap\r\nmetadata:\r\n  name: c\r\n");
  EXPECT_THAT(shown(answer), ElementsAre("Delete Pod b", "Apply ConfigMap c"));
  EXPECT_THAT(answer.text, ElementsAre("hello"));
  EXPECT_THAT(shown(good("\xEF\xBB\xBF"
                         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")),
              ElementsAre("Apply ConfigMap c"));
}

TEST(ParseAnswer, BytesThatAreNotUtf8AreRefusedInDocumentsOnly) {
  EXPECT_THAT(bad("{\"message\":\"\xff\"}"), AllOf(HasSubstr("line 1:"), HasSubstr("not UTF-8")));
  EXPECT_THAT(bad("---\nmessage: \xff\n"), HasSubstr("not UTF-8"));
  EXPECT_EQ(good("caf\xe9\n" + std::string(kDelete)).text.size(), 1u);
}

TEST(ParseAnswer, NumbersAreKeptDigitByDigit) {
  const std::string numbers = R"({"a":12345678901234567890123,"b":1.10,"c":1e5,"d":-0.0})";
  const std::string manifest = R"({"apiVersion":"v1","kind":"X","metadata":{"name":"c"},"spec":)" + numbers + "}";
  EXPECT_EQ(good(manifest).operations[0].object, manifest);
  EXPECT_THAT(good("{\"status\":" + numbers + "}").status, testing::Optional(numbers));
  const Answer yaml =
      good("apiVersion: v1\nkind: X\nmetadata: {name: c}\nspec: {a: 12345678901234567890123, b: 1.10, s: \"1.10\"}\n");
  EXPECT_THAT(yaml.operations[0].object,
              AllOf(HasSubstr("\"a\":12345678901234567890123"), HasSubstr("\"b\":1.10"), HasSubstr("\"s\":\"1.10\"")));
}

TEST(ParseAnswer, LaterResultsWin) {
  const Answer answer = good(
      R"({"requeueAfter":"1s","message":"a"} {"requeueAfter":"2s","message":"b","status":{"n":1}} {"status":{"n":2}})");
  EXPECT_EQ(answer.requeue_after, Duration(2s));
  EXPECT_THAT(answer.messages, ElementsAre("a", "b"));
  EXPECT_EQ(answer.status, R"({"n":2})");
}

TEST(ParseAnswer, DeepNestingIsAnErrorNotACrash) {
  const std::string deep(100'000, '[');
  EXPECT_THAT(bad("{\"status\":" + deep), HasSubstr("line 1:"));
  EXPECT_THAT(bad("---\n" + deep), HasSubstr("line 1:"));
}

TEST(ParseAnswer, ManyDocumentsAreReadInLinearTime) {
  std::string output;
  for (int i = 0; i < 20'000; ++i) output += std::string(kDelete) + "\n";
  EXPECT_EQ(good(output).operations.size(), 20'000u);
}

TEST(ParseAnswer, ManyLinesOfTextToo) {
  std::string output;
  for (int i = 0; i < 200'000; ++i) output += "some line of text\n";
  EXPECT_EQ(good(output).text.size(), 200'000u);
}

}  // namespace
}  // namespace hookd::hook
