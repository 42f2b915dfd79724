// A world of Pods under one rule, and the plan for it.
#pragma once

#include <gmock/gmock.h>

#include "base/json_read.h"
#include "unit/reconcile/child_kinds.h"

namespace hookd::reconcile {

using apply::Operation;
using apply::Verb;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Update = hook::ChildRule::Update;

inline constexpr char kOurs[] = R"({"apiVersion":"cache.example.com/v1","kind":"Memcached","name":"m","uid":"up",)"
                                R"("controller":true,"blockOwnerDeletion":true})";

class PlanChildren : public testing::Test {
 protected:
  // A world of Pods under one rule.
  void rule(Update update) {
    kinds = {};
    kinds.add(test::pods(), update);
  }
  static std::string manifest(std::string_view name, std::string_view image, std::string_view meta = "") {
    return fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}"{}}},"spec":{{"image":"{}"}}}})",
                       name, meta, image);
  }
  void want(std::vector<std::string> manifests) {
    std::vector<std::string_view> views(manifests.begin(), manifests.end());
    auto read = read_desired(views, kinds.kinds, parent_type, parent);
    ASSERT_TRUE(read) << read.error().what;
    desired = *std::move(read);
  }
  // An object as the server has it: `mark` and `more` are what hookd put on it and others added.
  cache::ObjectPtr object(std::string_view name, std::string_view image, std::string_view mark = "",
                          std::string_view more = "", std::string_view meta = "", std::string_view owner = kOurs) {
    const std::string uid = fmt::format("u-{}", name), version = std::to_string(++version_);
    std::string all = fmt::format(R"("resourceVersion":"{}","generation":1)", version);
    if (!owner.empty()) all += fmt::format(R"(,"ownerReferences":[{}])", owner);
    if (!mark.empty()) all += fmt::format(R"(,"annotations":{{"{}":"{}"}})", kManifestHash, mark);
    all += meta;
    return test::make_object("a", std::string(name), uid, version,
                             test::object_json(test::pods(), "a", name, uid, all,
                                               fmt::format(R"("spec":{{"image":"{}","node":"n"}}{})", image, more)));
  }
  void have(cache::ObjectPtr child) { observed.push_back({kinds.kinds[0], std::move(child)}); }
  std::string mark_of(const std::string& manifest) {
    const auto read = read_desired({manifest}, kinds.kinds, parent_type, parent);
    return read ? fmt::format("1-{:016x}", read->front().hash) : "";
  }
  ChildPlan plan() {
    return plan_children(
        {.parent_type = parent_type,
         .parent = parent,
         .desired = desired,
         .observed = observed,
         .other = [this](const ChildKind&, std::string_view ns, std::string_view name) -> cache::ObjectPtr {
           EXPECT_EQ(ns, "a");
           return foreign && foreign->name == name ? foreign : nullptr;
         },
         .memory = memory,
         .remove = remove,
         .write = write});
  }
  // As the reconciler does it after the writes went well and the watch told of them.
  void remember(const ChildPlan& plan, size_t index, const cache::ObjectPtr& after) {
    memory.wrote(plan.written.at(index), after->uid, after->text.unpack());
  }
  void expect_nothing(const ChildPlan& plan) {
    EXPECT_THAT(plan.removals, IsEmpty());
    EXPECT_THAT(plan.writes, IsEmpty());
    EXPECT_THAT(plan.conflicts, IsEmpty());
  }
  static void expect_delete(const Operation& op, std::string_view name) {
    EXPECT_EQ(op.describe(), fmt::format("Delete Pod a/{}", name));
    EXPECT_EQ(op.verb, Verb::kDelete);
    EXPECT_EQ(op.uid, fmt::format("u-{}", name));
    EXPECT_EQ(op.propagation_policy, "Background");
  }
  static std::string at(const Operation& op, std::initializer_list<std::string_view> path) {
    return std::string(json_raw_at(op.object, path).value_or("nothing"));
  }

  test::ChildKinds kinds;
  kube::ResourceType parent_type = test::memcacheds();
  cache::Identity parent{"a", "m", "up", "1"};
  std::vector<Desired> desired;
  std::vector<Observed> observed;
  cache::ObjectPtr foreign;
  WriteMemory memory;
  bool remove = true, write = true;
  int version_ = 10;
};

}  // namespace hookd::reconcile
