#include "embedded/merge/managed_fields.h"
#include "unit/embedded/merge/merge_testing.h"

namespace hookd::embedded {
namespace {

Life config() { return {config_map(), "v1", "ConfigMap"}; }
Life deploy() { return {deployment(), "apps/v1", "Deployment", obj("{'f:status':{}}")}; }

std::string data_of(const Life& life) {
  const json::value* data = life.object.if_contains("data");
  return data == nullptr ? "none" : sorted(*data);
}

TEST(Apply, OwnsWhatItNamesAndSharesWhatIsEqual) {
  Life life = config();
  EXPECT_EQ(life.apply("a", "{'metadata':{'name':'x'},'data':{'p':'1','q':'2'}}"), "");
  EXPECT_EQ(owners(life.object), "a Apply 01 {'f:data':{'f:p':{},'f:q':{}}}\n");
  const auto before = life.object;
  EXPECT_EQ(life.apply("a", "{'metadata':{'name':'x'},'data':{'p':'1','q':'2'}}"), "");
  EXPECT_EQ(sorted(life.object), sorted(before));
  EXPECT_EQ(life.apply("b", "{'metadata':{'name':'x'},'data':{'p':'1'}}"), "");
  EXPECT_EQ(owners(life.object), "b Apply {'f:data':{'f:p':{}}}\na Apply 01 {'f:data':{'f:p':{},'f:q':{}}}\n");
  EXPECT_EQ(life.apply("a", "{'metadata':{'name':'x'}}"), "");  // gives up both; q is nobody's now
  EXPECT_EQ(data_of(life), "{\"p\":\"1\"}");
  EXPECT_EQ(life.apply("b", "{'metadata':{'name':'x'}}"), "");
  EXPECT_EQ(data_of(life), "none");
  EXPECT_EQ(owners(life.object), "");
}

TEST(Apply, TellsConflictsAndTakesByForce) {
  Life life = config();
  life.apply("a", "{'data':{'p':'1','q':'2'}}");
  EXPECT_EQ(life.apply("b", "{'data':{'p':'9'}}"),
            "409 Conflict Apply failed with 1 conflict: conflict with \"a\": .data.p");
  life.update("u", obj("{'metadata':{'name':'x'},'data':{'p':'1','q':'3'}}"));
  EXPECT_EQ(life.apply("b", "{'data':{'p':'9','q':'9'}}"),
            "409 Conflict Apply failed with 2 conflicts: conflicts with \"a\":\n- .data.p\nconflicts with \"u\" using "
            "v1:\n- .data.q");
  EXPECT_EQ(life.apply("b", "{'data':{'p':'9','q':'9'}}", true), "");
  EXPECT_EQ(owners(life.object), "b Apply 05 {'f:data':{'f:p':{},'f:q':{}}}\n");
  EXPECT_EQ(data_of(life), "{\"p\":\"9\",\"q\":\"9\"}");
}

TEST(Apply, ConflictsNameTheirCauses) {
  Life life = deploy();
  life.apply("a", "{'spec':{'template':{'spec':{'containers':[{'name':'x','image':'1'}]}}}}");
  json::object other =
      obj("{'apiVersion':'apps/"
          "v1','kind':'Deployment','spec':{'template':{'spec':{'containers':[{'name':'x','image':'2'}]}}}}");
  const auto result = apply_patch(life.object, other, deployment(), life.writer("b"), false, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, 409);
  expect_json(
      result.error().details,
      R"({"causes":[{"reason":"FieldManagerConflict","message":"conflict with \"a\"","field":".spec.template.spec.containers[name=\"x\"].image"}]})");
}

TEST(Apply, WhatAnUpdateMadeIsOwnedFromBeforeTheFirstApply) {
  Life life = config();
  life.object =
      obj("{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'x','uid':'u'},'data':{'p':'1','q':'1'}}");
  EXPECT_EQ(life.apply("a", "{'data':{'p':'2'}}"),
            "409 Conflict Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.p");
  EXPECT_EQ(life.apply("a", "{'data':{'p':'2'}}", true), "");
  EXPECT_EQ(owners(life.object),
            "a Apply 02 {'f:data':{'f:p':{}}}\nbefore-first-apply Update 02 {'f:data':{'.':{},'f:q':{}}}\n");
}

