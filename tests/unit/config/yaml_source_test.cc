#include "config/yaml_source.h"

#include <gmock/gmock.h>

#include "config/yaml_scalar.h"

namespace hookd::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = Node::Kind;

std::string problems_of(std::string_view text, const YamlLimits& limits = {}) {
  Problems problems("f.yaml");
  parse_yaml(text, problems, limits);
  return problems.text();
}

std::string json_of(std::string_view text) {
  const auto documents = yaml_to_json(text, "f.yaml");
  if (!documents) return "error: " + documents.error().what;
  std::string out;
  for (const std::string& document : *documents) out += (out.empty() ? "" : "\n") + document;
  return out;
}

// YAML 1.2.2 section 10.3.2.
TEST(YamlScalar, FollowsTheCoreSchema) {
  for (const char* text : {"", "~", "null", "Null", "NULL"}) EXPECT_EQ(resolve_plain(text), Kind::kNull) << text;
  for (const char* text : {"true", "True", "TRUE", "false", "False", "FALSE"})
    EXPECT_EQ(resolve_plain(text), Kind::kBool) << text;
  for (const char* text : {"0", "-1", "+12", "0x1F", "0o17", "007"}) EXPECT_EQ(resolve_plain(text), Kind::kInt) << text;
  for (const char* text : {"1.", ".5", "1.5e-3", "-1E5", ".inf", "-.INF", ".nan"})
    EXPECT_EQ(resolve_plain(text), Kind::kFloat) << text;
  for (const char* text :
       {"yes", "on", "nUll", "tRue", "1_000", "0b1", "-", ".", "+", "1e", "e5", "0x", "0o8", "12:30", "1.2.3", "-x"})
    EXPECT_EQ(resolve_plain(text), Kind::kString) << text;
}

TEST(YamlToJson, KeepsTheDigitsOfNumbers) {
  EXPECT_EQ(json_of("[123456789012345678901234567890, -5, +7, 0x1F, 0o644, 0]"),
            "[123456789012345678901234567890,-5,7,31,420,0]");
  EXPECT_EQ(json_of("[1.10, .5, -.5, 1., 1.5e-3, +2E5]"), "[1.10,0.5,-0.5,1,1.5e-3,2E5]");
}

// kubectl reads 0644 as 420, a YAML 1.2 reader as 644: nobody should find out which in production.
TEST(YamlToJson, RefusesNumbersWithTwoMeanings) {
  EXPECT_EQ(json_of("defaultMode: 0644"),
            "error: f.yaml:1:14: 0644 has a leading zero, which some read as octal and some as decimal; write 0o644 "
            "for octal, the number "
            "without the zero for decimal, \"0644\" for text");
  EXPECT_EQ(json_of("a: -.inf"), "error: f.yaml:1:4: -.inf is no number that JSON knows");
  EXPECT_EQ(json_of("a: 0xFFFFFFFFFFFFFFFFF"), "error: f.yaml:1:4: the number 0xFFFFFFFFFFFFFFFFF is over 64 bits");
}

TEST(YamlToJson, TypesPlainScalarsAndLeavesQuotedOnesText) {
  EXPECT_EQ(json_of("{a: true, b: \"true\", c: yes, d: ~, e: '1', f: null, g: \"\", h: !!str 5, on: 1}"),
            R"({"a":true,"b":"true","c":"yes","d":null,"e":"1","f":null,"g":"","h":"5","on":1})");
  EXPECT_EQ(json_of("a: |\n  x\n  y\nb: >-\n  p\n  q\n"), R"({"a":"x\ny\n","b":"p q"})");
}

TEST(YamlToJson, ReadsSeveralDocumentsAndLeavesEmptyOnesOut) {
  EXPECT_EQ(json_of("a: 1\n---\n---\nb: 2\n...\n# end\n"), "{\"a\":1}\n{\"b\":2}");
  EXPECT_EQ(json_of("%YAML 1.2\n---\na: 1\n...\n%YAML 1.2\n---\nb: 2\n"), "{\"a\":1}\n{\"b\":2}");
  EXPECT_EQ(json_of("\xEF\xBB\xBF"
                    "a: 1\r\nb: \"x\r\n  y\"\r\n"),
            R"({"a":1,"b":"x y"})");
  EXPECT_EQ(json_of(""), "");
}

TEST(YamlToJson, NamesThePlaceWithoutAFileToo) {
  const auto documents = yaml_to_json("a: [", "");
  ASSERT_FALSE(documents);
  EXPECT_EQ(documents.error().what, "1:4: this [ is not closed by a ]");
  EXPECT_EQ(yaml_to_json("a: 007", "").error().what.substr(0, 10), "1:4: 007 h");
}

