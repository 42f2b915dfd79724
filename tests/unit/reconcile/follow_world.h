// A fake cluster with an informer pool, for what follows kinds.
#pragma once

#include <gmock/gmock.h>

#include "kube/informer.h"
#include "unit/support/fake_cluster.h"

namespace hookd::reconcile {

inline kube::ResourceType gadgets() { return test::make_type("x.io", "Gadget", "gadgets"); }
inline kube::ResourceType configmaps() { return test::make_type("", "ConfigMap", "configmaps", true, {"cm"}); }

struct FollowWorldOf {
  FollowWorldOf() {
    for (const auto& type :
         {test::pods(), test::nodes(), test::namespaces(), test::deployments(), gadgets(), configmaps()})
      cluster.serve(type);
  }
  ManualScheduler scheduler;
  SeededRandom random;
  test::FakeCluster cluster{scheduler};
  kube::Discovery discovery{cluster, scheduler};
  kube::InformerPool pool{{cluster, discovery, scheduler, random, 500}, [] {}};
};

class FollowWorld : public testing::Test, protected FollowWorldOf {
 protected:
  void settle(Duration time = Duration::zero()) { scheduler.advance(time); }
  void put(const kube::ResourceType& type, std::string_view ns, std::string_view name, std::string_view uid,
           std::string_view meta = "", std::string_view more = "") {
    cluster.put(type, test::object_json(type, ns, name, uid, meta, more));
  }
  void remove(const kube::ResourceType& type, const std::string& ns, const std::string& name) {
    cluster.remove(type, ns, name);
  }
  // The CRD goes, and hookd finds out.
  void unserve(const kube::ResourceType& type) {
    cluster.unserve(type.plural);
    settle(std::chrono::minutes(2));
  }
  // A relist finds what happened meanwhile.
  void unseen(const kube::ResourceType& type, const std::function<void()>& meanwhile) {
    cluster.hold(type.collection_path(""));
    cluster.cut(type.collection_path(""));
    settle();
    meanwhile();
    settle(std::chrono::seconds(60));
    cluster.release(type.collection_path(""));
    settle(std::chrono::seconds(60));
  }
  static std::string owner(std::string_view uid, std::string_view name = "p", bool controller = true) {
    return fmt::format(
        R"("ownerReferences":[{{"apiVersion":"x.io/v1","kind":"Gadget","name":"{}","uid":"{}","controller":{}}}])",
        name, uid, controller);
  }
  static std::vector<std::string> keys(const std::vector<cache::ObjectPtr>& objects) {
    std::vector<std::string> all;
    for (const auto& object : objects) all.push_back(object->key());
    return all;
  }
};

}  // namespace hookd::reconcile
