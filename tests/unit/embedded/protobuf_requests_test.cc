// Bodies in protobuf, as kubectl sends them, through the whole server.
#include <gtest/gtest.h>

#include "unit/embedded/schema/protobuf_writer.h"
#include "unit/embedded/support.h"

namespace hookd::embedded {
namespace {

using testing::Client;
using testing::enveloped;
using testing::Message;

const testing::Headers kProtobuf = {{"content-type", "application/vnd.kubernetes.protobuf"},
                                    {"accept", "application/vnd.kubernetes.protobuf,application/json"}};
constexpr std::string_view kMaps = "/api/v1/namespaces/default/configmaps";

Message config_map(std::string_view name) {
  return Message().message(1, Message().text(1, name)).message(2, Message().text(1, "a").text(2, "b"));
}

TEST(ProtobufRequest, CreatesAnObjectAndIsAnsweredInJson) {
  Client c;
  const auto made = c.post(kMaps, enveloped("v1", "ConfigMap", config_map("cm")), kProtobuf);
  ASSERT_EQ(made.code, 201) << made.text;
  EXPECT_EQ(made.type, "application/json");
  EXPECT_EQ(made.at("kind") + made.at("apiVersion"), "ConfigMapv1");
  EXPECT_EQ(made.at("data.a"), "b");
  EXPECT_EQ(c.get(std::string(kMaps) + "/cm").body(), made.body());
}

TEST(ProtobufRequest, IsTheSameAsOneInJson) {
  Client c;
  const auto pod = enveloped("v1", "Pod",
                             Message()
                                 .message(1, Message().text(1, "p"))
                                 .message(2, Message().message(2, Message().text(1, "c").text(2, "i"))));
  const std::string url = "/api/v1/namespaces/default/pods?dryRun=All";
  const auto binary = c.post(url, pod, kProtobuf);
  const auto text = c.post(url, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  ASSERT_EQ(binary.code, 201) << binary.text;
  EXPECT_EQ(testing::text_at_path(binary.body(), "spec"), testing::text_at_path(text.body(), "spec"));
  EXPECT_EQ(binary.at("status"), text.at("status"));
}

TEST(ProtobufRequest, ReplacesAnObject) {
  Client c;
  ASSERT_EQ(c.post(kMaps, enveloped("v1", "ConfigMap", config_map("cm")), kProtobuf).code, 201);
  const auto next = Message().message(1, Message().text(1, "cm"));
  const auto put = c.send("PUT", std::string(kMaps) + "/cm", enveloped("v1", "ConfigMap", next), kProtobuf);
  ASSERT_EQ(put.code, 200) << put.text;
  EXPECT_EQ(put.at("data"), "");
}

TEST(ProtobufRequest, TakesThePathsKindWhereItTellsNone) {
  Client c;
  EXPECT_EQ(c.post(kMaps, enveloped("", "", config_map("cm")), kProtobuf).code, 201);
}

TEST(ProtobufRequest, SaysWhatIsWrong) {
  Client c;
  const auto message = [&](std::string body) {
    const auto answer = c.post(kMaps, std::move(body), kProtobuf);
    EXPECT_EQ(answer.code, 400);
    EXPECT_EQ(answer.reason(), "BadRequest");
    return answer.message();
  };
  const std::string cannot = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: ";
  EXPECT_EQ(message("{}"),
            "the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a "
            "protobuf message, expected prefix [107 56 115 0] ({})");
  EXPECT_EQ(message(std::string("k8s\0\x0a", 5)),
            "the object provided is unrecognized (must be of type ConfigMap): unexpected EOF (6b3873000a)");
  EXPECT_EQ(message(enveloped("v1", "ConfigMap", {config_map("cm").bytes.substr(0, 5)})), cannot + "unexpected EOF");
  EXPECT_EQ(message(enveloped("v1", "ConfigMap", Message().number(1, 1))),
            cannot + "proto: wrong wireType = 0 for field ObjectMeta");
  EXPECT_EQ(message(enveloped("v1", "Nothing", config_map("cm"))),
            "Nothing in version \"v1\" cannot be handled as a ConfigMap: no kind \"Nothing\" is registered for version "
            "\"v1\" in scheme \"pkg/runtime/scheme.go:111\"");
  EXPECT_EQ(c.get(std::string(kMaps) + "/cm").code, 404);
}

TEST(ProtobufRequest, DeletesWithItsOptions) {
  Client c;
  const std::string url = std::string(kMaps) + "/cm";
  ASSERT_EQ(c.post(kMaps, enveloped("v1", "ConfigMap", config_map("cm")), kProtobuf).code, 201);
  const auto remove = [&](const Message& options) {
    return c.send("DELETE", url, enveloped("v1", "DeleteOptions", options), kProtobuf);
  };
  EXPECT_EQ(remove(Message().message(2, Message().text(1, "another uid"))).code, 409);
  EXPECT_EQ(remove(Message().text(5, "All")).code, 200);  // dryRun
  EXPECT_EQ(remove(Message().text(4, "Sideways")).code, 422);
  EXPECT_EQ(remove(Message().number(4, 1)).message(), "proto: wrong wireType = 0 for field PropagationPolicy");
  EXPECT_EQ(c.send("DELETE", url, enveloped("v1", "Pod", {}), kProtobuf).code, 400);
  EXPECT_EQ(c.get(url).code, 200);
  EXPECT_EQ(remove(Message().number(1, 0).text(4, "Background")).code, 200);
  EXPECT_EQ(c.get(url).code, 404);
}

TEST(ProtobufRequest, OfACustomKindIsNotTakenButItsDeleteOptionsAre) {
  Client c;
  const auto crd = c.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                          R"({"metadata":{"name":"as.e.com"},"spec":{"group":"e.com","scope":"Cluster",
      "names":{"plural":"as","kind":"A"},"versions":[{"name":"v1","served":true,"storage":true,
      "schema":{"openAPIV3Schema":{"type":"object"}}}]}})");
  ASSERT_EQ(crd.code, 201) << crd.text;
  EXPECT_EQ(c.post("/apis/e.com/v1/as", enveloped("e.com/v1", "A", {}), kProtobuf).code, 415);
  const auto made = c.post("/apis/e.com/v1/as", R"({"apiVersion":"e.com/v1","kind":"A","metadata":{"name":"a"}})");
  ASSERT_EQ(made.code, 201) << made.text;
  const auto gone = c.send("DELETE", "/apis/e.com/v1/as/a", enveloped("v1", "DeleteOptions", {}),
                           {{"content-type", "application/vnd.kubernetes.protobuf"}, {"accept", "application/json"}});
  EXPECT_EQ(gone.code, 200) << gone.text;
}

}  // namespace
}  // namespace hookd::embedded