TEST(Apply, MergesAndPrunesItemsOfListMaps) {
  Life life = deploy();
  life.apply(
      "a", "{'spec':{'template':{'spec':{'containers':[{'name':'x','image':'1','env':[{'name':'A','value':'1'}]}]}}}}");
  life.apply("b",
             "{'spec':{'template':{'spec':{'containers':[{'name':'y','image':'2'},{'name':'x','env':[{'name':'B','"
             "value':'2'}]}]}}}}");
  EXPECT_EQ(life.apply("a", "{'spec':{'template':{'spec':{'containers':[{'name':'x','image':'1'}]}}}}"), "");
  expect_json(life.object.at("spec").at("template").at("spec").at("containers"),
              "[{'name':'y','image':'2','resources':{}},{'name':'x','image':'1','env':[{'name':'B','value':'2'}],'"
              "resources':{}}]");
  EXPECT_EQ(life.apply("b", "{}"), "");
  expect_json(life.object.at("spec").at("template").at("spec").at("containers"),
              "[{'name':'x','image':'1','resources':{}}]");
}

TEST(Apply, AtomicFieldsGoAsAWhole) {
  Life life = deploy();
  life.apply("a", "{'spec':{'selector':{'matchLabels':{'a':'b'}},'template':{'spec':{'tolerations':[{'key':'k'}]}}}}");
  EXPECT_EQ(life.apply("b", "{'spec':{'selector':{'matchLabels':{'c':'d'}}}}"),
            "409 Conflict Apply failed with 1 conflict: conflict with \"a\": .spec.selector");
  EXPECT_EQ(
      life.apply("b", "{'spec':{'selector':{'matchLabels':{'c':'d'}},'template':{'spec':{'tolerations':[]}}}}", true),
      "");
  expect_json(life.object.at("spec").at("selector"), "{'matchLabels':{'c':'d'}}");
  EXPECT_EQ(owners(life.object),
            "b Apply 03 {'f:spec':{'f:selector':{},'f:template':{'f:spec':{'f:tolerations':{}}}}}\n");
}

TEST(Apply, TakesTheOrderOfTheConfigForWhatBothHave) {
  const auto custom =
      CustomSchema::build(obj("{'type':'object','properties':{'s':{'type':'array','items':{'type':'string'},'x-"
                              "kubernetes-list-type':'set'}}}"));
  Life life{custom->root(), "e.com/v1", "E"};
  life.apply("a", "{'s':['z','y','x']}");
  life.apply("b", "{'s':['x','w','z']}");
  expect_json(life.object.at("s"), "['y','x','w','z']");
  life.apply("a", "{'s':['y']}");
  expect_json(life.object.at("s"), "['y','x','w','z']");
}

TEST(Apply, GivesUpOnlyWhatItNoLongerNames) {
  Life life = config();
  life.apply("a", "{'data':{'p':'1','q':'1'}}");
  life.update("u", obj("{'metadata':{'name':'x'},'data':{'p':'2','q':'1'}}"));  // p is u's
  EXPECT_EQ(life.apply("a", "{'data':{'q':'1'}}"), "");
  EXPECT_EQ(data_of(life), "{\"p\":\"2\",\"q\":\"1\"}");
}

TEST(Apply, StatusIsASetOfItsOwn) {
  Life life = deploy();
  life.apply("a", "{'spec':{'replicas':1}}");
  life.reset = obj("{'f:spec':{}}");
  EXPECT_EQ(life.apply("a", "{'spec':{'paused':true},'status':{'replicas':1}}", false, "status"), "");
  EXPECT_EQ(owners(life.object),
            "a Apply 01 {'f:spec':{'f:replicas':{}}}\na Apply/status 02 {'f:status':{'f:replicas':{}}}\n");
  EXPECT_EQ(
      life.apply("b", "{'status':{'replicas':2}}", false, "status"),
      "409 Conflict Apply failed with 1 conflict: conflict with \"a\" with subresource \"status\": .status.replicas");
}

struct BadConfig {
  const char* config;
  const char* error;
};

