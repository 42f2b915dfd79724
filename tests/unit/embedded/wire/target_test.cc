#include "embedded/wire/target.h"

#include <gtest/gtest.h>

namespace hookd::embedded {
namespace {

Target target(std::string method, std::string path, std::string_view query = "") {
  Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.query = parse_query(query);
  auto out = parse_target(request);
  EXPECT_TRUE(out);
  return out.value_or(Target{});
}

TEST(Target, OfANamespacedObject) {
  const auto t = target("GET", "/apis/apps/v1/namespaces/a/deployments/d/scale");
  EXPECT_TRUE(t.resource_path);
  EXPECT_EQ(t.group, "apps");
  EXPECT_EQ(t.version, "v1");
  EXPECT_EQ(t.ns, "a");
  EXPECT_TRUE(t.in_namespace);
  EXPECT_EQ(t.resource, "deployments");
  EXPECT_EQ(t.name, "d");
  EXPECT_EQ(t.subresource, "scale");
  EXPECT_EQ(t.verb, "get");
}

TEST(Target, OfANamespaceItself) {
  const auto t = target("PUT", "/api/v1/namespaces/a/finalize");
  EXPECT_EQ(t.resource, "namespaces");
  EXPECT_EQ(t.name, "a");
  EXPECT_EQ(t.ns, "a");
  EXPECT_EQ(t.subresource, "finalize");
  EXPECT_FALSE(t.in_namespace);
}

TEST(Target, VerbsAreThoseOfRbac) {
  EXPECT_EQ(target("GET", "/api/v1/pods").verb, "list");
  EXPECT_EQ(target("GET", "/api/v1/pods", "watch=1").verb, "watch");
  EXPECT_EQ(target("GET", "/api/v1/pods", "watch=false").verb, "list");
  EXPECT_EQ(target("DELETE", "/api/v1/namespaces/a/pods").verb, "deletecollection");
  EXPECT_EQ(target("DELETE", "/api/v1/namespaces/a/pods/p").verb, "delete");
  EXPECT_EQ(target("PATCH", "/api/v1/nodes/n").verb, "patch");
  EXPECT_EQ(target("GET", "/api/v1/watch/namespaces/a/pods/p").verb, "watch");
  EXPECT_EQ(target("GET", "/version").verb, "get");
}

TEST(Target, ASelectorOfOneNameIsSeenByRbacButIsNoPath) {
  const auto t = target("GET", "/api/v1/namespaces/a/pods", "fieldSelector=metadata.name%3Dp");
  EXPECT_EQ(t.name, "p");
  EXPECT_EQ(t.path_name, "");
  EXPECT_EQ(t.verb, "list");
}

TEST(Target, ShortPathsAreNoResources) {
  for (const auto* path : {"/", "/api", "/api/v1", "/apis/apps", "/apis/apps/v1", "/foo/bar/baz/qux"})
    EXPECT_FALSE(target("GET", path).resource_path) << path;
}

TEST(Target, SlashesAtTheEndDoNotMatter) { EXPECT_EQ(target("GET", "/api/v1/namespaces/a/pods//").resource, "pods"); }

TEST(Target, PercentEncodingIsUndone) {
  EXPECT_EQ(target("GET", "/api/v1/namespaces/a/pods/a%2Db").name, "a-b");
  Request bad;
  bad.method = "GET";
  bad.path = "/api/v1/%zz";
  EXPECT_EQ(parse_target(bad).error().code, 400);
}

TEST(Target, AWatchOfNothingIsAnError) {
  Request request;
  request.method = "GET";
  request.path = "/api/v1/watch";
  const auto t = parse_target(request);
  ASSERT_FALSE(t);
  EXPECT_EQ(t.error().code, 500);
  EXPECT_EQ(t.error().message,
            "Internal Server Error: \"/api/v1/watch\": failed to create RequestInfo: unable to determine kind and "
            "namespace from url, /api/v1/watch");
}

TEST(Query, IsDecodedInOrder) {
  const auto query = parse_query("a=1&b=x+y%2Cz&a=2&c&bad=%zz");
  ASSERT_EQ(query.size(), 4u);
  EXPECT_EQ(query[1], (std::pair<std::string, std::string>("b", "x y,z")));
  EXPECT_EQ(query[2].second, "2");
  EXPECT_EQ(query[3].first, "c");
}

}  // namespace
}  // namespace hookd::embedded
