#include "embedded/merge/managed_fields.h"
#include "embedded/merge/patch.h"
#include "unit/embedded/merge/merge_testing.h"

namespace hookd::embedded {

void Life::change(const std::string& manager, const std::string& patch, const std::string& subresource) {
  update(manager, merge_patch(object, js(patch)).as_object(), subresource);
}

namespace {

Life config() { return {config_map(), "v1", "ConfigMap"}; }

TEST(ManagedUpdate, TheWriterOwnsWhatItChanged) {
  Life life = config();
  life.update("a", obj("{'metadata':{'name':'x','labels':{'l':'1'}},'data':{'p':'1','q':'2'}}"));
  EXPECT_EQ(owners(life.object),
            "a Update 01 {'f:data':{'.':{},'f:p':{},'f:q':{}},'f:metadata':{'f:labels':{'.':{},'f:l':{}}}}\n");
  life.change("b", "{'data':{'p':'3','r':'4'}}");
  EXPECT_EQ(owners(life.object),
            "a Update 01 {'f:data':{'.':{},'f:q':{}},'f:metadata':{'f:labels':{'.':{},'f:l':{}}}}\n"
            "b Update 02 {'f:data':{'f:p':{},'f:r':{}}}\n");
  life.change("c", "{'data':{'p':null},'metadata':{'labels':null}}");
  EXPECT_EQ(owners(life.object), "a Update 01 {'f:data':{'.':{},'f:q':{}}}\nb Update 02 {'f:data':{'f:r':{}}}\n");
}

TEST(ManagedUpdate, AWriteWithoutEffectChangesNothing) {
  Life life = config();
  life.update("a", obj("{'metadata':{'name':'x'},'data':{'p':'1'}}"));
  const auto before = life.object;
  life.change("b", "{'data':{'p':'1'}}");
  life.update("a", before);
  EXPECT_EQ(sorted(life.object), sorted(before));
}

TEST(ManagedUpdate, AnObjectThatOnlyGotANewTimeKeepsTheOld) {
  auto live = obj("{'metadata':{'managedFields':[{'manager':'a','time':'1','fieldsV1':{}}]},'data':{'a':'b'}}");
  auto next = live;
  next["metadata"].as_object()["managedFields"].as_array()[0].as_object()["time"] = "2";
  auto other = next;
  keep_managed_times_if_unchanged(live, next);
  EXPECT_EQ(sorted(next), sorted(live));
  other["data"] = obj("{'a':'c'}");
  keep_managed_times_if_unchanged(live, other);
  EXPECT_NE(sorted(other).find("\"time\":\"2\""), std::string::npos);
}

TEST(ManagedUpdate, NobodyOwnsWhatIdentifiesAnObjectNorWhatIsReset) {
  Life life{deployment(), "apps/v1", "Deployment", obj("{'f:status':{}}")};
  life.update(
      "a",
      obj("{'metadata':{'name':'x','namespace':'y','generation':1},'spec':{'replicas':1},'status':{'replicas':1}}"));
  EXPECT_EQ(owners(life.object), "a Update 01 {'f:spec':{'f:replicas':{}}}\n");
}

TEST(ManagedUpdate, SubresourcesHaveEntriesOfTheirOwn) {
  Life life{deployment(), "apps/v1", "Deployment", obj("{'f:status':{}}")};
  life.update("a", obj("{'metadata':{'name':'x'},'spec':{'replicas':1}}"));
  life.reset = obj("{'f:spec':{}}");
  life.change("a", "{'status':{'replicas':1},'metadata':{'managedFields':null}}", "status");
  EXPECT_EQ(owners(life.object),
            "a Update 01 {'f:spec':{'f:replicas':{}}}\na Update/status 02 {'f:status':{'f:replicas':{}}}\n");
}

TEST(ManagedUpdate, OnlyCertainFieldsMayBeOwned) {
  json::object live = obj("{'spec':{'containers':[{'name':'a','image':'x'}]}}");
  json::object next = obj("{'spec':{'containers':[{'name':'a','image':'y','resources':{'limits':{'cpu':'1'}}}]}}");
  Writer writer;
  writer.manager = "a";
  writer.api_version = "v1";
  writer.subresource = "resize";
  writer.only_fields = obj("{'f:spec':{'f:containers':{'*':{'f:resources':{}}}}}");
  live["metadata"] =
      obj("{'uid':'u','managedFields':[{'manager':'z','operation':'Update','apiVersion':'v1','fieldsType':'FieldsV1',"
          "'fieldsV1':{'f:spec':{'f:hostname':{}}}}]}");
  next["metadata"] = live["metadata"];
  update_managed_fields(live, next, pod(), writer, {});
  EXPECT_EQ(owners(next),
            "z Update {'f:spec':{'f:hostname':{}}}\n"
            "a Update/resize 00 "
            "{'f:spec':{'f:containers':{'k:{\\'name\\':\\'a\\'}':{'f:resources':{'.':{},'f:limits':{'.':{},'f:cpu':{}}}"
            "}}}}\n");
}

TEST(ManagedUpdate, ClientsMayResetAndEditButNotLoseThem) {
  Life life = config();
  life.update("a", obj("{'metadata':{'name':'x'},'data':{'p':'1'}}"));
  life.change("b", "{'metadata':{'managedFields':null},'data':{'q':'1'}}");
  EXPECT_EQ(owners(life.object), "a Update 01 {'f:data':{'.':{},'f:p':{}}}\nb Update 02 {'f:data':{'f:q':{}}}\n");
  life.change(
      "b",
      "{'metadata':{'managedFields':[{'manager':'z','operation':'Update','apiVersion':'v1','fieldsType':'FieldsV1',"
      "'fieldsV1':{'f:data':{'f:p':{}}}}]}}");
  EXPECT_EQ(owners(life.object), "z Update {'f:data':{'f:p':{}}}\n");
  life.change("b", "{'metadata':{'managedFields':[{'manager':'y','operation':'Wrong','apiVersion':'v1'}]}}");
  EXPECT_EQ(owners(life.object), "z Update {'f:data':{'f:p':{}}}\n");
  life.change("b", "{'metadata':{'managedFields':[{}]},'data':{'q':'2'}}");
  EXPECT_EQ(owners(life.object), "");
  life.change("b", "{'data':{'q':'3'}}");  // not tracked until somebody applies
  EXPECT_EQ(owners(life.object), "");
}

TEST(ManagedUpdate, AnEmptyListResetsBuiltInKindsOnly) {
  const std::string entry =
      "{'manager':'z','operation':'Update','apiVersion':'v1','fieldsType':'FieldsV1','fieldsV1':{'f:data':{}}}";
  const auto live = obj("{'metadata':{'uid':'u','managedFields':[" + entry + "]},'data':{}}");
  const auto custom = CustomSchema::anything();
  for (const bool builtin : {true, false}) {
    auto next = obj("{'metadata':{'uid':'u','managedFields':[]},'data':{}}");
    Writer writer;
    writer.manager = "a";
    writer.api_version = "v1";
    update_managed_fields(live, next, builtin ? config_map() : custom->root(), writer, {});
    EXPECT_EQ(owners(next), builtin ? "" : "z Update {'f:data':{}}\n");
  }
}

TEST(ManagedUpdate, KeepsTenUpdateEntriesAtMost) {
  Life life = config();
  life.update("m00", obj("{'metadata':{'name':'x'},'data':{'k00':'1'}}"));
  for (int i = 1; i <= 11; ++i) {
    const std::string n = std::to_string(i);
    const std::string number = n.size() == 1 ? "0" + n : n;
    life.change("m" + number, "{'data':{'k" + number + "':'1'}}");
  }
  const std::string all = owners(life.object);
  EXPECT_EQ(std::ranges::count(all, '\n'), 10);
  EXPECT_EQ(all.substr(0, all.find('\n')),
            "ancient-changes Update 03 {'f:data':{'.':{},'f:k00':{},'f:k01':{},'f:k02':{}}}");
}

TEST(ManagedUpdate, ForgetsVersionsThatAreNotServed) {
  json::object live =
      obj("{'metadata':{'uid':'u','managedFields':[{'manager':'z','operation':'Update','apiVersion':'v0','fieldsType':'"
          "FieldsV1',"
          "'fieldsV1':{'f:data':{}}}]},'data':{'a':'1'}}");
  json::object next = live;
  next["data"].as_object()["a"] = "2";
  Writer writer;
  writer.manager = "a";
  writer.api_version = "v1";
  writer.served_versions = {"v1"};
  update_managed_fields(live, next, config_map(), writer, {});
  EXPECT_EQ(owners(next), "a Update 00 {'f:data':{'f:a':{}}}\n");
}

TEST(ManagedUpdate, AnObjectThatDoesNotFitItsSchemaLosesThem) {
  json::object live =
      obj("{'metadata':{'uid':'u','managedFields':[{'manager':'z','operation':'Update','apiVersion':'v1','fieldsType':'"
          "FieldsV1',"
          "'fieldsV1':{'f:data':{}}}]},'data':{'a':'1'}}");
  json::object next = live;
  next["data"] = "x";
  Writer writer;
  writer.api_version = "v1";
  update_managed_fields(live, next, config_map(), writer, {});
  EXPECT_EQ(owners(next), "");
}

}  // namespace
}  // namespace hookd::embedded
