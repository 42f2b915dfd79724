#include "filter/fast_path.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <vector>

#include "filter/compact_json.h"
#include "filter/filter.h"
#include "filter/jq_program.h"

namespace hookd::filter {
namespace {

namespace json = boost::json;

bool fast(std::string_view expression) { return FastPath::compile(expression).has_value(); }

std::string run(std::string_view expression, std::string_view text) {
  const auto path = FastPath::compile(expression);
  if (!path) return "not fast";
  return path->run(text).value_or("ask jq");
}

// Equal as JSON values for somebody whose numbers are doubles, as jq's are.
bool same_value(const json::value& a, const json::value& b) {
  if (a.is_number() && b.is_number()) return a.to_number<double>() == b.to_number<double>();
  if (a.kind() != b.kind()) return false;
  if (a.is_array()) {
    const auto &x = a.get_array(), &y = b.get_array();
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i)
      if (!same_value(x[i], y[i])) return false;
    return true;
  }
  if (a.is_object()) {
    const auto &x = a.get_object(), &y = b.get_object();
    if (x.size() != y.size()) return false;
    for (const auto& [key, value] : x)
      if (const auto* other = y.if_contains(key); !other || !same_value(value, *other)) return false;
    return true;
  }
  return a == b;
}

// The expressions of product.md that run once per event.
TEST(FastPath, TakesWhatHooksMostlyAsk) {
  for (const auto* expression :
       {".metadata.deletionTimestamp != null", ".metadata.labels", ".metadata.deletionTimestamp",
        ".metadata.annotations[\"example.com/used-by\"]", "{\"app\": .metadata.name}"}) {
    EXPECT_TRUE(fast(expression)) << expression;
    EXPECT_TRUE((*Filter::compile(expression))->fast()) << expression;
  }
}

TEST(FastPath, IsReallyTakenAtRunTime) {
  const std::string pod =
      R"({ "metadata": {"name": "a", "labels": {"app": "web", "n": "1"}, "deletionTimestamp": "x"}, "spec": {} })";
  EXPECT_EQ(run(".metadata.deletionTimestamp != null", pod), "true");
  EXPECT_EQ(run(".metadata.labels", pod), R"({"app":"web","n":"1"})");
  EXPECT_EQ(run(".metadata.name", pod), "\"a\"");
  EXPECT_EQ(run(".metadata.nothing.at.all", pod), "null");
  EXPECT_EQ(run(".", pod),
            R"({"metadata":{"name":"a","labels":{"app":"web","n":"1"},"deletionTimestamp":"x"},"spec":{}})");
}

TEST(FastPath, KeepsAllDigitsInsideObjects) {
  EXPECT_EQ(run(".a", R"({"a":{"n":9007199254740993, "m":[-9223372036854775808]}})"),
            R"({"n":9007199254740993,"m":[-9223372036854775808]})");
  EXPECT_EQ(run("[.a]", R"({"a":9007199254740993})"), "[9007199254740993]");
  EXPECT_EQ(run("{a}", R"({"a":1.50})"), R"({"a":1.50})");
}

TEST(FastPath, LeavesToJqWhatItIsNotSureOf) {
  EXPECT_EQ(run(".a.b", R"({"a":"x"})"), "ask jq");
  EXPECT_EQ(run(".a.b?", R"({"a":"x"})"), "ask jq");
  EXPECT_EQ(run(".[0]", R"({"a":"x"})"), "ask jq");
  EXPECT_EQ(run(".a", R"({"a":1,"a":2})"), "ask jq");
  EXPECT_EQ(run(".a", R"({"a":{"b":1,"b":2}})"), "ask jq");
  EXPECT_EQ(run(".a", R"({"a":1.50})"), "ask jq");
  EXPECT_EQ(run(".a", R"({"a":1234567890123456})"), "ask jq");
  EXPECT_EQ(run(".a", R"({"a":"\ud800"})"), "ask jq");
  EXPECT_EQ(run(".a", "{\"a\":\"\xFF\"}"), "ask jq");
  EXPECT_EQ(run(".a", R"({"a":1} x)"), "ask jq");
  EXPECT_EQ(run(".a", R"({"a":{"b":tru}})"), "ask jq");
  EXPECT_EQ(run(".", std::string(300, '[') + std::string(300, ']')), "ask jq");
}

TEST(FastPath, RefusesAllOtherExpressions) {
  for (const auto* expression : {"..",
                                 ".a..b",
                                 ".a.[0]",
                                 ". a",
                                 ".a .b",
                                 ".a [0]",
                                 ".[]",
                                 ".a[]",
                                 ".a[1:2]",
                                 ".a == .b",
                                 ".a < 1",
                                 ".a == {}",
                                 ".a == -1",
                                 ".a == 1 == 1",
                                 ".a | .b",
                                 "not",
                                 "(.a // .n) == null",
                                 ".a | not | length",
                                 ".a, .b",
                                 "[.a, .b | not]",
                                 "(.a).b",
                                 "{a: .x | not}",
                                 "{a: .x == 1}",
                                 "{(.a): 1}",
                                 "{a: .x}.a",
                                 "[.a][0]",
                                 "{$a}",
                                 "{and: 1}",
                                 "{a: 1, a: 2}",
                                 "1.5",
                                 "{a: 1.5}",
                                 ".a // 1.5",
                                 "01",
                                 "1e3",
                                 "1234567890123456",
                                 ".a == 1x",
                                 "\"\\(1)\"",
                                 "\"a\\n\"",
                                 ".a |= 1",
                                 ".a //= 1",
                                 ".a = 1",
                                 "-1",
                                 ".a?? ",
                                 ".a ?",
                                 ".?",
                                 ".5",
                                 ".a.5",
                                 "$x",
                                 "@text",
                                 "empty",
                                 ".a and",
                                 "and",
                                 ".a not",
                                 ".\xC3\xA9",
                                 "(.a",
                                 ".a)",
                                 ".e1",
                                 ".a.E10",
                                 "[.a",
                                 "{a",
                                 "[,]",
                                 "{,}",
                                 ".a[\"b\"",
                                 ".a[1",
                                 ".a[-]",
                                 ".a[12345678901]",
                                 ".\"a\\(1)\"",
                                 "null::x",
                                 "true.a",
                                 "nullx",
                                 ".a # comment",
                                 "{a: -1}",
                                 "{\"a\"}",
                                 "\x01"})
    EXPECT_FALSE(fast(expression)) << expression;
  EXPECT_FALSE(fast(std::string(100, '(') + "." + std::string(100, ')')));
}

const std::vector<std::string>& expressions() {
  static const std::vector<std::string> all{".",
                                            "",
                                            ".a",
                                            ".a.b",
                                            ".a.b.c",
                                            ".a?",
                                            ".a.b?",
                                            ".a?.b?",
                                            ".[\"a\"]",
                                            ".\"a\"",
                                            ".a[\"b\"]",
                                            ".a.\"b\"",
                                            ".[\"node.name/x\"]",
                                            ".a[\"node.name/x\"]",
                                            ".l[0]",
                                            ".l[1].b",
                                            ".l[-1]",
                                            ".l[-4]",
                                            ".l[99]",
                                            ".[0]",
                                            ".[-1].a",
                                            ".l[0]?",
                                            ".a[0]?",
                                            ".[\"\xC3\xA9\"]",
                                            ".metadata.deletionTimestamp != null",
                                            ".metadata.labels",
                                            ".metadata.labels.app == \"web\"",
                                            ".metadata.labels[\"app\"] != \"web\"",
                                            ".a == null",
                                            "null == .a",
                                            ".a != null",
                                            ".a == true",
                                            ".a == false",
                                            ".a != false",
                                            ".n == 1",
                                            ".n == 1.0",
                                            "1 != .n",
                                            ".n == 0.1",
                                            ".n == 10",
                                            ".a == \"x\"",
                                            ".a == \"\"",
                                            ".s == \"\xC3\xA9\"",
                                            ".a and .n",
                                            ".a or .n",
                                            ".a and .n and .s",
                                            ".a or .n and .s",
                                            "(.a or .n) and .s",
                                            ".a | not",
                                            "(.a) | not",
                                            "(.a == 1 | not) and .n",
                                            ".a == \"x\" or .n == 1",
                                            ".a == \"x\" and .n == 1 | not",
                                            ".a | not | not",
                                            "(((.a)))",
                                            ".a // \"none\"",
                                            ".a // 0",
                                            ".a // false",
                                            ".a // null",
                                            ".a.b // .n // \"x\"",
                                            ".a // .n",
                                            ".a == null // true",
                                            "{}",
                                            "[]",
                                            "{a: .a}",
                                            "{a: .a, b: .a.b}",
                                            "{\"a b\": .n, c: (.n == 1), d: [.s], e: {f: .a}}",
                                            "{a, n}",
                                            "[.a, .n]",
                                            "[.a.b, .s == \"x\", (.n | not)]",
                                            "[.a // 1, .b]",
                                            "{a: null, b: true, c: \"x\", d: 12, e: 0}",
                                            "null",
                                            "true",
                                            "false",
                                            "\"text\"",
                                            "0",
                                            "12",
                                            "[null, .]",
                                            "{o: .}",
                                            "[.] | not",
                                            "{a: .a} // 1",
                                            "true and .a",
                                            "false or .n",
                                            " .a\n==\t1 ",
                                            ".a.b.c.d.e.f",
                                            ".l[0][0]",
                                            ".l[0].a[1]"};
  return all;
}

const std::vector<std::string>& documents() {
  static const std::vector<std::string> all{
      R"({})",
      R"([])",
      R"(null)",
      R"(true)",
      R"(false)",
      R"(1)",
      R"("x")",
      R"(1.0)",
      R"(-0)",
      R"("a\u00e9\/\"\\\n\u0001\u007f")",
      R"([[[]]])",
      R"([{"a":1},{"a":null}])",
      R"({"a":null})",
      R"({"a":false,"n":0,"s":""})",
      R"({"a":true,"n":1,"s":"x"})",
      R"({"a":"x","n":1.0,"s":"\u00e9"})",
      R"({"a":{"b":{"c":{"d":{"e":{"f":1}}}},"node.name/x":[1]},"node.name/x":"y","n":1e0,"s":"é"})",
      R"({"a":{"b":null},"l":[0,{"b":"c"},[1,2]],"n":100})",
      R"({"l":[[1,2],{"b":{"c":[true,false,null,"\ud83d\ude00"]}}],"n":0.1,"é":"ü","a":[1,{"a":[]}]})",
      R"({"a":{"b":[]},"b":2,"l":[{"a":[1,2,3]}],"n":9007199254740993})",
      R"({"metadata":{"name":"w","labels":{"app":"web","t":"f"},"deletionTimestamp":"2026"},"n":-12.75,"s":"a\tb"})",
      R"({"metadata":{"labels":{"app":"api"},"deletionTimestamp":null},"a":"","n":123456789012345,"s":"\b\f\r"})",
      R"({"metadata":null,"a":0,"n":1E2,"s":"\u2028</script>"})",
      R"({"a":1,"a":{"b":2},"n":[1],"s":{"x":1,"x":2}})",
      R"({"\u0061":{"\u0062":"esc"},"n":"1"})",
      "  { \"a\" : [ 1 , 2 ] ,\n \"l\" : [ ] , \"n\" : 1e400 }  ",
      R"({"a":"\ud800","s":"\udc00x","n":12345678901234567890})",
      "{\"a\":\"\xFF\",\"s\":\"\x7f\"}",
      R"({"a":{"managedFields":[{"f:x":{".":{},"f:y":{}}}]},"l":[null,true,-1.5e-7,"",{}]})"};
  return all;
}

