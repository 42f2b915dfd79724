// A small cluster of one kind for tests of plans: objects with uids, versions, finalizers, and server-side apply of one
// manager. It fails the test where a plan does what it never may.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <map>
#include <set>
#include <string>

#include "apply/operation.h"
#include "base/json_field.h"
#include "base/json_read.h"
#include "reconcile/child_plan.h"
#include "unit/support/objects.h"

namespace hookd::test {

class ChildWorld {
 public:
  struct Stored {
    boost::json::object object;
    boost::json::object applied;  // what our manager applied last
    std::string uid;
    bool ends = false;
    int holds = 0;  // rounds that it takes to go once it ends
  };

  explicit ChildWorld(std::string parent_uid) : parent_uid_(std::move(parent_uid)) {}

  // Somebody else makes an object; `owner` as JSON, "" = none.
  void make(const std::string& name, boost::json::object spec, const std::string& owner = "") {
    boost::json::object object{
        {"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", name}, {"namespace", "a"}}}};
    if (!owner.empty())
      object["metadata"].get_object()["ownerReferences"] = boost::json::array{boost::json::parse(owner)};
    object["spec"] = std::move(spec);
    store(name, std::move(object), {});
  }

  // Carries out one operation as the server does. Returns the object after it, "" = nothing was done.
  std::string apply(const apply::Operation& op, int holds) {
    ++operations;
    if (op.verb == apply::Verb::kDelete) return remove(op, holds);
    if (op.verb == apply::Verb::kMergePatch) return patch(op);
    EXPECT_EQ(op.verb, apply::Verb::kApply);
    auto manifest = boost::json::parse(op.object).get_object();
    auto& meta = manifest["metadata"].get_object();
    const std::string uid = text_field(meta, "uid"), version = text_field(meta, "resourceVersion");
    meta.erase("uid");
    meta.erase("resourceVersion");
    const auto found = objects.find(op.name);
    if (uid.empty()) {
      EXPECT_EQ(version, apply::kMustNotExist) << op.describe() << " could change an object that it does not mean";
      EXPECT_FALSE(op.force);
      if (found != objects.end()) return {};
      store(op.name, manifest, manifest);
      return text(op.name);
    }
    EXPECT_EQ(uid, op.uid);
    if (found == objects.end() || found->second.uid != uid) return {};
    Stored& stored = found->second;
    EXPECT_FALSE(stored.ends) << op.describe() << " ends and is to be left alone";
    EXPECT_TRUE(is_ours(stored) || may_adopt) << op.describe() << " is not the parent's";
    EXPECT_FALSE(has_controller(stored) && !is_ours(stored)) << op.describe() << " is another controller's";
    ++changes[op.name];
    take_away(stored.object, stored.applied, manifest);
    put_in(stored.object, manifest);
    stored.applied = manifest;
    touch(stored);
    return text(op.name);
  }

  void tick() {  // what ends comes nearer to its end
    for (auto& [name, stored] : objects)
      if (stored.ends) --stored.holds;
    std::erase_if(objects, [](const auto& entry) { return entry.second.ends && entry.second.holds < 0; });
  }

  void set(const std::string& name, std::string_view field, boost::json::value value) {
    Stored& stored = objects.at(name);
    stored.object["spec"].get_object()[field] = std::move(value);
    touch(stored);
  }
  void set_status(const std::string& name, boost::json::value status) {
    Stored& stored = objects.at(name);
    stored.object["status"] = std::move(status);
    touch(stored);
  }

  std::string text(const std::string& name) const { return boost::json::serialize(objects.at(name).object); }
  cache::ObjectPtr object(const std::string& name) const {
    const auto& meta = objects.at(name).object.at("metadata").get_object();
    return make_object("a", name, text_field(meta, "uid"), text_field(meta, "resourceVersion"), text(name));
  }
  bool is_ours(const Stored& stored) const {
    const auto owner = reconcile::controller_of(boost::json::serialize(stored.object));
    return owner && owner->uid == parent_uid_;
  }
  static bool has_controller(const Stored& stored) {
    return reconcile::controller_of(boost::json::serialize(stored.object)).has_value();
  }
  std::string spec(const std::string& name) const { return boost::json::serialize(objects.at(name).object.at("spec")); }

  std::map<std::string, Stored> objects;
  std::map<std::string, int> changes;  // of objects that were there
  std::set<std::string> deleted;       // uids
  std::set<std::string> released;      // names
  int operations = 0;
  bool may_adopt = false;

 private:
  void store(const std::string& name, boost::json::object object, boost::json::object applied) {
    Stored& stored = objects[name];
    stored = {std::move(object), std::move(applied), "uid-" + std::to_string(++uids_), false, 0};
    stored.object["metadata"].get_object()["uid"] = stored.uid;
    touch(stored);
  }
  void touch(Stored& stored) {
    stored.object["metadata"].get_object()["resourceVersion"] = std::to_string(++versions_);
  }
  std::string remove(const apply::Operation& op, int holds) {
    EXPECT_FALSE(op.uid.empty()) << op.describe() << " could mean a namesake";
    EXPECT_EQ(op.propagation_policy, "Background");
    const auto found = objects.find(op.name);
    if (found == objects.end() || found->second.uid != op.uid) return {};
    EXPECT_TRUE(is_ours(found->second)) << op.describe() << " is not the parent's";
    EXPECT_FALSE(found->second.ends) << op.describe() << " ends already";
    deleted.insert(op.uid);
    if (holds == 0) {
      objects.erase(found);
      return {};
    }
    found->second.ends = true;
    found->second.holds = holds;
    found->second.object["metadata"].get_object()["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    touch(found->second);
    return {};
  }
  std::string patch(const apply::Operation& op) {
    EXPECT_FALSE(op.uid.empty());
    const auto found = objects.find(op.name);
    if (found == objects.end() || found->second.uid != op.uid) return {};
    auto& meta = found->second.object["metadata"].get_object();
    EXPECT_EQ(text_field(meta, "resourceVersion"), op.resource_version);
    EXPECT_FALSE(found->second.ends);
    if (is_ours(found->second))
      released.insert(op.name);
    else
      EXPECT_TRUE(may_adopt && !has_controller(found->second));
    const auto patch = boost::json::parse(op.patch).get_object();
    EXPECT_EQ(patch.size(), 1u);
    meta["ownerReferences"] = patch.at("metadata").at("ownerReferences");
    if (patch.at("metadata").get_object().contains("annotations"))
      meta["annotations"].get_object().erase(reconcile::kManifestHash);
    touch(found->second);
    return text(op.name);
  }
  // What our manager set and does not set any more goes.
  static void take_away(boost::json::object& from, const boost::json::object& before, const boost::json::object& now) {
    for (const auto& [key, value] : before) {
      const auto* still = now.if_contains(key);
      auto* there = from.if_contains(key);
      if (!there) continue;
      if (!still)
        from.erase(key);
      else if (value.is_object() && still->is_object() && there->is_object())
        take_away(there->get_object(), value.get_object(), still->get_object());
    }
  }
  static void put_in(boost::json::object& into, const boost::json::object& from) {
    for (const auto& [key, value] : from) {
      auto* there = into.if_contains(key);
      if (there && there->is_object() && value.is_object())
        put_in(there->get_object(), value.get_object());
      else
        into[key] = value;
    }
  }

  std::string parent_uid_;
  int uids_ = 0, versions_ = 100;
};

}  // namespace hookd::test
