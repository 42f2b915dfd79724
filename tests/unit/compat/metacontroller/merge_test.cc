#include "compat/metacontroller/merge.h"

#include "base/random.h"
#include "compat/metacontroller/names.h"
#include "unit/compat/metacontroller/values.h"

namespace hookd::metacontroller {
namespace {

using test::json;

struct Case {
  const char* fact;
  const char* observed;
  const char* last;
  const char* desired;
  const char* merged;
};

// Every rule of controllers.md 1.5.
const Case kCases[] = {
    {"a key that is wanted is set", R"({"a":1})", "{}", R"({"b":2})", R"({"a":1,"b":2})"},
    {"a key that was applied and is not wanted any more goes", R"({"a":1,"b":2})", R"({"b":2})", "{}", R"({"a":1})"},
    {"a key that was never applied stays", R"({"a":1,"b":2})", "{}", R"({"a":3})", R"({"a":3,"b":2})"},
    {"maps are merged at every depth", R"({"a":{"b":{"x":1,"y":2}}})", R"({"a":{"b":{"y":2}}})",
     R"({"a":{"b":{"z":3}}})", R"({"a":{"b":{"x":1,"z":3}}})"},
    {"a map that is not wanted any more goes with what others put into it", R"({"a":{"b":1,"c":2}})",
     R"({"a":{"b":1}})", "{}", "{}"},
    {"an applied key that is gone already stays gone", R"({"x":1})", R"({"a":1})", "{}", R"({"x":1})"},
    {"scalars are replaced, also by a map", R"({"a":1})", R"({"a":1})", R"({"a":{"b":2}})", R"({"a":{"b":2}})"},
    {"null in the object is replaced by a list", R"({"a":null})", "{}", R"({"a":[1]})", R"({"a":[1]})"},
    {"a list of scalars is replaced whole", R"({"a":[1,2,3]})", R"({"a":[1,2]})", R"({"a":[4]})", R"({"a":[4]})"},
    {"a list with one scalar among maps is replaced whole", R"({"a":[{"name":"x","v":1},2]})", "{}",
     R"({"a":[{"name":"y"}]})", R"({"a":[{"name":"y"}]})"},
    {"a list of maps is merged by name, others' items and fields stay",
     R"({"a":[{"name":"x","v":1,"other":9},{"name":"theirs"}]})", R"({"a":[{"name":"x","v":1}]})",
     R"({"a":[{"name":"x","v":2}]})", R"({"a":[{"name":"x","v":2,"other":9},{"name":"theirs"}]})"},
    {"an item that was applied and is not wanted any more goes", R"({"a":[{"name":"x"},{"name":"y"},{"name":"z"}]})",
     R"({"a":[{"name":"x"},{"name":"y"}]})", R"({"a":[{"name":"y"}]})", R"({"a":[{"name":"y"},{"name":"z"}]})"},
    {"order: as observed, new ones behind as wanted", R"({"a":[{"name":"c"},{"name":"a"}]})", R"({"a":[]})",
     R"({"a":[{"name":"z"},{"name":"a","v":1},{"name":"b"}]})",
     R"({"a":[{"name":"c"},{"name":"a","v":1},{"name":"z"},{"name":"b"}]})"},
    {"containerPort comes before name",
     R"({"a":[{"containerPort":80,"name":"x","protocol":"TCP"},{"containerPort":81,"name":"y"}]})",
     R"({"a":[{"containerPort":80,"name":"x"}]})", R"({"a":[{"containerPort":80,"name":"renamed"}]})",
     R"({"a":[{"containerPort":80,"name":"renamed","protocol":"TCP"},{"containerPort":81,"name":"y"}]})"},
    {"port comes before name", R"({"a":[{"port":80,"name":"x","nodePort":3}]})", "{}",
     R"({"a":[{"port":80,"name":"y"}]})", R"({"a":[{"port":80,"name":"y","nodePort":3}]})"},
    {"mountPath comes before name", R"({"a":[{"mountPath":"/a","name":"v","readOnly":true}]})", "{}",
     R"({"a":[{"mountPath":"/a","name":"w"},{"mountPath":"/b","name":"v"}]})",
     R"({"a":[{"mountPath":"/a","name":"w","readOnly":true},{"mountPath":"/b","name":"v"}]})"},
    {"name comes before uid", R"({"a":[{"name":"x","uid":"1","k":1}]})", "{}", R"({"a":[{"name":"x","uid":"2"}]})",
     R"({"a":[{"name":"x","uid":"2","k":1}]})"},
    {"uid before ip", R"({"a":[{"uid":"1","ip":"a","k":1}]})", "{}", R"({"a":[{"uid":"1","ip":"b"}]})",
     R"({"a":[{"uid":"1","ip":"b","k":1}]})"},
    {"ip before path", R"({"a":[{"ip":"1","path":"a","k":1}]})", "{}", R"({"a":[{"ip":"1","path":"b"}]})",
     R"({"a":[{"ip":"1","path":"b","k":1}]})"},
    {"path is the last", R"({"a":[{"path":"p","k":1}]})", "{}", R"({"a":[{"path":"p","v":1}]})",
     R"({"a":[{"path":"p","k":1,"v":1}]})"},
    {"a key that one item of what was applied lacks does not count", R"({"a":[{"name":"x","port":1,"k":1}]})",
     R"({"a":[{"name":"x"}]})", R"({"a":[{"name":"x","port":2}]})", R"({"a":[{"name":"x","port":2,"k":1}]})"},
    {"no common key: replaced whole", R"({"a":[{"id":1,"k":1}]})", "{}", R"({"a":[{"id":1}]})", R"({"a":[{"id":1}]})"},
    {"key values that are no text are compared as text", R"({"a":[{"port":80,"k":1}]})", "{}",
     R"({"a":[{"port":"80"}]})", R"({"a":[{"port":"80","k":1}]})"},
    {"an empty wanted list takes away what was applied, not what others put in",
     R"({"a":[{"name":"x"},{"name":"theirs"}]})", R"({"a":[{"name":"x"}]})", R"({"a":[]})",
     R"({"a":[{"name":"theirs"}]})"},
    {"three empty lists", R"({"a":[]})", R"({"a":[]})", R"({"a":[]})", R"({"a":[]})"},
    {"a merge key that stands twice does not fit: the next one does (port 53 of TCP and UDP)",
     R"({"a":[{"port":53,"name":"tcp","n":1},{"port":53,"name":"udp","n":2}]})", "{}",
     R"({"a":[{"port":53,"name":"tcp"},{"port":53,"name":"udp"}]})",
     R"({"a":[{"port":53,"name":"tcp","n":1},{"port":53,"name":"udp","n":2}]})"},
    {"if none fits the list is replaced whole", R"({"a":[{"port":53,"k":1},{"port":53,"k":2}]})", "{}",
     R"({"a":[{"port":53},{"port":54}]})", R"({"a":[{"port":53},{"port":54}]})"},
    {"null is as if it were not there", R"({"a":1})", "{}", R"({"a":null,"b":{"c":null}})", R"({"a":1,"b":{}})"},
    {"null takes away what was applied", R"({"a":1,"b":2})", R"({"a":1})", R"({"a":null})", R"({"b":2})"},
    {"large integers stay exact", R"({"a":1})", "{}", R"({"a":9223372036854775807,"b":18446744073709551615})",
     R"({"a":9223372036854775807,"b":18446744073709551615})"},
};

TEST(Merge, FollowsEveryRule) {
  for (const Case& one : kCases) {
    const auto merged = merge(json(one.observed), json(one.last), json(one.desired));
    ASSERT_TRUE(merged) << one.fact << ": " << merged.error().what;
    EXPECT_EQ(*merged, json(one.merged)) << one.fact << "\n" << merged->to_json();
    const auto again = merge(*merged, without_nulls(json(one.desired)), json(one.desired));
    ASSERT_TRUE(again) << one.fact;
    EXPECT_EQ(*again, *merged) << one.fact << ": a second time changes nothing";
  }
}

TEST(Merge, TellsWhereTwoKindsClash) {
  const auto map = merge(json(R"({"spec":{"a":{"b":1}}})"), json("{}"), json(R"({"spec":{"a":[1]}})"));
  ASSERT_FALSE(map);
  EXPECT_EQ(map.error().code, Errc::kInvalid);
  EXPECT_EQ(map.error().what, ".spec.a is of two kinds: the object has a object, the hook wants a list");
  EXPECT_FALSE(merge(json(R"({"a":[1]})"), json("{}"), json(R"({"a":"x"})")));
  EXPECT_FALSE(merge(json(R"({"a":{}})"), json(R"({"a":[1]})"), json(R"({"a":{}})")));
}

std::string annotation(const Value& object) { return object.text_at({"metadata", "annotations", kLastApplied}); }

TEST(ApplyUpdate, LeavesStatusAndTheServersMetadataAlone) {
  const Value observed = json(
      R"({"metadata":{"name":"a","uid":"u","resourceVersion":"5","generation":2,"creationTimestamp":"t","managedFields":[1]},
          "spec":{"x":1},"status":{"ready":true}})");
  const Value desired = json(
      R"({"metadata":{"name":"a","uid":"other","resourceVersion":"1","creationTimestamp":"never","deletionTimestamp":"d",
          "labels":{"l":"1"}},"spec":{"x":2},"status":{"ready":false}})");
  const auto merged = apply_update(observed, desired);
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged->text_at({"metadata", "uid"}), "u");
  EXPECT_EQ(merged->text_at({"metadata", "resourceVersion"}), "5");
  EXPECT_EQ(merged->text_at({"metadata", "creationTimestamp"}), "t");
  EXPECT_EQ(merged->at_path({"metadata", "deletionTimestamp"}), nullptr);
  EXPECT_EQ(merged->text_at({"metadata", "labels", "l"}), "1");
  EXPECT_EQ(*merged->at_path({"status"}), json(R"({"ready":true})"));
  EXPECT_EQ(*merged->at_path({"spec"}), json(R"({"x":2})"));
}