// One test for both, since compiling the expressions with jq is what takes the time.
TEST(FastPathBesideJq, AgreesInValuesAndTheWholeFilterInErrorsToo) {
  int compared = 0, left_to_jq = 0;
  for (const auto& expression : expressions()) {
    const auto path = FastPath::compile(expression);
    ASSERT_TRUE(path) << expression;
    const auto program = JqProgram::compile(expression);
    ASSERT_TRUE(program) << expression << ": " << program.error().what;
    const auto filter = Filter::compile(expression);
    ASSERT_TRUE(filter);
    for (const auto& document : documents()) {
      const std::string where = expression + " on " + document;
      const auto slow = (*program)->run(document, SIZE_MAX);
      if (!slow && slow.error().code == Errc::kDecode) continue;  // broken where the fast path does not look
      const auto all = (*filter)->run_all(document);
      ASSERT_EQ(all.has_value(), slow.has_value()) << where;
      if (!slow) {
        EXPECT_EQ(all.error().what, slow.error().what);
      } else {
        ASSERT_EQ(all->size(), slow->size()) << where;
        const bool truth = !slow->empty() && slow->front() != "null" && slow->front() != "false";
        EXPECT_EQ(*(*filter)->test(document), truth) << where;
      }
      const auto quick = path->run(document);
      ++(quick ? compared : left_to_jq);
      if (!quick) continue;
      ASSERT_TRUE(slow) << where << " gives " << *quick << ", jq says " << slow.error().what;
      ASSERT_EQ(slow->size(), 1u) << where;
      const auto left = json::parse(*quick), right = json::parse(slow->front());
      EXPECT_TRUE(same_value(left, right)) << where << "\n fast " << *quick << "\n jq   " << slow->front();
      if (!left.is_structured()) {
        EXPECT_EQ(*quick, slow->front()) << where;
      }
    }
  }
  EXPECT_GT(compared, 1000);
  EXPECT_LT(left_to_jq, compared) << "the fast path hardly does anything";
}