TEST(Apply, RefusesConfigsThatDoNotFit) {
  const std::string typed = "500  failed to create typed patch object (n/x; /v1, Kind=Pod): ";
  const BadConfig cases[] = {
      {"{'spec':{'containers':[{'name':'a'},{'name':'a'}]}}",
       ".spec.containers: duplicate entries for key [name=\"a\"]"},
      {"{'spec':{'containers':[{'name':'a','imag':'w'}]}}",
       ".spec.containers[name=\"a\"].imag: field not declared in schema"},
      {"{'spec':{'containers':[null]}}",
       ".spec.containers: element 0: associative list with keys may not have a null element"},
      {"{'spec':{'containers':['x']}}",
       ".spec.containers: element 0: associative list with keys may not have non-map elements"},
      {"{'spec':{'containers':{'a':1}}}", ".spec.containers: expected list, got &{map[a:1]}"},
      {"{'spec':{'terminationGracePeriodSeconds':'x'}}",
       ".spec.terminationGracePeriodSeconds: expected numeric (int or float), got string"},
      {"{'spec':{'hostNetwork':'x'}}", ".spec.hostNetwork: expected boolean, got &{x}"},
      {"{'spec':{'nodeName':true}}", ".spec.nodeName: expected string, got &value.valueUnstructured{Value:true}"},
      {"{'spec':5}", ".spec: expected map, got &{5}"},
      {"{'metadata':{'finalizers':['a','a']}}", ".metadata.finalizers: duplicate entries for key [=\"a\"]"},
      {"{'metadata':{'finalizers':[{}]}}",
       ".metadata.finalizers: element 0: associative list without keys has an element that's a map type"},
  };
  for (const auto& test : cases) {
    Life life{pod(), "v1", "Pod"};
    json::object config = obj(test.config);
    json::value& metadata = config["metadata"];
    if (!metadata.is_object()) metadata.emplace_object();
    metadata.as_object()["name"] = "x";
    metadata.as_object()["namespace"] = "n";
    EXPECT_EQ(life.apply("a", json::serialize(config)), typed + test.error);
  }
  Life life = config();
  EXPECT_EQ(life.apply("a", "{'metadata':{'managedFields':[]}}"), "400 BadRequest metadata.managedFields must be nil");
  const auto wrong =
      apply_patch({}, obj("{'apiVersion':'apps/v1','kind':'X'}"), config_map(), life.writer("a"), false, {});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "invalid object type: apps/v1, Kind=X");
}

TEST(Apply, KubectlTakesOverWhatItsClientSideApplySet) {
  const std::string last =
      R"({\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\"},\"data\":{\"p\":\"1\"}}\n)";
  Life life = config();
  life.update(
      "kubectl-client-side-apply",
      json::parse(R"({"metadata":{"name":"x","annotations":{"kubectl.kubernetes.io/last-applied-configuration":")" +
                  last + R"("}},"data":{"p":"1","q":"1"}})")
          .as_object());
  EXPECT_EQ(life.apply("other", "{'data':{'p':'2'}}"),
            "409 Conflict Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using v1: .data.p");
  EXPECT_EQ(life.apply("kubectl", "{'data':{'p':'2','q':'2'}}"),
            "409 Conflict Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using v1: .data.q");
  EXPECT_EQ(life.apply("kubectl", "{'metadata':{'name':'x'},'data':{'p':'<2>'}}"), "");
  EXPECT_EQ(life.object.at("metadata").at("annotations").at("kubectl.kubernetes.io/last-applied-configuration"),
            "{\"apiVersion\":\"v1\",\"data\":{\"p\":\"\\u003c2\\u003e\"},\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
            "\"x\"}}\n");
}

TEST(Apply, NullsInAConfigAreLeavesThatAreOwned) {
  Life life = config();
  EXPECT_EQ(life.apply("a", "{'data':null}"), "");
  EXPECT_EQ(owners(life.object), "a Apply 01 {'f:data':{}}\n");
}

TEST(Apply, UnknownFieldsOfPreservingSchemasAreGranular) {
  const auto custom = CustomSchema::anything();
  Life life{custom->root(), "e.com/v1", "E"};
  life.apply("a", "{'spec':{'m':{'x':1},'l':[1]}}");
  life.apply("b", "{'spec':{'m':{'y':1}}}");
  EXPECT_EQ(life.apply("b", "{'spec':{'l':[2]}}"),
            "409 Conflict Apply failed with 1 conflict: conflict with \"a\": .spec.l");
  EXPECT_EQ(owners(life.object),
            "a Apply 01 {'f:spec':{'.':{},'f:l':{},'f:m':{'.':{},'f:x':{}}}}\n"
            "b Apply 02 {'f:spec':{'.':{},'f:m':{'.':{},'f:y':{}}}}\n");
}

}  // namespace
}  // namespace hookd::embedded