TEST(ApplyUpdate, TheAnnotationHasNoOwnersAndNoCopyOfItself) {
  const Value desired = json(
      R"({"metadata":{"name":"a","ownerReferences":[{"uid":"o"}],"annotations":{"k":"v",
          "metacontroller.k8s.io/last-applied-configuration":"{\"old\":1}"}},"b":1,"a":null})");
  EXPECT_EQ(annotation(with_last_applied(desired)), R"({"b":1,"metadata":{"annotations":{"k":"v"},"name":"a"}})");
  const Value only =
      json(R"({"metadata":{"name":"a","annotations":{"metacontroller.k8s.io/last-applied-configuration":"x"}}})");
  EXPECT_EQ(annotation(with_last_applied(only)), R"({"metadata":{"name":"a"}})");
}

TEST(ApplyUpdate, AnAnnotationThatSaysTheSameInOtherWordsIsNoChange) {
  const Value observed = json(
      R"({"metadata":{"name":"a","annotations":{"metacontroller.k8s.io/last-applied-configuration":
          "{\"metadata\":{\"name\":\"a\"},\"data\":{\"y\":\"\\u003c\",\"x\":1.0}}"}},"data":{"x":1,"y":"<"}})");
  const auto merged = apply_update(observed, json(R"({"data":{"x":1,"y":"<"},"metadata":{"name":"a"}})"));
  ASSERT_TRUE(merged);
  EXPECT_EQ(*merged, observed);
  EXPECT_EQ(merge_patch(observed, *merged), std::nullopt);
}

