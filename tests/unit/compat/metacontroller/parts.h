// A controller with pods as children, and children as a hook wants them and as the watch shows them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "compat/metacontroller/child_writes.h"
#include "compat/metacontroller/merge.h"
#include "unit/compat/metacontroller/values.h"
#include "unit/support/objects.h"

namespace hookd::test {

struct Parts {
  explicit Parts(metacontroller::UpdateMethod method = metacontroller::UpdateMethod::kInPlace) {
    spec.name = "catset";
    spec.uid = "cc-uid";
    spec.text = std::make_shared<const std::string>("{}");
    spec.children.push_back({"v1", "pods", method, {}});
    parent.ns = "a";
    parent.name = "cats";
    parent.uid = "parent-uid";
    parent.resource_version = "7";
  }
  metacontroller::ChildKind kind() const { return {&spec.children.front(), pod_type}; }
  // `more` are members of the pod: "\"spec\":{…}".
  metacontroller::Wanted wanted(std::string_view name, std::string_view more = R"("spec":{"x":1})") const {
    return {kind(), "a", std::string(name),
            json(fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"a"}},{}}})",
                             name, more))};
  }
  // As it stands in the cluster after it was made from `from`.
  metacontroller::ObservedChild observed(const metacontroller::Wanted& from, std::string_view status = "",
                                         std::string_view meta = "") const {
    using metacontroller::Value;
    Value object = options.server_side ? from.object : metacontroller::with_last_applied(from.object);
    Value& metadata = object.at("metadata");
    metadata.set("uid", Value::string("uid-" + from.name));
    metadata.set("resourceVersion", Value::string("10"));
    if (!meta.empty()) {
      const Value more = json(fmt::format("{{{}}}", meta));
      for (const auto& [key, value] : more.members()) metadata.set(key, value);
    }
    if (!status.empty()) object.set("status", json(status));
    const std::string text = object.to_json();
    return {from.kind, make_object(from.ns, from.name, "uid-" + from.name, "10", text), text};
  }

  metacontroller::ControllerSpec spec;
  metacontroller::ApplyOptions options;
  std::shared_ptr<const kube::ResourceType> pod_type = std::make_shared<const kube::ResourceType>(pods());
  kube::ResourceType parent_type = make_type("ctl.example.com", "CatSet", "catsets");
  cache::Identity parent;
};

}  // namespace hookd::test
