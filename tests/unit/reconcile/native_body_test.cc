#include "reconcile/native_body.h"

#include <gmock/gmock.h>

#include "base/json_read.h"
#include "hook/call_writer.h"
#include "reconcile/cause.h"
#include "unit/support/objects.h"

namespace hookd::reconcile {
namespace {

std::shared_ptr<const kube::ResourceType> shared(const kube::ResourceType& type) {
  return std::make_shared<const kube::ResourceType>(type);
}
cache::ObjectPtr object(const kube::ResourceType& type, std::string_view ns, std::string_view name,
                        std::string_view more = "") {
  return test::make_object(std::string(ns), std::string(name), fmt::format("u-{}", name), "1",
                           test::object_json(type, ns, name, fmt::format("u-{}", name), "", more));
}

std::string document(std::shared_ptr<const Gathered> gathered, size_t* pieces = nullptr) {
  auto call = std::make_shared<hook::Call>();
  call->hook = "h";
  call->id = "i";
  call->reason = "reconcile";
  call->body = std::make_shared<NativeBody>(std::move(gathered));
  hook::CallWriter writer(call);
  std::string all;
  for (std::string piece = writer.next(); !piece.empty(); piece = writer.next()) {
    all += piece;
    if (pieces) ++*pieces;
  }
  return all;
}

TEST(NativeBody, SaysEverythingUnderTheNamesThatPeopleExpect) {
  auto world = std::make_shared<Gathered>();
  world->type = shared(test::make_type("x.io", "Widget", "widgets"));
  world->parent = object(*world->type, "a", "w", R"("spec":{"size":9007199254740993})");
  world->causes = {{"children", "Modified", "Deployment.apps/v1", "a", "d"}, {"resync", "Resync", "", "", ""}};
  world->children = {
      {kind_key(test::deployments()), shared(test::deployments()), {object(test::deployments(), "a", "d")}},
      {kind_key(test::pods()), shared(test::pods()), {}}};
  world->related = {{"nodes", shared(test::nodes()), {object(test::nodes(), "", "n")}},
                    {"all", shared(test::pods()), {object(test::pods(), "a", "p"), object(test::pods(), "b", "p")}}};
  const auto call = *parse_json(document(world));
  EXPECT_EQ(boost::json::serialize(call.at("key")),
            R"({"apiVersion":"x.io/v1","kind":"Widget","namespace":"a","name":"w","uid":"u-w"})");
  EXPECT_EQ(boost::json::serialize(call.at("causes")),
            R"([{"binding":"children","type":"Modified","kind":"Deployment.apps/v1","namespace":"a","name":"d"},)"
            R"({"binding":"resync","type":"Resync"}])");
  EXPECT_FALSE(call.at("finalizing").as_bool());
  EXPECT_EQ(call.at("object").at("spec").at("size"), 9007199254740993);
  EXPECT_EQ(call.at("children").at("Deployment.apps/v1").at("d").at("metadata").at("uid"), "u-d");
  EXPECT_TRUE(call.at("children").at("Pod.v1").as_object().empty()) << "every declared kind is there";
  EXPECT_TRUE(call.at("related").at("nodes").as_object().contains("n"));
  EXPECT_TRUE(call.at("related").at("all").as_object().contains("p"));
  EXPECT_TRUE(call.at("related").at("all").as_object().contains("b/p")) << "of another namespace than the parent's";
  EXPECT_FALSE(call.as_object().contains("events"));
  EXPECT_FALSE(call.as_object().contains("objects"));
}

TEST(NativeBody, AGoneParentIsNullWithItsKey) {
  auto world = std::make_shared<Gathered>();
  world->type = shared(test::nodes());
  world->parent = object(*world->type, "", "n");
  world->gone = true;
  world->children = {{"Pod.v1", shared(test::pods()), {}}};
  const auto call = *parse_json(document(world));
  EXPECT_TRUE(call.at("object").is_null());
  EXPECT_EQ(call.at("key").at("name"), "n");
  EXPECT_FALSE(call.at("key").as_object().contains("namespace"));
  EXPECT_TRUE(call.at("related").as_object().empty());
}

TEST(NativeBody, OfAClusterScopedParentChildrenStandUnderNamespaceAndName) {
  cache::Identity parent, child;
  child.ns = "a";
  child.name = "x";
  EXPECT_EQ(object_key(child, parent), "a/x");
  parent.ns = "a";
  EXPECT_EQ(object_key(child, parent), "x");
  child.ns = "";
  EXPECT_EQ(object_key(child, parent), "x");
}

TEST(NativeBody, ALargeWorldComesInPieces) {
  auto world = std::make_shared<Gathered>();
  world->type = shared(test::pods());
  world->parent = object(*world->type, "a", "w");
  world->children = {{"Pod.v1", world->type, {}}};
  for (int i = 0; i < 300; ++i)
    world->children[0].objects.push_back(
        object(*world->type, "a", fmt::format("p{:03}", i), fmt::format("\"data\":\"{}\"", std::string(4000, 'x'))));
  size_t pieces = 0;
  const std::string text = document(world, &pieces);
  EXPECT_GE(pieces, 300 * 4000 / (2 * hook::CallWriter::kPieceBytes));
  EXPECT_EQ(parse_json(text)->at("children").at("Pod.v1").as_object().size(), 300u);
}

}  // namespace
}  // namespace hookd::reconcile