TEST(ApplyUpdate, AnAnnotationThatIsNoObjectIsAnError) {
  const auto with = [](std::string_view annotation) {
    Value observed = json(R"({"metadata":{"name":"a"}})");
    observed.at("metadata").at("annotations").set(kLastApplied, Value::string(annotation));
    return apply_update(observed, json(R"({"metadata":{"name":"a"}})"));
  };
  EXPECT_FALSE(with("{"));
  EXPECT_FALSE(with("[]"));
  EXPECT_FALSE(with(R"({"a":1,"a":2})"));
  EXPECT_TRUE(with(""));
}

// RFC 7386, as a server carries it out.
Value patched(const Value& target, const Value& patch) {
  if (!patch.is_object()) return patch;
  Value out = target.is_object() ? target : Value::object();
  for (const auto& [key, value] : patch.members()) {
    if (value.is_null())
      out.erase(key);
    else
      out.set(key, patched(out.find(key) ? *out.find(key) : Value(), value));
  }
  return out;
}

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {}
  Value object(int depth) {
    Value value = Value::object();
    const int members = pick(4);
    for (int i = 0; i < members; ++i) value.set(std::string(1, static_cast<char>('a' + pick(5))), any(depth - 1));
    return value;
  }

 private:
  int pick(int below) { return static_cast<int>(random_.bits() % static_cast<uint64_t>(below)); }
  // The kind belongs to the depth and the choice, so that clashes are rare but do come.
  Value any(int depth) {
    const int kind = depth <= 0 ? pick(2) : pick(5);
    if (kind == 0) return test::json(std::to_string(pick(3)));
    if (kind == 1) return Value::string(std::string(1, static_cast<char>('p' + pick(3))));
    if (kind == 2) return object(depth);
    Value list = Value::array();
    const int items = pick(4);
    for (int i = 0; i < items; ++i) {
      if (kind == 3) {
        list.items().push_back(Value::string(std::to_string(pick(4))));
      } else {
        Value item = object(depth - 1);
        item.set(pick(8) == 0 ? "port" : "name", Value::string("n" + std::to_string(pick(4))));
        list.items().push_back(std::move(item));
      }
    }
    return list;
  }
  SeededRandom random_;
};

