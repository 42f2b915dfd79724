#include "config/reader.h"

#include <gmock/gmock.h>

#include "config/nearest.h"
#include "config/quantity.h"

namespace hookd::config {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Pair;

class ReaderTest : public testing::Test {
 protected:
  Reader read(std::string_view text) {
    documents_ = parse_yaml(text, problems_);
    EXPECT_EQ(problems_.text(), "");
    return Reader(documents_.at(0), "spec", problems_);
  }
  Problems problems_{"f.yaml"};
  std::vector<Node> documents_;
};

TEST_F(ReaderTest, GivesTypedValues) {
  Reader r = read("{s: x, b: true, i: 0x10, n: 2.5, d: 1m30s, z: 0, q: 1.5Mi, m: two, l: [a, b], e: {K: v}}");
  std::string s;
  bool b = false;
  int i = 0, m = 0;
  double n = 0;
  Duration d{0}, z{1};
  uint64_t q = 0;
  std::vector<std::string> l;
  std::map<std::string, std::string> e;
  EXPECT_TRUE(r.required_string("s", s));
  EXPECT_TRUE(r.boolean("b", b));
  EXPECT_TRUE(r.integer("i", i, 0, 100));
  EXPECT_TRUE(r.number("n", n, 0, 10));
  EXPECT_TRUE(r.duration("d", d, 0s, 1h));
  EXPECT_TRUE(r.duration("z", z, 0s, 1h));
  EXPECT_TRUE(r.quantity("q", q));
  EXPECT_TRUE(r.one_of("m", m, {{"one", 1}, {"two", 2}}));
  EXPECT_TRUE(r.string_list("l", l));
  EXPECT_TRUE(r.string_map("e", e));
  r.finish();
  EXPECT_EQ(problems_.text(), "");
  EXPECT_EQ(s, "x");
  EXPECT_TRUE(b);
  EXPECT_EQ(i, 16);
  EXPECT_EQ(n, 2.5);
  EXPECT_EQ(d, 90s);
  EXPECT_EQ(z, 0s);
  EXPECT_EQ(q, 3u << 19);
  EXPECT_EQ(m, 2);
  EXPECT_THAT(l, ElementsAre("a", "b"));
  EXPECT_THAT(e, ElementsAre(Pair("K", "v")));
}

TEST_F(ReaderTest, CollectsEveryProblemInTheOrderOfTheFile) {
  Reader r = read(
      "on: yes\ncount: two\nbig: 99\ntimeout: 30\nmemory: 1Q\nmode: onec\nnames: a\nlabels: {a: 1}\nname: 5\nempty:\n");
  bool on = false;
  int count = 1, big = 1, mode = 0;
  Duration timeout{0};
  uint64_t memory = 0;
  std::vector<std::string> names;
  std::map<std::string, std::string> labels;
  std::string name, empty;
  r.string_map("labels", labels);
  r.boolean("on", on);
  r.integer("count", count, 1, 10);
  r.integer("big", big, 1, 10);
  r.duration("timeout", timeout, 1s, 1h);
  r.quantity("memory", memory);
  r.one_of("mode", mode, {{"once", 1}, {"worker", 2}});
  r.string_list("names", names);
  r.string("name", name);
  r.string("empty", empty);
  r.require("gone");
  r.finish();
  EXPECT_EQ(problems_.text(),
            "f.yaml:1:1: spec: the key \"gone\" is missing\n"
            "f.yaml:1:5: spec.on: \"yes\" is text in YAML 1.2; write true or false\n"
            "f.yaml:2:8: spec.count: expected a whole number from 1 to 10, found text \"two\"\n"
            "f.yaml:3:6: spec.big: expected a whole number from 1 to 10, found the number 99\n"
            "f.yaml:4:10: spec.timeout: \"30\" is not a duration: the unit is missing; write it like 30s, 5m, 1h30m or "
            "250ms\n"
            "f.yaml:5:9: spec.memory: \"1Q\" is not a size: the suffix is unknown; write it like 256Mi, 1.5Gi or 500k\n"
            "f.yaml:6:7: spec.mode: expected one of once, worker, found \"onec\"; did you mean \"once\"?\n"
            "f.yaml:7:8: spec.names: expected a list of texts such as [\"a\"], found text \"a\"\n"
            "f.yaml:8:13: spec.labels.a: expected text, found the number 1; write \"1\" in quotes\n"
            "f.yaml:9:7: spec.name: expected text, found the number 5; write \"5\" in quotes\n"
            "f.yaml:10:1: spec.empty: expected text, found nothing; leave the key out to get the default");
  EXPECT_EQ(count, 1) << "a wrong value must not change what was there";
}

TEST_F(ReaderTest, ReportsUnknownKeysWithTheNearestKnownOne) {
  Reader r = read("labelselector: a\nzzz: 1\nsource: []\n");
  std::string text;
  r.string("labelSelector", text);
  r.string("names", text);
  r.unsupported("source");
  r.finish();
  EXPECT_EQ(problems_.text(),
            "f.yaml:1:1: spec: unknown key \"labelselector\"; did you mean \"labelSelector\"?\n"
            "f.yaml:2:1: spec: unknown key \"zzz\"; known are labelSelector, names\n"
            "f.yaml:3:1: spec.source: not supported by this version of hookd");
}

TEST_F(ReaderTest, NamesThePathOfElements) {
  Reader r = read("watch:\n  - {for: x}\n  - 5\nnames: [a, 1, a]\n");
  for (Reader& element : r.maps("watch")) {
    Duration d{0};
    element.duration("for", d, 0s, 1h);
    element.finish();
  }
  std::vector<std::string> names;
  EXPECT_FALSE(r.string_list("names", names));
  EXPECT_EQ(problems_.text(),
            "f.yaml:2:11: spec.watch[0].for: \"x\" is not a duration: a number was expected; write it like 30s, 5m, "
            "1h30m or 250ms\n"
            "f.yaml:3:5: spec.watch[1]: expected a map of keys, found the number 5\n"
            "f.yaml:4:12: spec.names[1]: expected text, found the number 1; write \"1\" in quotes\n"
            "f.yaml:4:15: spec.names[2]: \"a\" stands here twice");
}

TEST(Problems, StopsAtAHundred) {
  Problems problems("f");
  for (int i = 500; i > 0; --i) problems.add({i, 1}, "", "x");
  EXPECT_EQ(problems.sorted().size(), 101u);
  EXPECT_EQ(problems.sorted().back().text(), "f: more than 100 problems; the rest is not shown");
}

TEST(Nearest, ForgivesCaseExchangesAndSingleLetters) {
  const std::set<std::string, std::less<>> known{"labelSelector", "fieldSelector", "for", "when", "include"};
  EXPECT_EQ(nearest("labelselector", known), "labelSelector");
  EXPECT_EQ(nearest("feildSelector", known), "fieldSelector");
  EXPECT_EQ(nearest("wehn", known), "when");
  EXPECT_EQ(nearest("includes", known), "include");
  EXPECT_EQ(nearest("completely", known), "");
}

TEST(Quantity, ReadsKubernetesSuffixes) {
  EXPECT_EQ(parse_quantity("1Ki"), 1024u);
  EXPECT_EQ(parse_quantity("1.5Gi"), 1610612736u);
  EXPECT_EQ(parse_quantity("500k"), 500000u);
  EXPECT_EQ(parse_quantity("18446744073709551615"), 18446744073709551615u);
  for (const char* text : {"", "Mi", "-1", "1 Mi", "1mi", "1.2.3", "99Ei", "18446744073709551616", "1m"})
    EXPECT_FALSE(parse_quantity(text)) << text;
  EXPECT_EQ(format_quantity(32u << 20), "32Mi");
  EXPECT_EQ(format_quantity(1000), "1000");
  EXPECT_EQ(format_quantity(0), "0");
}

}  // namespace
}  // namespace hookd::config
