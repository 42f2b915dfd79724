#include "filter/filter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "filter/jq_program.h"
#include "filter/running.h"

namespace hookd::filter {
namespace {

constexpr std::string_view kPod =
    R"({"metadata":{"name":"web-0","labels":{"app":"web"},"deletionTimestamp":"2026-01-01T00:00:00Z"},)"
    R"("spec":{"containers":[{"image":"a"},{"image":"b"}]}})";

std::shared_ptr<const Filter> compiled(std::string_view expression) {
  auto filter = Filter::compile(expression);
  EXPECT_TRUE(filter) << expression << ": " << (filter ? "" : filter.error().what);
  return filter ? *filter : nullptr;
}

std::string run(std::string_view expression, std::string_view json) {
  const auto filter = compiled(expression);
  if (!filter) return "refused";
  const auto output = filter->run(json);
  return output ? *output : "error: " + output.error().what;
}

std::string error_of(std::string_view expression) {
  const auto filter = Filter::compile(expression);
  if (filter) return "";
  EXPECT_EQ(filter.error().code, Errc::kConfig);
  return filter.error().what;
}

TEST(Filter, GivesTheFirstOutputAsCompactJson) {
  EXPECT_EQ(run("[.spec.containers[].image]", kPod), R"(["a","b"])");
  EXPECT_EQ(run(".spec.containers[].image", kPod), R"("a")");
  EXPECT_EQ(run("{ n: (.metadata.labels | length) }", kPod), R"({"n":1})");
}

TEST(Filter, NoOutputIsNull) {
  EXPECT_EQ(run("empty", kPod), "null");
  EXPECT_EQ(run("select(false)", kPod), "null");
  EXPECT_TRUE(compiled("empty")->run_all(kPod)->empty());
}

TEST(Filter, AllOutputsInOrder) {
  EXPECT_EQ(*compiled(".spec.containers[].image")->run_all(kPod), (std::vector<std::string>{"\"a\"", "\"b\""}));
  EXPECT_EQ(*compiled(".metadata.name")->run_all(kPod), (std::vector<std::string>{"\"web-0\""}));
}

TEST(Filter, TestIsWhatJqCallsTrue) {
  EXPECT_TRUE(*compiled(".metadata.deletionTimestamp != null")->test(kPod));
  EXPECT_TRUE(*compiled("0")->test(kPod));
  EXPECT_TRUE(*compiled("\"\"")->test(kPod));
  EXPECT_FALSE(*compiled("null")->test(kPod));
  EXPECT_FALSE(*compiled("false, true")->test(kPod));
  EXPECT_FALSE(*compiled("empty")->test(kPod));
  EXPECT_FALSE(*compiled(".metadata.labels | has(\"x\")")->test(kPod));
}

TEST(Filter, EqualExpressionsShareOneCompilation) {
  const auto first = compiled(".spec.containers | length");
  EXPECT_EQ(first, compiled(".spec.containers | length"));
  EXPECT_NE(first, compiled(".spec.containers|length"));
}

TEST(Filter, AnUnusedFilterIsGivenBack) {
  std::weak_ptr<const Filter> kept = compiled(".metadata | length");
  EXPECT_TRUE(kept.expired());
  for (int i = 0; i < 200; ++i) compiled(fmt::format(".field{}", i));
  EXPECT_EQ(run(".metadata | length", kPod), "3");
}

TEST(Filter, OneRunLeavesNothingForTheNext) {
  const auto filter = compiled("[.a[] | tostring]");
  EXPECT_EQ(*filter->run(R"({"a":[1,2]})"), R"(["1","2"])");
  EXPECT_FALSE(filter->run(R"({"a":1})"));
  EXPECT_FALSE(filter->run("{"));
  EXPECT_EQ(*filter->run(R"({"a":[3]})"), R"(["3"])");
}

TEST(Filter, TheEnvironmentIsEmpty) {
  ::setenv("HOOKD_TEST_SECRET", "s3cret", 1);
  EXPECT_EQ(run("env", "null"), "{}");
  EXPECT_EQ(run("$ENV", "null"), "{}");
  EXPECT_EQ(run("env.HOOKD_TEST_SECRET", "null"), "null");
  EXPECT_EQ(run("def f: $ENV.HOOKD_TEST_SECRET; [f, (. as $x | $ENV | length)]", "null"), "[null,0]");
  EXPECT_EQ(run("def env: 1; env", "null"), "1");
}

TEST(Filter, OtherInputAndFilesAreRefused) {
  EXPECT_EQ(error_of("[., input]"),
            "jq \"[., input]\", column 5: input is not available; an expression sees its object and nothing else");
  for (const auto* expression : {"inputs", "debug", ".a | stderr", "input_filename", "input_line_number", "halt",
                                 "halt_error", "halt_error(1)", "\"x\" | modulemeta", "get_search_list"})
    EXPECT_NE(error_of(expression).find(" is not available"), std::string::npos) << expression;
  EXPECT_NE(error_of("import \"x\" as x; .").find("column 1: import is not available"), std::string::npos);
  EXPECT_NE(error_of("include \"x\"; .").find("include is not available"), std::string::npos);
  EXPECT_EQ(run("{debug: .a, input: 1} | .debug", R"({"a":5})"), "5");
  EXPECT_EQ(run("def debug: 7; debug", "null"), "7");
}

TEST(Filter, CompileErrorsNameThePlace) {
  EXPECT_EQ(error_of(".a b"), "jq \".a b\", column 4: syntax error, unexpected IDENT, expecting end of the text");
  EXPECT_EQ(error_of(".a["), "jq \".a[\", column 4: syntax error, unexpected end of the text");
  EXPECT_EQ(error_of(".foo | bar(1)"), "jq \".foo | bar(1)\", column 8: bar/1 is not defined");
  EXPECT_EQ(error_of("$foo"), "jq \"$foo\", column 1: $foo is not defined");
  EXPECT_EQ(error_of(".a | ]"), "jq \".a | ]\", column 6: syntax error, unexpected INVALID_CHARACTER");
  EXPECT_EQ(error_of(".a\n| # why\n  .b == = 1"),
            "jq \".a\n| # why\n  .b == = 1\", line 3, column 9: syntax error, unexpected '='");
  EXPECT_NE(error_of("\"a\\(.b | \"c) d\" )\" | }").find("column 22"), std::string::npos)
      << error_of("\"a\\(.b | \"c) d\" )\" | }");
  EXPECT_NE(error_of("if . then 1 end").find("column 13"), std::string::npos) << error_of("if . then 1 end");
  for (const auto* text : {".a | \"\\(1", ".a | \"b", ".a | \"b\\", ".a | \"b\\\"", ".a | \"\\(\"x)\""})
    EXPECT_NE(error_of(text).find("column 6: a string that begins here has no end"), std::string::npos)
        << error_of(text);
}

TEST(Filter, CompileErrorsWithoutAMistakeOfOurs) {
  EXPECT_NE(error_of(std::string(20000, '.')).find("20000 bytes; at most"), std::string::npos);
  EXPECT_NE(error_of(std::string_view(".a\0b", 4)).find("NUL byte at column 3"), std::string::npos);
  EXPECT_NE(error_of("foo | bar").find("foo/0 is not defined"), std::string::npos);
  EXPECT_NE(error_of("foo | bar").find("bar/0 is not defined"), std::string::npos);
}

TEST(Filter, EmptyTextAndCommentsAreTheIdentity) {
  for (const auto* expression : {"", "  ", "# nothing", ". # all"})
    EXPECT_EQ(run(expression, R"({"a": 1})"), R"({"a":1})") << expression;
}

TEST(Filter, RunErrorsAreJqsOwn) {
  const auto filter = compiled(".a | keys");
  const auto wrong = filter->run(R"({"a":1})");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Errc::kInvalid);
  EXPECT_EQ(wrong.error().what, "jq \".a | keys\": number (1) has no keys");
  EXPECT_EQ(run("error(\"no such thing\")", "1"), "error: jq \"error(\"no such thing\")\": no such thing");
  EXPECT_EQ(run("error({a: 1})", "1"), "error: jq \"error({a: 1})\": {\"a\":1}");
  // the fast path asks jq for the words
  EXPECT_TRUE(compiled(".a.b")->fast());
  EXPECT_EQ(run(".a.b", R"({"a":1})"), "error: jq \".a.b\": Cannot index number with string \"b\"");
}

TEST(Filter, InputThatIsNotJson) {
  for (const auto* text :
       {"", "   ", "{", "{]", "{\"a\":}", "nul", "1 2", "{\"a\":1} x", "\"abc", "{\"a\":1}{\"a\":2}"}) {
    for (const auto* expression : {".", "length", ".a"}) {
      const auto output = compiled(expression)->run(text);
      ASSERT_FALSE(output) << text << " " << expression << " " << *output;
      EXPECT_EQ(output.error().code, Errc::kDecode) << text << " " << expression;
      EXPECT_NE(output.error().what.find("\": the input: "), std::string::npos) << output.error().what;
    }
  }
  EXPECT_NE(run("length", "{} {}").find("more text after the JSON value"), std::string::npos);
}

TEST(Filter, TooDeepIsAnErrorAndNoCutOutput) {
  const std::string deep = std::string(300, '[') + std::string(300, ']');
  const auto input = compiled(".")->run(deep);
  ASSERT_FALSE(input);
  EXPECT_EQ(input.error().code, Errc::kInvalid);
  EXPECT_NE(input.error().what.find("nested deeper than 256"), std::string::npos);
  const auto output = compiled("reduce range(300) as $i (null; [.])")->run("1");
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code, Errc::kInvalid);
  EXPECT_EQ(run(".[0] | ltrimstr(\"x\")", R"(["<stripped: exceeds max depth>"])"),
            R"("<stripped: exceeds max depth>")");
}

