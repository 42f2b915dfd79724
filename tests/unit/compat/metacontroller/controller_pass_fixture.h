// Passes of a controller whose parents are CatSets and whose children are ConfigMaps.
#pragma once

#include <gmock/gmock.h>

#include "compat/metacontroller/controller_pass.h"
#include "unit/compat/metacontroller/controller_world.h"

namespace hookd::metacontroller {

using namespace std::chrono_literals;
using queue::Verdict;
using test::catsets;
using test::config_maps;
using test::json;
using test::object_json;

// What the sync hook answers: with the child x, and with none.
inline constexpr char kOne[] =
    R"({"status":{"ok":true},"children":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"v":"1"}}]})";
inline constexpr char kNone[] = R"({"status":{"ok":true},"children":[]})";

struct ControllerPassTest : test::ControllerTest {
  ControllerPassTest() { spec->generate_selector = true; }
  void decorate() {
    spec->kind = ControllerKind::kDecorator;
    spec->generate_selector = false;
    spec->name = "deco";
  }
  void make_child(const std::string& name, std::string_view uid_of_parent, std::string_view labels,
                  std::string_view more = "") {
    const std::string owner =
        uid_of_parent.empty()
            ? ""
            : fmt::format(
                  R"("ownerReferences":[{{"apiVersion":"ctl.example.com/v1","kind":"CatSet","name":"p","uid":"{}","controller":true}}],)",
                  uid_of_parent);
    cluster.put(config_maps(), object_json(config_maps(), "a", name, "uid-" + name,
                                           fmt::format(R"({}"labels":{{{}}}{})", owner, labels, more)));
    settle();
  }
};

}  // namespace hookd::metacontroller
