#include "rehearsal/test_suite.h"

#include <gmock/gmock.h>

namespace hookd::rehearsal {
namespace {

using testing::HasSubstr;

TEST(Matches, APatternIsAPartOrAGlob) {
  EXPECT_TRUE(matches("stuck", "a/stuck pod"));
  EXPECT_FALSE(matches("Stuck", "a/stuck pod"));
  EXPECT_TRUE(matches("a/*", "a/stuck pod"));
  EXPECT_FALSE(matches("*stuck", "a/stuck pod"));
  EXPECT_TRUE(matches("?/st*d", "a/stuck pod"));
}

TestResult some_result() {
  TestResult result;
  result.status = TestResult::Status::kFailed;
  result.real = std::chrono::milliseconds(1500);
  result.failures.push_back({{3, 5}, "expected <1>\nseen \"2\" & more"});
  result.updates.push_back({{3, 5}, "calls: 2\n"});
  result.calls = "12:00:00  h: Added\n";
  result.log = std::string("a log line with a bell \a\n");
  return result;
}

TEST(TestResult, ComesThroughItsJson) {
  const TestResult sent = some_result();
  const auto got = result_from_json(to_json(sent));
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(got->status, sent.status);
  EXPECT_EQ(got->real, sent.real);
  ASSERT_EQ(got->failures.size(), 1u);
  EXPECT_EQ(got->failures[0].at, sent.failures[0].at);
  EXPECT_EQ(got->failures[0].text, sent.failures[0].text);
  ASSERT_EQ(got->updates.size(), 1u);
  EXPECT_EQ(got->updates[0].block, sent.updates[0].block);
  EXPECT_EQ(got->calls, sent.calls);
  EXPECT_EQ(got->log, sent.log);
}

TEST(TestResult, AnythingElseIsNoResult) {
  for (const std::string_view text : {"", "{}", "[]", R"({"status":1})", "Segmentation fault"})
    EXPECT_FALSE(result_from_json(text)) << text;
}

TEST(JunitXml, EscapesAndCounts) {
  Finished failed{{}, "a.test.yaml", some_result()};
  failed.test.name = "one \"thing\"";
  Finished passed{{}, "a.test.yaml", {}};
  const std::string xml = junit_xml({failed, passed});
  EXPECT_THAT(xml, HasSubstr(R"(<testsuite name="a.test.yaml" tests="2" failures="1" errors="0" time="1.500">)"));
  EXPECT_THAT(xml, HasSubstr(R"(name="one &quot;thing&quot;" time="1.500")"));
  EXPECT_THAT(xml, HasSubstr(R"(<failure message="expected &lt;1&gt;">a.test.yaml:3:5: expected &lt;1&gt;&#10;seen)"));
  EXPECT_THAT(xml, HasSubstr("a bell ?"));
}

}  // namespace
}  // namespace hookd::rehearsal
