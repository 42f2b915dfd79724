#include "embedded/merge/field_set.h"

#include "embedded/merge/typed.h"
#include "unit/embedded/merge/merge_testing.h"

namespace hookd::embedded {
namespace {

FieldSet set_of(const std::string& fields_v1) {
  auto set = parse_field_set(js(fields_v1));
  EXPECT_TRUE(set) << fields_v1;
  return set ? *std::move(set) : FieldSet();
}
void expect_set(const FieldSet& set, const std::string& wanted) { expect_json(to_fields_v1(set), wanted); }

TEST(FieldSet, PrintsSortedAsTheServerDoes) {
  const FieldSet set = set_of(R"({"f:b":{},"f:a":{"k:{\"b\":1,\"a\":\"x\"}":{},".":{},"v:10":{},"v:9":{},"i:2":{}}})");
  EXPECT_EQ(json::serialize(to_fields_v1(set)),
            R"({"f:a":{".":{},"k:{\"a\":\"x\",\"b\":1}":{},"v:9":{},"v:10":{},"i:2":{}},"f:b":{}})");
  EXPECT_EQ(set.size(), 6U);
}

TEST(FieldSet, KnowsOneElementByItsValueNotItsSpelling) {
  expect_set(set_of(R"({"k:{\"p\":80}":{"f:a":{}},"k:{\"p\":80.0}":{"f:b":{}}})"),
             R"({"k:{\"p\":80}":{"f:a":{},"f:b":{}}})");
  EXPECT_EQ(PathElement::of_value(js("'<a&b>'")).serialised(), "v:\"\\u003ca\\u0026b\\u003e\"");
  EXPECT_EQ(PathElement::of_value(1e21).text, "1e+21");
  EXPECT_EQ(PathElement::of_value(1e-7).text, "1e-7");
  EXPECT_EQ(PathElement::of_value(1.5).text, "1.5");
}

TEST(FieldSet, SkipsUnknownElementsAndRefusesMalformedOnes) {
  expect_set(set_of("{'x:new':{},'f:a':{}}"), "{'f:a':{}}");
  for (const char* bad :
       {"{'f':{}}", "{'fa':{}}", "{'k:{':{}}", "{'k:5':{}}", "{'v:':{}}", "{'i:x':{}}", "{'f:a':5}", "[]", "'x'"})
    EXPECT_FALSE(parse_field_set(js(bad))) << bad;
  std::string deep = "{}";
  for (int i = 0; i < 300; ++i) deep = "{\"f:a\":" + deep + "}";
  json::parse_options options;
  options.max_depth = 1000;
  EXPECT_FALSE(parse_field_set(json::parse(deep, {}, options)));
}

TEST(FieldSet, AddsAndTakesAway) {
  const FieldSet a = set_of("{'f:a':{'.':{},'f:x':{},'f:y':{}},'f:b':{}}");
  const FieldSet b = set_of("{'f:a':{'f:x':{}},'f:b':{'f:q':{}},'f:c':{}}");
  expect_set(set_union(a, b), "{'f:a':{'.':{},'f:x':{},'f:y':{}},'f:b':{'.':{},'f:q':{}},'f:c':{}}");
  expect_set(set_intersection(a, b), "{'f:a':{'f:x':{}}}");
  FieldSet rest = a;
  EXPECT_TRUE(subtract(rest, b));
  expect_set(rest, "{'f:a':{'.':{},'f:y':{}},'f:b':{}}");
  EXPECT_FALSE(subtract(rest, b));
  EXPECT_TRUE(subtract(rest, rest));
  EXPECT_TRUE(rest.empty());
}

TEST(FieldSet, TakesAwayWithAllThatIsBelow) {
  FieldSet set = set_of("{'f:status':{'.':{},'f:x':{}},'f:metadata':{'f:labels':{'f:a':{}},'f:name':{}}}");
  EXPECT_TRUE(subtract_recursively(set, set_of("{'f:status':{},'f:metadata':{'f:labels':{}}}")));
  expect_set(set, "{'f:metadata':{'f:name':{}}}");
}