TEST(ParseYaml, TellsWhereEveryKeyAndValueStands) {
  Problems problems("f");
  const auto documents = parse_yaml("a:\n  - b: 1\n    c: x\n", problems);
  ASSERT_EQ(documents.size(), 1u);
  const Entry* a = documents[0].find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->at, (Position{1, 1}));
  EXPECT_EQ(a->value.items[0].find("c")->at, (Position{3, 5}));
  EXPECT_EQ(a->value.items[0].find("c")->value.at, (Position{3, 8}));
}

TEST(ParseYaml, ResolvesAnchorsAndMergeKeys) {
  EXPECT_EQ(json_of("x: &x {a: 1, b: 2}\ny:\n  <<: *x\n  b: 3\nz: *x\n"),
            R"({"x":{"a":1,"b":2},"y":{"b":3,"a":1},"z":{"a":1,"b":2}})");
  // Earlier maps of a list win (yaml.org/type/merge.html).
  EXPECT_EQ(json_of("- &a {k: 1}\n- &b {k: 2, l: 2}\n- {<<: [*a, *b]}\n"), R"([{"k":1},{"k":2,"l":2},{"k":1,"l":2}])");
  EXPECT_EQ(json_of("{\"<<\": 1}"), R"({"<<":1})");
  EXPECT_EQ(problems_of("<<: 1"), "f.yaml:1:5: << takes a map or a list of maps, not the number 1");
}

TEST(ParseYaml, RefusesDuplicateKeys) {
  EXPECT_EQ(problems_of("a: 1\nb: 2\na: 3\n"),
            "f.yaml:3:1: the key \"a\" stands here twice, first in line 1; remove one");
}

TEST(ParseYaml, KeepsTheFirstOfManyEqualKeys) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "a: 1\n";
  Problems problems("f");
  EXPECT_EQ(parse_yaml(text + "b: 2\n", problems).at(0).entries.size(), 2u);
  EXPECT_EQ(problems.size(), 49u);
}

TEST(ParseYaml, ExplainsBrokenText) {
  EXPECT_EQ(problems_of("a:\n\t- b"), "f.yaml:2:1: a tab in the indentation; indent with spaces");
  EXPECT_EQ(problems_of("a: 1\n \tb: 2"), "f.yaml:2:2: a tab in the indentation; indent with spaces");
  EXPECT_EQ(problems_of("a: b: c"),
            "f.yaml:1:5: a ':' where no key can be; put text that has ': ' in it in quotes, and check the indentation "
            "here and in the line before");
  EXPECT_EQ(problems_of("a:\n  b: 1\n c: 2"),
            "f.yaml:3:2: this does not belong to the map that begins at 1:1; check the indentation and the quotes");
  EXPECT_EQ(problems_of("a: \"b\" c"),
            "f.yaml:1:8: this does not belong to the map that begins at 1:1; check the indentation and the quotes");
  EXPECT_EQ(problems_of("a: [1,\n  2\n"), "f.yaml:1:4: this [ is not closed by a ]");
  EXPECT_EQ(problems_of("x:\n  a: {b: 1\n"), "f.yaml:2:6: this { is not closed by a }");
  EXPECT_EQ(problems_of("a: \"x"), "f.yaml:1:6: the file ends inside quotes");
  EXPECT_EQ(problems_of("a: {b: \"x\n"), "f.yaml:1:8: this quote is never closed");
  EXPECT_EQ(problems_of("a: @x"), "f.yaml:1:4: text cannot begin with this character; put it in quotes");
  EXPECT_EQ(
      problems_of("a: *x"),
      "f.yaml:1:4: an alias (*) without an anchor (&) of this name before it; text that begins with * needs quotes");
  EXPECT_EQ(problems_of("a: - b"), "f.yaml:1:4: a '-' where no list can begin; a list begins on a line of its own");
  EXPECT_EQ(problems_of("a: ]"), "f.yaml:1:4: a ] or } that closes nothing");
  EXPECT_EQ(problems_of("a: !foo x"),
            "f.yaml:1:4: the tag !foo does not fit here; leave it out, or put text in quotes");
  EXPECT_EQ(problems_of("a: {b: 1,, c: 2}"), "f.yaml:1:10: a key is missing here");
  EXPECT_EQ(problems_of("? [a]\n: b"), "f.yaml:1:3: a key must be text, not a list or map");
  EXPECT_EQ(problems_of("&a [*a]"), "f.yaml:1:5: this alias stands inside the value that it repeats");
}

// yaml-cpp takes the rest for a further document; half of a file would be read without a word.
TEST(ParseYaml, RefusesADocumentThatNothingSeparatesFromTheOneBefore) {
  const std::string why =
      "the document before this is complete; check the indentation, or put --- between two documents";
  EXPECT_EQ(problems_of("{a: 1} b"), "f.yaml:1:8: " + why);
  EXPECT_EQ(problems_of("- a\nb: 1"), "f.yaml:2:1: " + why);
  EXPECT_EQ(problems_of("[a]\n---b"), "f.yaml:2:1: " + why);
  EXPECT_EQ(problems_of("a: 1\n--- # next\nb: 1"), "");
  EXPECT_EQ(problems_of("a: 1\n...\n  # next\n\nb: 1"), "");
}

