#include "compat/metacontroller/request.h"

#include <gtest/gtest.h>

#include "base/json_read.h"
#include "hook/call_writer.h"
#include "unit/support/objects.h"

namespace hookd::metacontroller {
namespace {

cache::ObjectPtr object(const std::string& ns, const std::string& name, size_t pad = 0) {
  return test::make_object(ns, name, "u", "1",
                           fmt::format(R"({{"n":"{}/{}","pad":"{}"}})", ns, name, std::string(pad, 'x')));
}

struct Sample {
  Sample(ControllerKind kind, HookVersion version, std::string parent_ns) {
    auto spec = std::make_shared<ControllerSpec>();
    spec->kind = kind;
    spec->text = std::make_shared<const std::string>(R"({"c":9007199254740993})");
    spec->sync = spec->finalize = HookSpec{};
    spec->sync->version = spec->finalize->version = version;
    request.controller = spec;
    request.parent = R"({"p":1.0})";
    request.parent_ns = std::move(parent_ns);
    request.parent_uid = "pu";
    request.children = {{"v1", "Pod", {object("a", "web-0"), object("b", "web-0")}},
                        {"v1", "PersistentVolumeClaim", {}}};
    request.related = {{"v1", "Namespace", {object("", "a")}}, {"v1", "ConfigMap", {object("b", "settings")}}};
  }
  std::string text() const {
    auto call = std::make_shared<hook::Call>();
    call->body = std::make_shared<RequestBody>(request);
    hook::CallWriter writer(call);
    std::string all;
    for (std::string piece = writer.next(); !piece.empty(); piece = writer.next()) all += piece;
    EXPECT_TRUE(validate_json(all)) << all;
    EXPECT_TRUE(all.ends_with("\n"));
    return all.substr(0, all.size() - 1);
  }
  HookRequest request;
};

TEST(RequestBody, V1OfANamespacedParentKeepsToItsNamespace) {
  EXPECT_EQ(Sample(ControllerKind::kComposite, HookVersion::kV1, "a").text(),
            R"({"controller":{"c":9007199254740993},"parent":{"p":1.0},"children":{"PersistentVolumeClaim.v1":{},)"
            R"("Pod.v1":{"web-0":{"n":"a/web-0","pad":""}}},"related":{"ConfigMap.v1":{},"Namespace.v1":{}},)"
            R"("finalizing":false})");
}

TEST(RequestBody, V1OfAClusterScopedParentNamesTheNamespace) {
  EXPECT_EQ(Sample(ControllerKind::kComposite, HookVersion::kV1, "").text(),
            R"({"controller":{"c":9007199254740993},"parent":{"p":1.0},"children":{"PersistentVolumeClaim.v1":{},)"
            R"("Pod.v1":{"a/web-0":{"n":"a/web-0","pad":""},"b/web-0":{"n":"b/web-0","pad":""}}},)"
            R"("related":{"ConfigMap.v1":{"b/settings":{"n":"b/settings","pad":""}},)"
            R"("Namespace.v1":{"a":{"n":"/a","pad":""}}},"finalizing":false})");
}

TEST(RequestBody, V2LeavesNothingOut) {
  EXPECT_EQ(Sample(ControllerKind::kComposite, HookVersion::kV2, "a").text(),
            Sample(ControllerKind::kComposite, HookVersion::kV1, "").text());
}

TEST(RequestBody, ADecoratorsObjectAndAttachments) {
  Sample sample(ControllerKind::kDecorator, HookVersion::kV1, "a");
  sample.request.role = HookRole::kFinalize;
  sample.request.related.clear();
  EXPECT_EQ(sample.text(),
            R"({"controller":{"c":9007199254740993},"object":{"p":1.0},"attachments":{"PersistentVolumeClaim.v1":{},)"
            R"("Pod.v1":{"web-0":{"n":"a/web-0","pad":""}}},"related":{},"finalizing":true})");
}

TEST(RequestBody, CustomizeHasControllerAndParentAlone) {
  for (const auto kind : {ControllerKind::kComposite, ControllerKind::kDecorator}) {
    Sample sample(kind, HookVersion::kV1, "a");
    sample.request.role = HookRole::kCustomize;
    EXPECT_EQ(sample.text(), R"({"controller":{"c":9007199254740993},"parent":{"p":1.0}})");
  }
}

TEST(RequestBody, WhatTwoRulesFindStandsThereOnce) {
  Sample sample(ControllerKind::kComposite, HookVersion::kV2, "a");
  sample.request.children.clear();
  sample.request.related = {{"v1", "ConfigMap", {object("a", "x"), object("a", "y")}},
                            {"v1", "ConfigMap", {object("a", "y"), object("b", "x")}}};
  EXPECT_EQ(sample.text(),
            R"({"controller":{"c":9007199254740993},"parent":{"p":1.0},"children":{},"related":{"ConfigMap.v1":{)"
            R"("a/x":{"n":"a/x","pad":""},"a/y":{"n":"a/y","pad":""},"b/x":{"n":"b/x","pad":""}}},)"
            R"("finalizing":false})");
}

TEST(RequestBody, AWorkersCallHasItsId) {
  Sample sample(ControllerKind::kComposite, HookVersion::kV1, "a");
  sample.request.call_id = "c7";
  EXPECT_TRUE(sample.text().starts_with(R"({"id":"c7","controller":)"));
}

TEST(RequestBody, ALargeOneIsMadeInPieces) {
  Sample sample(ControllerKind::kComposite, HookVersion::kV2, "a");
  sample.request.children[0].objects.clear();
  for (int i = 0; i < 50; ++i)
    sample.request.children[0].objects.push_back(object("a", fmt::format("p{:02}", i), 10'000));
  const RequestBody body(sample.request);
  JsonWriter out;
  out.begin_object();
  size_t largest = 0, parts = 0;
  std::string all;
  while (body.write(parts, out)) {
    ++parts;
    largest = std::max(largest, out.text().size());
    all += out.text();
    out.text().clear();
  }
  EXPECT_GT(parts, 8u);
  EXPECT_LT(largest, RequestBody::kPartBytes + 12'000);
  EXPECT_TRUE(validate_json(all + "}"));
}

TEST(RequestBody, AnETagBelongsToParentHookAndRevision) {
  Sample sample(ControllerKind::kComposite, HookVersion::kV1, "a");
  const std::string key = RequestBody(sample.request).cache_key();
  sample.request.revision = "r1";
  EXPECT_NE(RequestBody(sample.request).cache_key(), key);
  sample.request.revision = "";
  sample.request.role = HookRole::kFinalize;
  EXPECT_NE(RequestBody(sample.request).cache_key(), key);
  sample.request.role = HookRole::kSync;
  EXPECT_EQ(RequestBody(sample.request).cache_key(), key);
  sample.request.parent_uid = "another";
  EXPECT_NE(RequestBody(sample.request).cache_key(), key);
}

}  // namespace
}  // namespace hookd::metacontroller