TEST(FieldSet, KeepsWhatPatternsName) {
  const FieldSet set = set_of(
      R"({"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:image":{},"f:resources":{"f:limits":{}}}},"f:x":{}}})");
  expect_set(keep_matching(set, obj("{'f:spec':{'f:containers':{'*':{'f:resources':{}}}}}")),
             R"({"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:resources":{"f:limits":{}}}}}})");
  EXPECT_TRUE(keep_matching(set, obj("{'f:status':{}}")).empty());
}

TEST(FieldSet, FindsAndVisitsPaths) {
  FieldSet set;
  const auto a = PathElement::of_field("a");
  const auto key = PathElement::of_key(obj("{'port':80,'name':'x\\ny'}"));
  set.insert({a, key});
  set.insert({a});
  set.insert({a, key, PathElement::of_field("b")});
  EXPECT_TRUE(set.has({a, key}));
  EXPECT_FALSE(set.has({key}));
  std::string paths;
  set.visit([&paths](const auto& path) { paths += path_text(path) + " "; });
  EXPECT_EQ(paths, R"(.a .a[name="x\ny",port=80] .a[name="x\ny",port=80].b )");
  EXPECT_EQ(PathElement::of_value(js("'q'")).path_text(), "[=\"q\"]");
}

struct LeavesCase {
  const char* name;
  const Schema& schema;
  const char* value;
  const char* fields;
};

TEST(FieldSet, HoldsEveryLeafOfAnObject) {
  const LeavesCase cases[] = {
      {"maps and nulls", config_map(), "{'data':{'a':'1'},'binaryData':{},'immutable':null}",
       "{'f:data':{'f:a':{}},'f:binaryData':{},'f:immutable':{}}"},
      {"list map with a default key", pod(),
       "{'spec':{'containers':[{'name':'a','ports':[{'containerPort':80},{'containerPort':53,'protocol':'UDP'}]}]}}",
       R"({"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:ports":{
          "k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}},
          "k:{\"containerPort\":53,\"protocol\":\"UDP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}}}}}})"},
      {"set and atomic list", pod(), "{'metadata':{'finalizers':['b','a']},'spec':{'tolerations':[{'key':'x'}]}}",
       R"({"f:metadata":{"f:finalizers":{"v:\"a\"":{},"v:\"b\"":{}}},"f:spec":{"f:tolerations":{}}})"},
      {"atomic struct and empty struct", deployment(),
       "{'spec':{'selector':{'matchLabels':{'a':'b'}},'template':{'spec':{'securityContext':{}}}}}",
       "{'f:spec':{'f:selector':{},'f:template':{'f:spec':{'f:securityContext':{}}}}}"},
      {"doubles own only their place", pod(), "{'spec':{'containers':[{'name':'a','image':'x'},{'name':'a'}]}}",
       R"({"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{}}}})"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    std::string wanted = test.fields;
    std::erase(wanted, '\n');
    expect_json(to_fields_v1(to_field_set(test.schema, js(test.value))),
                wanted.find('"') == std::string::npos ? wanted : wanted);
  }
}

TEST(FieldSet, ComparesByItem) {
  const auto before = obj("{'spec':{'containers':[{'name':'a','image':'x'},{'name':'b','image':'y'}]},'status':{}}");
  const auto after = obj("{'spec':{'containers':[{'name':'b','image':'z'},{'name':'c'}]},'status':{}}");
  const Comparison changes = compare_typed(pod(), before, after);
  EXPECT_TRUE(changes.ok);
  expect_set(changes.removed,
             R"({"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:image":{},"f:name":{}}}}})");
  expect_set(changes.modified, R"({"f:spec":{"f:containers":{"k:{\"name\":\"b\"}":{"f:image":{}}}}})");
  expect_set(changes.added, R"({"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{}}}}})");
  EXPECT_TRUE(compare_typed(pod(), before, before).empty());
}

TEST(FieldSet, ComparesOneNumberWithItsOtherSpelling) {
  const auto schema = CustomSchema::anything();
  EXPECT_TRUE(compare_typed(schema->root(), obj("{'a':1}"), obj("{'a':1.0}")).empty());
  const Comparison changes = compare_typed(schema->root(), obj("{'a':1}"), obj("{'a':{'b':1}}"));
  expect_set(changes.modified, "{'f:a':{}}");
  expect_set(changes.added, "{'f:a':{'f:b':{}}}");
}

}  // namespace
}  // namespace hookd::embedded