// yaml-cpp 0.7 takes all of these: an answer that was cut would pass as a whole one.
TEST(ParseYaml, RefusesWhatWasCut) {
  EXPECT_EQ(problems_of("a: 1\nb: \"x\n"), "f.yaml:2:4: this quote is never closed");
  EXPECT_EQ(problems_of("a: 1\nb: 'it''s\nc: d\n"), "f.yaml:2:4: this quote is never closed");
  EXPECT_EQ(problems_of("b: &x !!str # c\n  \"x\\\"\n"), "f.yaml:1:4: this quote is never closed");
  EXPECT_EQ(problems_of("a: 1\nmetad\n"), "f.yaml:2:1: expected a ':' after this key");
  EXPECT_EQ(problems_of("a: 1\n'metad\n"), "f.yaml:2:1: this quote is never closed");
  EXPECT_EQ(problems_of("a:\n  startup {}\n"), "") << "text over several lines is none";
  EXPECT_EQ(problems_of("a:\n  b: 1\n  startup {}\n"), "f.yaml:3:3: expected a ':' after this key");
  EXPECT_EQ(problems_of("{a: 1, b}"), "f.yaml:1:8: expected a ':' after this key");
  EXPECT_EQ(problems_of("[1,,2]"), "f.yaml:1:4: a value is missing here");
  EXPECT_EQ(problems_of("[,]"), "f.yaml:1:2: a value is missing here");
}

TEST(ParseYaml, TakesEveryFormOfAKey) {
  EXPECT_EQ(json_of("a b : 1\n\"c\" : 2\n'it''s': 3\n\"x\\\"\": 4\n&k d: 5\n!!str e: 6\n? f\n: 7\n? g\n'#h': "
                    "{\"i\":8,? j : 9}\nk\u00e9: ~\n"),
            "{\"a "
            "b\":1,\"c\":2,\"it's\":3,\"x\\\"\":4,\"d\":5,\"e\":6,\"f\":7,\"g\":null,\"#h\":{\"i\":8,\"j\":9},"
            "\"k\u00e9\":null}");
  EXPECT_EQ(json_of("- &k a\n- {*k : 1}\n- [~, null, b: 1]\n-\n"), R"(["a",{"a":1},[null,null,{"b":1}],null])");
}

TEST(ParseYaml, RefusesWhatIsNoText) {
  EXPECT_EQ(problems_of(std::string_view("a: x\0y", 6)),
            "f.yaml:1:5: the byte 0x00 is no text; YAML files are UTF-8 text");
  EXPECT_EQ(problems_of("a: 1\nb: \xFF\xFE"), "f.yaml:2:1: this line is not UTF-8");
  EXPECT_EQ(problems_of("a\rb"), "f.yaml:1:2: the byte 0x0D is no text; YAML files are UTF-8 text");
}

TEST(ParseYaml, HasBounds) {
  EXPECT_EQ(problems_of(std::string(5u << 20, ' ')), "f.yaml: 5242880 bytes are over the limit of 4194304");
  EXPECT_EQ(problems_of(std::string(65, '[') + std::string(65, ']')), "f.yaml:1:65: nested deeper than 64 levels");
  EXPECT_EQ(problems_of(std::string(64, '[') + std::string(64, ']')), "");
  EXPECT_EQ(problems_of("[1, 2, 3]", {.values = 3}), "f.yaml:1:1: more than 3 values in one file");
}

TEST(ParseYaml, RefusesALineThatTakesTooLong) {
  std::string list = "a: 1\nb: [";
  for (int i = 0; i < 50'001; ++i) list += "1,";
  EXPECT_EQ(problems_of(list + "]"),
            "f.yaml:2:1: more than 50000 commas in one line; put the elements on lines of their own");
}

TEST(ParseYaml, EndsAnAliasBombEarly) {
  // Expanded it would be 10^12 values.
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    bomb += fmt::format("a{0}: &a{0} [", i);
    for (int k = 0; k < 10; ++k) bomb += fmt::format("{}*a{}", k == 0 ? "" : ", ", i - 1);
    bomb += "]\n";
  }
  EXPECT_THAT(problems_of(bomb), HasSubstr("the aliases repeat more than 33554432 bytes or 500000 values"));
  std::string wide = "a: &a \"" + std::string(1u << 20, 'x') + "\"\nb: [";
  for (int i = 0; i < 100; ++i) wide += "*a, ";
  EXPECT_THAT(problems_of(wide + "]"), HasSubstr("the aliases repeat more than"));
}

TEST(ParseYaml, KeepsWhatWasWholeBeforeAnError) {
  Problems problems("f");
  EXPECT_EQ(parse_yaml("a: 1\n---\nb: [\n", problems).size(), 1u);
  EXPECT_FALSE(problems.empty());
}

}  // namespace
}  // namespace hookd::config
