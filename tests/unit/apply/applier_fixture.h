// An Applier on a scripted API server that serves a few kinds.
#pragma once

#include <gmock/gmock.h>

#include "apply/applier.h"
#include "base/json_read.h"
#include "fake_api.h"

namespace hookd::apply {

inline kube::ResourceType make_type(std::string group, std::string kind, std::string plural, bool namespaced = true,
                                    std::vector<std::string> subresources = {"status"}) {
  kube::ResourceType type;
  type.group = std::move(group);
  type.version = "v1";
  type.kind = std::move(kind);
  type.plural = std::move(plural);
  type.namespaced = namespaced;
  type.subresources = std::move(subresources);
  return type;
}

class ApplierTest : public testing::Test {
 protected:
  ApplierTest() {
    for (auto& type :
         {make_type("", "Pod", "pods", true, {"status", "eviction"}),
          make_type("", "ConfigMap", "configmaps", true, {}), make_type("", "Secret", "secrets", true, {}),
          make_type("", "Node", "nodes", false), make_type("", "Namespace", "namespaces", false),
          make_type("apps", "Deployment", "deployments", true, {"status", "scale"}),
          make_type("apps", "StatefulSet", "statefulsets", true, {"status", "scale"}),
          make_type("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", false)})
      types[{type.api_version(), type.kind}] = type;
  }

  static Operation op(std::string_view json) {
    auto parsed = parse_operation(json);
    EXPECT_TRUE(parsed) << parsed.error().what;
    return parsed ? *std::move(parsed) : Operation{};
  }
  static Operation manifest(std::string_view json) {
    auto parsed = manifest_operation(json);
    EXPECT_TRUE(parsed) << parsed.error().what;
    return parsed ? *std::move(parsed) : Operation{};
  }

  void start(std::vector<Operation> operations) {
    request.operations = std::move(operations);
    request.hook = "test-hook";
    request.call_id = "c1";
    outcomes.clear();
    finished = 0;
    run_ = applier.apply(request, [this](std::vector<Outcome> result) {
      outcomes = std::move(result);
      ++finished;
    });
    EXPECT_EQ(finished, 0);
  }
  // Everything that can happen within `time`.
  void go(Duration time = std::chrono::seconds(30)) { scheduler.advance(time); }

  // One operation to its end.
  Outcome apply(Operation operation) {
    start({std::move(operation)});
    go();
    EXPECT_EQ(finished, 1);
    return outcomes.empty() ? Outcome{} : outcomes[0];
  }
  Outcome apply(std::string_view json) { return apply(op(json)); }

  std::string query(std::string_view name) const { return query(api.last(), name); }
  static std::string query(const kube::ApiRequest& sent, std::string_view name) {
    for (const auto& [key, value] : sent.query)
      if (key == name) return value;
    return {};
  }

  ManualScheduler scheduler;
  SeededRandom random;
  FakeApi api{scheduler};
  std::map<std::pair<std::string, std::string>, kube::ResourceType> types;
  int unserved = 0;
  std::vector<std::string> asked_types;
  Applier applier{api,
                  [this](std::string_view version, std::string_view kind,
                         std::function<void(Result<kube::ResourceType>)> callback) {
                    asked_types.emplace_back(kind);
                    const auto found = types.find({std::string(version), std::string(kind)});
                    if (found == types.end()) return callback(fail(Errc::kNotFound, "no kind {} in {}", kind, version));
                    callback(found->second);
                  },
                  scheduler, random, [this] { ++unserved; }};
  Request request;
  std::vector<Outcome> outcomes;
  int finished = 0;
  std::unique_ptr<hookd::apply::Run> run_;
};

using Kind = Outcome::Kind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

}  // namespace hookd::apply
