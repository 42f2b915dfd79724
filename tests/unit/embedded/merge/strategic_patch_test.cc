#include "embedded/merge/patch.h"
#include "unit/embedded/merge/merge_testing.h"

namespace hookd::embedded {
namespace {

// Of a pod's spec or its metadata: what stands at `spec` and `metadata` of a Pod.
struct StrategicCase {
  const char* name;
  const char* document;
  const char* patch;
  const char* result;
};

TEST(StrategicPatch, MergesAsKubectlExpects) {
  const StrategicCase cases[] = {
      {"maps merge, null removes", "{'metadata':{'labels':{'a':'1','b':'2'}}}",
       "{'metadata':{'labels':{'a':null,'c':'3','d':null}}}", "{'metadata':{'labels':{'b':'2','c':'3'}}}"},
      {"$patch replace of a map", "{'metadata':{'labels':{'a':'1'}}}",
       "{'metadata':{'labels':{'$patch':'replace','c':'3'}}}", "{'metadata':{'labels':{'c':'3'}}}"},
      {"$patch delete of a map", "{'metadata':{'labels':{'a':'1'}}}", "{'metadata':{'labels':{'$patch':'delete'}}}",
       "{'metadata':{'labels':{}}}"},
      {"a directive where nothing is", "{}", "{'metadata':{'labels':{'$patch':'delete'},'name':'x'}}",
       "{'metadata':{'name':'x'}}"},
      {"lists merge by key, in the order of the patch",
       "{'spec':{'containers':[{'name':'a','image':'x'},{'name':'b','image':'y'}]}}",
       "{'spec':{'containers':[{'name':'c','image':'z'},{'name':'a','image':'x2'}]}}",
       "{'spec':{'containers':[{'name':'c','image':'z'},{'name':'a','image':'x2'},{'name':'b','image':'y'}]}}"},
      {"the server's own items keep their place", "{'spec':{'containers':[{'name':'a'},{'name':'b'},{'name':'c'}]}}",
       "{'spec':{'containers':[{'name':'c','image':'x'}]}}",
       "{'spec':{'containers':[{'name':'a'},{'name':'b'},{'name':'c','image':'x'}]}}"},
      {"$patch delete of an item", "{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}",
       "{'spec':{'containers':[{'name':'a','$patch':'delete'}]}}", "{'spec':{'containers':[{'name':'b'}]}}"},
      {"$patch replace of a list", "{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}",
       "{'spec':{'containers':[{'name':'z'},{'$patch':'replace'}]}}", "{'spec':{'containers':[{'name':'z'}]}}"},
      {"$patch replace without items clears", "{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}",
       "{'spec':{'containers':[{'$patch':'replace'}]}}", "{'spec':{'containers':[]}}"},
      {"$setElementOrder", "{'spec':{'containers':[{'name':'a'},{'name':'b'},{'name':'s'}]}}",
       "{'spec':{'$setElementOrder/containers':[{'name':'b'},{'name':'a'}],'containers':[{'name':'b','image':'x'}]}}",
       "{'spec':{'containers':[{'name':'b','image':'x'},{'name':'a'},{'name':'s'}]}}"},
      {"$setElementOrder alone", "{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}",
       "{'spec':{'$setElementOrder/containers':[{'name':'b'},{'name':'a'}]}}",
       "{'spec':{'containers':[{'name':'b'},{'name':'a'}]}}"},
      {"$setElementOrder of what is not there", "{'spec':{}}",
       "{'spec':{'$setElementOrder/containers':[{'name':'b'},{'name':'a'}]}}", "{'spec':{}}"},
      {"$setElementOrder with a deletion", "{'spec':{'containers':[{'name':'a'},{'name':'b'}]}}",
       "{'spec':{'$setElementOrder/containers':[{'name':'b'}],'containers':[{'name':'a','$patch':'delete'}]}}",
       "{'spec':{'containers':[{'name':'b'}]}}"},
      {"scalars are a set", "{'metadata':{'finalizers':['a','b']}}", "{'metadata':{'finalizers':['b','c']}}",
       "{'metadata':{'finalizers':['a','b','c']}}"},
      {"$deleteFromPrimitiveList", "{'metadata':{'finalizers':['a','b','c']}}",
       "{'metadata':{'$deleteFromPrimitiveList/finalizers':['a','x']}}", "{'metadata':{'finalizers':['b','c']}}"},
      {"$deleteFromPrimitiveList of nothing", "{'metadata':{}}",
       "{'metadata':{'$deleteFromPrimitiveList/finalizers':['a']}}", "{'metadata':{}}"},
      {"deleting, adding and ordering scalars", "{'metadata':{'finalizers':['a','b','c']}}",
       "{'metadata':{'$deleteFromPrimitiveList/finalizers':['b'],'$setElementOrder/finalizers':['d','c','a'],"
       "'finalizers':['d']}}",
       "{'metadata':{'finalizers':['d','c','a']}}"},
      {"lists without a strategy are replaced", "{'spec':{'tolerations':[{'key':'a'}]}}",
       "{'spec':{'tolerations':[{'key':'b'}]}}", "{'spec':{'tolerations':[{'key':'b'}]}}"},
      {"$retainKeys", "{'spec':{'volumes':[{'name':'v','emptyDir':{}}]}}",
       "{'spec':{'volumes':[{'name':'v','$retainKeys':['name','configMap'],'configMap':{'name':'c'}}]}}",
       "{'spec':{'volumes':[{'name':'v','configMap':{'name':'c'}}]}}"},
      {"nested lists", "{'spec':{'containers':[{'name':'a','env':[{'name':'A','value':'1'},{'name':'B'}]}]}}",
       "{'spec':{'containers':[{'name':'a','env':[{'name':'A','value':'2'},{'name':'B','$patch':'delete'}]}]}}",
       "{'spec':{'containers':[{'name':'a','env':[{'name':'A','value':'2'}]}]}}"},
      {"a null list", "{'spec':{'containers':[{'name':'a','args':['x']}]}}",
       "{'spec':{'containers':[{'name':'a','args':null}]}}", "{'spec':{'containers':[{'name':'a'}]}}"},
      {"nulls of new items stay away", "{'spec':{}}", "{'spec':{'nodeSelector':{'a':null,'b':'c'},'hostname':null}}",
       "{'spec':{'nodeSelector':{'b':'c'}}}"},
      {"unknown fields are taken", "{}", "{'other':{'a':[1]}}", "{'other':{'a':[1]}}"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    const auto result = strategic_patch(obj(test.document), obj(test.patch), pod());
    ASSERT_TRUE(result) << result.error().message;
    expect_json(*result, test.result);
  }
}

TEST(StrategicPatch, ReplacesTheSelectorOfADisruptionBudget) {
  const auto result = strategic_patch(obj("{'spec':{'selector':{'matchLabels':{'a':'b'}}}}"),
                                      obj("{'spec':{'selector':{'matchLabels':{'c':'d'}}}}"),
                                      kind_schema("policy", "v1", "PodDisruptionBudget"));
  ASSERT_TRUE(result);
  expect_json(*result, "{'spec':{'selector':{'matchLabels':{'c':'d'}}}}");
}

struct StrategicError {
  const char* patch;
  int code;
  const char* message;
};

TEST(StrategicPatch, SaysWhatIsWrongAsTheServerDoes) {
  const auto document = obj("{'metadata':{'finalizers':['a']},'spec':{'containers':[{'name':'z'}]}}");
  const StrategicError cases[] = {
      {"{'spec':{'containers':[{'image':'i'}]}}", 500, "map: map[image:i] does not contain declared merge key: name"},
      {"{'spec':{'containers':[{'$patch':'bad','name':'z'}]}}", 500,
       "unknown patch type: bad in map: map[$patch:bad name:z]"},
      {"{'spec':{'$patch':'bad'}}", 500, "unknown patch type: bad in map: map[$patch:bad]"},
      {"{'spec':{'containers':[{'$patch':'merge','name':'z'}]}}", 500,
       "merging lists cannot yet be specified in the patch"},
      {"{'spec':{'containers':[{'$patch':'delete'}]}}", 500,
       "map: map[$patch:delete] does not contain declared merge key: name"},
      {"{'spec':{'containers':['x']}}", 500, "list element types are not identical: [[map[name:z]] [x]]"},
      {"{'spec':{'$retainKeys':'x'}}", 400, "invalid patch format of retainKeys"},
      {"{'spec':{'$retainKeys':['a'],'b':1}}", 400, "invalid patch format of retainKeys"},
      {"{'spec':{'$setElementOrder':[]}}", 400, "invalid patch format of setElementOrder list"},
      {"{'spec':{'$setElementOrder/containers':'x'}}", 500, "expected a []interface {}, but received a string"},
      {"{'spec':{'$setElementOrder/foo':[]}}", 500,
       "unable to find api field in struct PodSpec for the json field \"foo\""},
      {"{'spec':{'$setElementOrder/containers':[{'name':'q'}],'containers':[{'name':'z'}]}}", 500,
       "The order in patch list:\n[map[name:z]]\n doesn't match $setElementOrder list:\n[map[name:q]]\n"},
      {"{'metadata':{'$deleteFromPrimitiveList':[]}}", 400, "invalid patch format of primitive list"},
      {"{'metadata':{'finalizers':[['x']]}}", 500, "list element types are not identical: [[a] [[x]]]"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.patch);
    const auto result = strategic_patch(document, obj(test.patch), pod());
    ASSERT_FALSE(result) << sorted(*result);
    EXPECT_EQ(result.error().code, test.code);
    EXPECT_EQ(result.error().message, test.message);
    EXPECT_EQ(result.error().reason, test.code == 400 ? "BadRequest" : "");
  }
  const auto lists =
      strategic_patch(obj("{'metadata':{'finalizers':[]}}"), obj("{'metadata':{'finalizers':[['x']]}}"), pod());
  ASSERT_FALSE(lists);
  EXPECT_EQ(lists.error().code, 422);
}

}  // namespace
}  // namespace hookd::embedded
