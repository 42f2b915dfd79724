#include "embedded/merge/patch.h"
#include "unit/embedded/merge/merge_testing.h"

namespace hookd::embedded {
namespace {

struct PatchCase {
  const char* document;
  const char* patch;
  const char* result;  // "" = refused with 422
};

TEST(JsonPatch, FollowsRfc6902AndTheServersLibrary) {
  const PatchCase cases[] = {
      {"{'a':1}", "[]", "{'a':1}"},
      {"{'a':1}", "[{'op':'add','path':'/b','value':[1]}]", "{'a':1,'b':[1]}"},
      {"{'a':1}", "[{'op':'add','path':'/a','value':2}]", "{'a':2}"},
      {"{'a':1}", "[{'op':'add','path':'/b'}]", "{'a':1,'b':null}"},
      {"{'a':{'b':1}}", "[{'op':'remove','path':'/a/b'}]", "{'a':{}}"},
      {"{'a':1}", "[{'op':'remove','path':'/b'}]", ""},
      {"{'a':1}", "[{'op':'replace','path':'/a','value':null}]", "{'a':null}"},
      {"{'a':1}", "[{'op':'replace','path':'/b','value':2}]", "{'a':1,'b':2}"},
      {"{'a':1}", "[{'op':'replace','path':'','value':{'z':1}}]", "{'z':1}"},
      {"{'a':1}", "[{'op':'replace','path':'','value':5}]", ""},
      {"{'a/b':1,'c~d':2}", "[{'op':'remove','path':'/a~1b'},{'op':'replace','path':'/c~0d','value':3}]", "{'c~d':3}"},
      {"{'~1':1}", "[{'op':'remove','path':'/~01'}]", "{}"},
      {"{'l':[1,2]}", "[{'op':'add','path':'/l/-','value':3}]", "{'l':[1,2,3]}"},
      {"{'l':[1,2]}", "[{'op':'add','path':'/l/0','value':3}]", "{'l':[3,1,2]}"},
      {"{'l':[1,2]}", "[{'op':'add','path':'/l/2','value':3}]", "{'l':[1,2,3]}"},
      {"{'l':[1,2]}", "[{'op':'add','path':'/l/3','value':3}]", ""},
      {"{'l':[1,2]}", "[{'op':'add','path':'/l/-1','value':3}]", "{'l':[1,2,3]}"},
      {"{'l':[1,2]}", "[{'op':'remove','path':'/l/-1'}]", "{'l':[1]}"},
      {"{'l':[1,2]}", "[{'op':'remove','path':'/l/-3'}]", ""},
      {"{'l':[1,2]}", "[{'op':'replace','path':'/l/1','value':9}]", "{'l':[1,9]}"},
      {"{'l':[1,2]}", "[{'op':'replace','path':'/l/x','value':9}]", ""},
      {"{'l':[{'a':1}]}", "[{'op':'replace','path':'/l/0/a','value':9}]", "{'l':[{'a':9}]}"},
      {"{'a':1,'b':{}}", "[{'op':'move','from':'/a','path':'/b/c'}]", "{'b':{'c':1}}"},
      {"{'a':{'b':1}}", "[{'op':'move','from':'/a','path':'/a/b'}]", ""},
      {"{'a':1}", "[{'op':'move','from':'/b','path':'/c'}]", ""},
      {"{'a':{'b':1}}", "[{'op':'copy','from':'/a','path':'/a/c'}]", "{'a':{'b':1,'c':{'b':1}}}"},
      {"{'a':1}", "[{'op':'copy','from':'/b','path':'/c'}]", "{'a':1,'c':null}"},
      {"{'a':1}", "[{'op':'copy','path':'/c'}]", ""},
      {"{'a':{'x':[1,null]}}", "[{'op':'test','path':'/a','value':{'x':[1,null]}}]", "{'a':{'x':[1,null]}}"},
      {"{'a':1}", "[{'op':'test','path':'/a','value':2}]", ""},
      {"{'a':1}", "[{'op':'test','path':'/a','value':1.0}]", ""},
      {"{'a':1}", "[{'op':'test','path':'/b','value':null}]", "{'a':1}"},
      {"{'a':1}", "[{'op':'test','path':'/b','value':1}]", ""},
      {"{'a':1}", "[{'op':'test','path':'','value':{'a':1}}]", "{'a':1}"},
      {"{'a':1}", "[{'op':'what','path':'/a'}]", ""},
      {"{'a':1}", "[{'op':'add','value':1}]", ""},
      {"{'a':1}", "[{'op':'add','path':'','value':{}}]", ""},
      {"{'a':1}", "[{'op':'add','path':'/x/y','value':{}}]", ""},
      {"{'a':1}", "[{'op':'add','path':'b','value':2}]", ""},
      {"{'a':1}", "[{'op':'add','path':'x/b','value':2}]", "{'a':1,'b':2}"},
      {"{'a':1}", "[null]", ""},
      {"{'a':1}", "null", "{'a':1}"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(std::string(test.document) + " " + test.patch);
    const auto result = json_patch(js(test.document), js(test.patch));
    if (*test.result != '\0') {
      ASSERT_TRUE(result) << result.error().message;
      expect_json(*result, test.result);
    } else {
      ASSERT_FALSE(result) << sorted(*result);
      EXPECT_EQ(result.error().code, 422);
      EXPECT_EQ(result.error().reason, "Invalid");
      EXPECT_EQ(result.error().message, "the server rejected our request due to an error in our request");
    }
  }
}

TEST(JsonPatch, NamesWhatIsNoPatch) {
  const std::pair<const char*, const char*> cases[] = {
      {"{}", "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"},
      {"5", "error decoding patch: json: cannot unmarshal number into Go value of type []handlers.jsonPatchOp"},
      {"['x']", "error decoding patch: json: cannot unmarshal string into Go value of type handlers.jsonPatchOp"},
      {"[{'op':5}]",
       "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"},
      {"[{'op':'add','path':[]}]",
       "error decoding patch: json: cannot unmarshal array into Go struct field jsonPatchOp.path of type string"},
  };
  for (const auto& [patch, message] : cases) {
    const auto result = json_patch(js("{}"), js(patch));
    ASSERT_FALSE(result) << patch;
    EXPECT_EQ(result.error().code, 400);
    EXPECT_EQ(result.error().reason, "BadRequest");
    EXPECT_EQ(result.error().message, message);
  }
}

TEST(JsonPatch, KeepsItsBounds) {
  const json::array many(10'001, js("{'op':'test','path':'/a','value':1}"));
  const auto too_many = json_patch(js("{'a':1}"), many);
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().code, 413);
  EXPECT_NE(too_many.error().message.find("maximum operations in a JSON patch is 10000, got 10001"), std::string::npos);

  // each copy doubles the document
  const json::array doubling(40, js("{'op':'copy','from':'/a','path':'/a/-'}"));
  const auto too_large = json_patch(js("{'a':[1]}"), doubling);
  ASSERT_FALSE(too_large);
  EXPECT_EQ(too_large.error().code, 422);
  json::array nested;
  for (int i = 0; i < 2000; ++i) {
    nested.push_back(js("{'op':'add','path':'/b','value':{}}"));
    nested.push_back(js("{'op':'move','from':'/a','path':'/b/a'}"));
    nested.push_back(js("{'op':'move','from':'/b','path':'/a'}"));
  }
  const auto too_deep = json_patch(js("{'a':{}}"), nested);
  ASSERT_FALSE(too_deep);
  EXPECT_EQ(too_deep.error().code, 422);
}

TEST(MergePatch, FollowsRfc7386AndTheServersLibrary) {
  const PatchCase cases[] = {
      {"{'a':1}", "{}", "{'a':1}"},
      {"{'a':1,'b':2}", "{'a':null,'c':null}", "{'b':2}"},
      {"{'a':{'b':1,'c':2}}", "{'a':{'b':null,'d':3}}", "{'a':{'c':2,'d':3}}"},
      {"{'a':[1,2]}", "{'a':[3]}", "{'a':[3]}"},
      {"{'a':1}", "{'a':{'b':null,'c':1}}", "{'a':{'c':1}}"},
      {"{'a':{'x':1}}", "{'a':5}", "{'a':5}"},
      {"{}", "{'a':{'b':null},'l':[{'x':null,'y':1},null]}", "{'a':{},'l':[{'y':1},null]}"},
      {"{'l':{'x':1}}", "{'l':[{'x':null}]}", "{'l':[{'x':null}]}"},
      {"{'a':1}", "[1]", "[1]"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(std::string(test.document) + " " + test.patch);
    expect_json(merge_patch(js(test.document), js(test.patch)), test.result);
  }
}

}  // namespace
}  // namespace hookd::embedded