TEST(CompactJson, TakesAwayWhiteSpaceOnly) {
  EXPECT_EQ(compact_json(" { \"a\" : [ 1 , 2.50 , { } ] , \"b\" : [ ] }\n"), R"({"a":[1,2.50,{}],"b":[]})");
  EXPECT_EQ(compact_json(R"("\u0041\/\u00e9\ud83d\ude00\u001f\u0009")"), "\"A/\xC3\xA9\xF0\x9F\x98\x80\\u001f\\t\"");
}

TEST(CompactJson, RefusesWhatIsNotStrictJson) {
  for (const auto* text : {"",
                           " ",
                           "{",
                           "[1,]",
                           "{\"a\":1,}",
                           "{a:1}",
                           "[1 2]",
                           "01",
                           "+1",
                           "1.",
                           ".5",
                           "-",
                           "1e",
                           "nul",
                           "nan",
                           "\"a",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\ud800\"",
                           "\"\\ud800\\u0041\"",
                           "\"\\udc00\"",
                           "\"a\nb\"",
                           "{\"a\":1,\"a\":1}",
                           "{\"a\":1,\"\\u0061\":1}",
                           "1 2",
                           "1e999",
                           "[\"\xFF\"]"})
    EXPECT_FALSE(compact_json(text)) << text;
}

}  // namespace
}  // namespace hookd::filter
