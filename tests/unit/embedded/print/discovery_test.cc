#include "embedded/print/discovery.h"

#include <gtest/gtest.h>

#include "embedded/wire/json_text.h"

namespace hookd::embedded {
namespace {

const Strategy kPlain;

Resource resource(std::string group, std::string version, std::string plural, std::string kind) {
  Resource made;
  made.group = std::move(group);
  made.version = std::move(version);
  made.singular = plural.substr(0, plural.size() - 1);
  made.plural = std::move(plural);
  made.kind = std::move(kind);
  made.verbs = {"create", "get"};
  made.strategy = &kPlain;
  return made;
}

Registry registry() {
  Registry made;
  Resource pods = resource("", "v1", "pods", "Pod");
  pods.status = true;
  pods.short_names = {"po"};
  pods.categories = {"all"};
  pods.other_subresources = {"eviction", "binding"};
  made.add(std::move(pods));
  Resource deployments = resource("apps", "v1", "deployments", "Deployment");
  deployments.scale.emplace();
  made.add(std::move(deployments));
  Resource foos = resource("example.com", "v1", "foos", "Foo");
  foos.custom = true;
  foos.status = true;
  foos.scale.emplace();
  made.add(foos);
  Resource bars = resource("example.com", "v1", "bars", "Bar");
  bars.custom = true;
  bars.namespaced = false;
  made.add(bars);
  foos.version = "v1beta1";
  made.add(foos);
  return made;
}

json::value json_of(std::string_view text) { return parse_text(text).value(); }

TEST(Discovery, ListsGroupsWithTheirVersions) {
  EXPECT_EQ(api_group_list(registry()), json_of(R"({"kind":"APIGroupList","apiVersion":"v1","groups":[
      {"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}],
       "preferredVersion":{"groupVersion":"apps/v1","version":"v1"}},
      {"name":"example.com","versions":[{"groupVersion":"example.com/v1","version":"v1"},
        {"groupVersion":"example.com/v1beta1","version":"v1beta1"}],
       "preferredVersion":{"groupVersion":"example.com/v1","version":"v1"}}]})"));
  EXPECT_EQ(api_group(registry(), "apps").value().at("name"), "apps");
  EXPECT_FALSE(api_group(registry(), ""));
  EXPECT_FALSE(api_group(registry(), "none"));
}

TEST(Discovery, ListsResourcesAndSubresources) {
  EXPECT_EQ(api_resource_list(registry(), "", "v1").value(), json_of(R"({"kind":"APIResourceList","groupVersion":"v1",
      "resources":[
      {"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["create","get"],"shortNames":["po"],
       "categories":["all"]},
      {"name":"pods/binding","singularName":"","namespaced":true,"kind":"Binding","verbs":["create"]},
      {"name":"pods/eviction","singularName":"","namespaced":true,"group":"policy","version":"v1","kind":"Eviction",
       "verbs":["create"]},
      {"name":"pods/status","singularName":"","namespaced":true,"kind":"Pod","verbs":["get","patch","update"]}]})"));
  const json::object apps = api_resource_list(registry(), "apps", "v1").value();
  EXPECT_EQ(apps.at("apiVersion"), "v1");
  EXPECT_EQ(apps.at("resources").as_array()[1], json_of(R"({"name":"deployments/scale","singularName":"",
      "namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale","verbs":["get","patch","update"]})"));
  EXPECT_FALSE(api_resource_list(registry(), "apps", "v2"));
}

TEST(Discovery, NothingIsWrittenToAKindWhoseCrdGoes) {
  Registry registry;
  Resource foos = resource("example.com", "v1", "foos", "Foo");
  foos.custom = foos.terminating = true;
  foos.verbs = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
  registry.add(foos);
  const auto left = json_of(R"(["delete","deletecollection","get","list","watch"])");
  EXPECT_EQ(api_resource_list(registry, "example.com", "v1")->at("resources").as_array()[0].at("verbs"), left);
  const auto whole = aggregated_discovery(registry, false, "v2");
  EXPECT_EQ(whole.at("items").as_array()[0].at("versions").as_array()[0].at("resources").as_array()[0].at("verbs"),
            left);
}

TEST(Discovery, AggregatesEverythingInOneDocument) {
  const json::object core = aggregated_discovery(registry(), true, "v2");
  EXPECT_EQ(core.at("apiVersion"), "apidiscovery.k8s.io/v2");
  ASSERT_EQ(core.at("items").as_array().size(), 1U);
  EXPECT_EQ(core.at("items").as_array()[0].at("metadata"), json::object());

  const json::object groups = aggregated_discovery(registry(), false, "v2beta1");
  EXPECT_EQ(groups.at("apiVersion"), "apidiscovery.k8s.io/v2beta1");
  const json::array& items = groups.at("items").as_array();
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[1].at("metadata").at("name"), "example.com");
  const json::array& custom = items[1].at("versions").as_array()[0].at("resources").as_array();
  EXPECT_EQ(custom[0].at("resource"), "bars");
  EXPECT_EQ(custom[0].at("scope"), "Cluster");
  EXPECT_EQ(custom[1], json_of(R"({"resource":"foos",
      "responseKind":{"group":"example.com","version":"v1","kind":"Foo"},"scope":"Namespaced","singularResource":"foo",
      "verbs":["create","get"],"subresources":[
        {"subresource":"status","responseKind":{"group":"example.com","version":"v1","kind":"Foo"},
         "verbs":["get","patch","update"]},
        {"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"},
         "verbs":["get","patch","update"]}]})"));
}

TEST(Discovery, TellsTheVersionsOfTheCore) {
  EXPECT_EQ(api_versions(), json_of(R"({"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[]})"));
  EXPECT_EQ(api_versions("127.0.0.1:1").at("serverAddressByClientCIDRs"),
            json_of(R"([{"clientCIDR":"0.0.0.0/0","serverAddress":"127.0.0.1:1"}])"));
}

TEST(Discovery, TellsAVersionThatKubectlReads) {
  const json::object version = version_info();
  EXPECT_EQ(version.at("gitVersion"), "v1.36.3");
  EXPECT_EQ(version.at("minor"), "36");
}

}  // namespace
}  // namespace hookd::embedded