TEST(Filter, TooManyOutputs) {
  const auto outputs = compiled("range(200000)")->run_all("1");
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().code, Errc::kTooLarge);
  EXPECT_EQ(*compiled("repeat(1)")->run("1"), "1");  // only the first is computed
}

TEST(Filter, IndicesOfAnEmptyStringEnds) {
  EXPECT_EQ(run("indices(\"\")", "\"abc\""), "[]");
  EXPECT_EQ(run("[indices(\"b\"), index(\"b\"), rindex(\"b\"), index(\"x\")]", "\"abcb\""), "[[1,3],1,3,null]");
  EXPECT_EQ(run("[indices(1), indices([1,2])]", "[0,1,2,1]"), "[[1,3],[1]]");
}

TEST(JqProgram, BigNumbersAreRoundedByJq) {
  EXPECT_EQ((*JqProgram::compile(".a"))->run(R"({"a":9007199254740993})", 1)->front(), "9007199254740992");
}

// An expression that never ends stops its thread: another one must be able to tell which it is.
TEST(Running, TellsFromAnotherThreadWhatIsBeingRunAndForWhom) {
  EXPECT_FALSE(running());
  std::atomic<bool> over = false;
  std::optional<Running> seen;
  std::thread looker([&] {
    while (!over && !seen) seen = running();
  });
  const std::string expression = "reduce range(300000) as $i (0; . + $i)";
  const auto filter = compiled(expression);
  {
    const RunsFor names("my-hook", "pods");
    EXPECT_TRUE(filter->run("1"));
  }
  over = true;
  looker.join();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->expression, expression);
  EXPECT_EQ(seen->hook, "my-hook");
  EXPECT_EQ(seen->binding, "pods");
  EXPECT_FALSE(running());
}

}  // namespace
}  // namespace hookd::filter