TEST(MergePatch, MakesTheOneOfTheOther) {
  EXPECT_EQ(merge_patch(json("{}"), json("{}")), std::nullopt);
  EXPECT_EQ(
      *merge_patch(json(R"({"a":1,"b":{"c":2,"d":3},"l":[1]})"), json(R"({"b":{"c":2,"e":4},"l":[2],"n":{"x":1}})")),
      json(R"({"a":null,"b":{"d":null,"e":4},"l":[2],"n":{"x":1}})"));
  Maker maker(7);
  for (int i = 0; i < 2000; ++i) {
    const Value from = maker.object(4), to = maker.object(4);
    const auto patch = merge_patch(from, to);
    EXPECT_EQ(patch ? patched(from, *patch) : from, to) << from.to_json() << "\n" << to.to_json();
  }
}

TEST(ApplyUpdate, WhatWasMadeFromAnAnswerIsNotChangedByTheSameAnswer) {
  Maker maker(11);
  int merged_count = 0;
  for (int i = 0; i < 3000; ++i) {
    Value desired = maker.object(4);
    desired.at("metadata").set("name", Value::string("x"));
    const Value made = with_last_applied(desired);
    const auto same = apply_update(made, desired);
    ASSERT_TRUE(same) << desired.to_json();
    EXPECT_EQ(*same, made) << desired.to_json();
    // Onto anything else: the second time changes nothing.
    Value observed = maker.object(4);
    observed.at("metadata").set("name", Value::string("x"));
    const auto once = apply_update(observed, desired);
    if (!once) continue;  // a clash of kinds
    ++merged_count;
    const auto twice = apply_update(*once, desired);
    ASSERT_TRUE(twice) << once->to_json() << "\n" << desired.to_json();
    EXPECT_EQ(*twice, *once) << observed.to_json() << "\n" << desired.to_json();
  }
  EXPECT_GT(merged_count, 500);
}

TEST(ApplyUpdate, FieldsOfOthersOutliveAnyNumberOfAnswers) {
  Maker maker(13);
  for (int i = 0; i < 1000; ++i) {
    Value object = with_last_applied(json(R"({"metadata":{"name":"x"}})"));
    object.set("theirs", json(R"({"k":[1,2]})"));
    object.at("metadata").at("labels").set("theirs", Value::string("1"));
    for (int n = 0; n < 3; ++n) {
      Value desired = maker.object(3);
      desired.at("metadata").set("name", Value::string("x"));
      const auto next = apply_update(object, desired);
      if (!next) break;
      object = *next;
      EXPECT_EQ(*object.find("theirs"), json(R"({"k":[1,2]})"));
      EXPECT_EQ(object.text_at({"metadata", "labels", "theirs"}), "1");
    }
  }
}

TEST(ServerSideApply, TheBodyHasNeitherStatusNorWhatTheServerSets) {
  const Value body = for_server_side_apply(json(
      R"({"apiVersion":"v1","kind":"X","metadata":{"name":"a","uid":"u","resourceVersion":"1","generation":3,
          "annotations":{"metacontroller.k8s.io/last-applied-configuration":"{}"},"labels":{"x":"1"}},
          "spec":{"a":null,"b":1},"status":{"c":1}})"));
  EXPECT_EQ(body, json(R"({"apiVersion":"v1","kind":"X","metadata":{"name":"a","labels":{"x":"1"}},"spec":{"b":1}})"));
}

// Found by the fuzzer: the status that is taken out again moved the metadata, which was written to where it had been.
TEST(ApplyUpdate, AStatusThatStandsBeforeTheMetadataChangesNothing) {
  const Value observed = json(R"({"kind":"Pod"})");
  const Value desired = json(R"({"status":{"a":1},"spec":{"b":2},"metadata":{"name":"a"}})");
  const auto once = apply_update(observed, desired);
  ASSERT_TRUE(once);
  EXPECT_EQ(once->find("status"), nullptr);
  EXPECT_EQ(once->text_at({"metadata", "name"}), "a");
  EXPECT_EQ(last_applied_of(*once)->at_path({"spec", "b"})->text(), "2");
  EXPECT_EQ(*apply_update(*once, desired), *once);
}

}  // namespace
}  // namespace hookd::metacontroller
