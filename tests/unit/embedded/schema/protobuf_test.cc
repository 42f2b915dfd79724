#include "embedded/schema/protobuf.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <set>

#include "embedded/schema/base64.h"
#include "embedded/schema/decode.h"
#include "unit/embedded/schema/protobuf_writer.h"
#include "unit/embedded/schema/schema_support.h"

namespace hookd::embedded {
namespace {

using testing::Message;

const Schema& pod() { return kind_schema("", "v1", "Pod"); }

// Fields of `type` (without "io.k8s.") as they are in `message`, before decode().
json::object read(std::string_view type, const Message& message) {
  const Schema* schema = builtin_type("io.k8s." + std::string(type));
  if (schema == nullptr) throw std::runtime_error("no type " + std::string(type));
  auto object = decode_protobuf(message.bytes, *schema);
  if (!object) throw std::runtime_error(object.error());
  return std::move(*object);
}
std::string error_of(std::string_view type, const Message& message) {
  const auto object = decode_protobuf(message.bytes, *builtin_type("io.k8s." + std::string(type)));
  return object ? "fine: " + to_text(*object) : object.error();
}

json::object read_body(std::string_view base64) {
  const auto bytes = decode_base64(base64);
  const auto envelope = open_protobuf(bytes.value());
  if (!envelope) throw std::runtime_error(envelope.error());
  const auto slash = envelope->api_version.find('/');
  const bool core = slash == std::string::npos;
  const auto version = core ? envelope->api_version : envelope->api_version.substr(slash + 1);
  const auto* schema =
      envelope->kind == "DeleteOptions"
          ? builtin_type("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions")
          : builtin_schema(core ? "" : envelope->api_version.substr(0, slash), version, envelope->kind);
  if (schema == nullptr) throw std::runtime_error("no schema of " + envelope->kind);
  auto object = decode_protobuf(envelope->raw, *schema);
  if (!object) throw std::runtime_error(object.error());
  (*object)["apiVersion"] = envelope->api_version;
  (*object)["kind"] = envelope->kind;
  const auto report = decode(*object, *schema);
  if (!report) throw std::runtime_error(report.error());
  EXPECT_TRUE(report->unknown.empty());
  return std::move(*object);
}

// Written by the Go types of 1.36.3: every kind, each type that they are made of with all its fields filled once, and
// the JSON that Go prints after reading the same bytes.
TEST(Protobuf, ReadsWhatGoWritesOfEveryKind) {
  std::ifstream file(HOOKD_SOURCE_DIR "/tests/unit/embedded/schema/protobuf_messages.jsonl");
  std::set<std::string> seen;
  for (std::string line; std::getline(file, line);) {
    const auto test = object_of(line);
    const std::string kind(test.at("kind").as_string());
    seen.insert(to_text(test.at("group")) + to_text(test.at("version")) + kind);
    try {
      const auto object = read_body(test.at("body").as_string());
      EXPECT_TRUE(object == test.at("read").as_object()) << kind << ": " << to_text(object);
    } catch (const std::exception& error) {
      ADD_FAILURE() << kind << ": " << error.what();
    }
  }
  for (const auto& [group, version, kind] : builtin_kinds())
    EXPECT_TRUE(seen.contains(to_text(json::value(group)) + to_text(json::value(version)) + std::string(kind))) << kind;
}

TEST(Protobuf, EveryFieldOfTheTableHasANumberButForApiVersionAndKind) {
  for (const auto& [group, version, kind] : builtin_kinds()) {
    for (const Field& field : kind_schema(group, version, kind).fields)
      EXPECT_EQ(field.protobuf[0] == 0, field.name == "apiVersion" || field.name == "kind") << kind << field.name;
  }
}

// Bodies that kubectl 1.36 sent.
TEST(Protobuf, ReadsWhatKubectlSends) {
  EXPECT_EQ(
      read_body(
          "azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50ErwBCiMKA3dlYhIAGgR0ZWFtIgAqADIAOABCAFoKCgNhcHASA3dlYhKGAQgDEgwKCg"
          "oDYXBwEgN3ZWIabAocCgASABoAIgAqADIAOABCAFoKCgNhcHASA3dlYhJMEi4KBW5naW54EgVuZ2lueCoAMgoKABAAGFAiACoAQgBqAH"
          "IAgAEAiAEAkAEAogEAGgAyAEIASgBSAFgAYABoAIIBAIoBAJoBAMIBACICCgAoADgAGgwIABAAGAAgACgAOAAaACIA"),
      object_of(R"({"apiVersion":"apps/v1","kind":"Deployment",
        "metadata":{"name":"web","namespace":"team","labels":{"app":"web"}},
        "spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"}},"strategy":{},
          "template":{"metadata":{"labels":{"app":"web"}},
            "spec":{"containers":[{"name":"nginx","image":"nginx","resources":{},"ports":[{"containerPort":80}]}]}}},
        "status":{}})"));
  EXPECT_EQ(
      read_body("azhzAAorChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEgtSb2xlQmluZGluZxJcChYKAnJiEgAaBHRlYW0iACoAMgA4AEIAEh"
                "wKDlNlcnZpY2VBY2NvdW50EgAaAnNhIgR0ZWFtGiQKGXJiYWMuYXV0aG9yaXphdGlvbi5rOHMuaW8SBFJvbGUaAXIaACIA"),
      object_of(R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding",
        "metadata":{"name":"rb","namespace":"team"},
        "subjects":[{"kind":"ServiceAccount","name":"sa","namespace":"team"}],
        "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"}})"));
  EXPECT_EQ(read_body("azhzAAoTCgJ2MRINRGVsZXRlT3B0aW9ucxIAGgAiAA=="),
            object_of(R"({"apiVersion":"v1","kind":"DeleteOptions"})"));
}

TEST(Protobuf, IntegersAreTwosComplementAndCutToTheirSize) {
  EXPECT_EQ(read("api.core.v1.PodSpec", Message().number(25, -5).number(5, -1).number(11, 1).number(12, 2)),
            object_of(R"({"priority":-5,"activeDeadlineSeconds":-1,"hostNetwork":true,"hostPID":true})"));
  EXPECT_EQ(
      read("api.core.v1.PodSpec",
           Message().number(25, (int64_t{1} << 32) + 7).number(5, std::numeric_limits<int64_t>::min()).number(11, 0)),
      object_of(R"({"priority":7,"activeDeadlineSeconds":-9223372036854775808,"hostNetwork":false})"));
}

TEST(Protobuf, StringsThatAreNotUtf8BecomeSoAndBytesBase64) {
  EXPECT_EQ(read("api.core.v1.PodSpec", Message().text(10, "a\xff\"b")), object_of(R"({"nodeName":"a\ufffd\"b"})"));
  EXPECT_EQ(read("api.core.v1.Secret",
                 Message().message(2, Message().text(1, "k").text(2, std::string_view("\0\xff\x01", 3)))),
            object_of(R"({"data":{"k":"AP8B"}})"));
}

TEST(Protobuf, ListsGrowPackedOrNotAndAcrossOtherFields) {
  EXPECT_EQ(read("api.core.v1.PodSecurityContext",
                 Message().number(4, 1).text(4, std::string_view("\x02\xac\x02", 3)).number(2, 5).number(4, 3)),
            object_of(R"({"supplementalGroups":[1,2,300,3],"runAsUser":5})"));
  EXPECT_EQ(read("api.core.v1.Container", Message().text(3, "a").text(3, "").text(4, "b")),
            object_of(R"({"command":["a",""],"args":["b"]})"));
  EXPECT_EQ(error_of("api.core.v1.PodSecurityContext", Message().text(4, "\x80")), "unexpected EOF");
}

TEST(Protobuf, MapsTakeTheLastOfAKeyAndFillWhatIsMissing) {
  EXPECT_EQ(read("api.core.v1.ConfigMap", Message()
                                              .message(2, Message().text(1, "a").text(2, "1"))
                                              .message(2, Message().text(2, "2").text(1, "b"))
                                              .message(2, Message().text(1, "a").text(2, "3"))
                                              .message(2, Message().text(2, "no key"))
                                              .message(2, Message().text(1, "no value"))),
            object_of(R"({"data":{"a":"3","b":"2","":"no key","no value":""}})"));
  EXPECT_EQ(read("api.core.v1.ResourceRequirements",
                 Message()
                     .message(1, Message().text(1, "cpu").message(2, Message().text(1, "500m")))
                     .message(1, Message().text(1, "pods"))),
            object_of(R"({"limits":{"cpu":"500m","pods":"0"}})"));
}

// map<string, ExtraValue>: ExtraValue {repeated string items = 1}
TEST(Protobuf, ListsInMapsAreMessages) {
  EXPECT_EQ(
      read("api.authentication.v1.UserInfo",
           Message()
               .message(4, Message().text(1, "a").message(2, Message().text(1, "x").text(1, "y").text(2, "skipped")))
               .message(4, Message().text(1, "b"))),
      object_of(R"({"extra":{"a":["x","y"],"b":[]}})"));
}

TEST(Protobuf, MessagesThatComeTwiceAreMerged) {
  EXPECT_EQ(read("api.core.v1.Pod", Message()
                                        .message(1, Message().text(1, "a"))
                                        .message(1, Message().text(3, "ns").text(1, "b"))
                                        .message(2, Message().text(10, "n"))
                                        .message(2, Message())),
            object_of(R"({"metadata":{"name":"b","namespace":"ns"},"spec":{"nodeName":"n"}})"));
}

// Volume {name = 1, volumeSource = 2}; NamedRuleWithOperations {resourceNames = 1, ruleWithOperations = 2 {operations =
// 1, rule = 2 {apiGroups = 1, ...}}}
TEST(Protobuf, EmbeddedStructsAreMessagesButNotInJson) {
  EXPECT_EQ(
      read("api.core.v1.Volume", Message().text(1, "v").message(2, Message().message(1, Message().text(1, "/x")))),
      object_of(R"({"name":"v","hostPath":{"path":"/x"}})"));
  EXPECT_EQ(read("api.admissionregistration.v1.NamedRuleWithOperations",
                 Message().text(1, "n").message(
                     2, Message().text(1, "CREATE").message(2, Message().text(1, "g").text(3, "pods").text(9, "?")))),
            object_of(R"({"resourceNames":["n"],"operations":["CREATE"],"apiGroups":["g"],"resources":["pods"]})"));
  EXPECT_EQ(error_of("api.core.v1.Volume", Message().number(2, 1)), "proto: wrong wireType = 0 for field VolumeSource");
  EXPECT_EQ(error_of("api.core.v1.Volume", Message().message(2, Message().tag(3, 4))),
            "proto: VolumeSource: wiretype end group for non-group");
}

TEST(Protobuf, TimesAreSecondsAndOnlyMicroTimesHaveAFraction) {
  const auto time = [](int64_t seconds, int64_t nanos) { return Message().number(1, seconds).number(2, nanos); };
  const auto lease = [](const Message& micro) { return Message().message(3, micro); };
  EXPECT_EQ(read("apimachinery.pkg.apis.meta.v1.ObjectMeta", Message().message(8, time(1700000000, 999999999))),
            object_of(R"({"creationTimestamp":"2023-11-14T22:13:20.000000Z"})"));
  EXPECT_EQ(read("apimachinery.pkg.apis.meta.v1.ObjectMeta", Message().message(8, Message())),
            object_of(R"({"creationTimestamp":null})"));
  EXPECT_EQ(read("api.coordination.v1.LeaseSpec", lease(time(1700000000, 123456789))),
            object_of(R"({"acquireTime":"2023-11-14T22:13:20.123456Z"})"));
  EXPECT_EQ(read("api.coordination.v1.LeaseSpec", lease(time(0, -1000))),
            object_of(R"({"acquireTime":"1969-12-31T23:59:59.999999Z"})"));
  EXPECT_EQ(read("api.coordination.v1.LeaseSpec", lease(time(-1, 1'500'000'000))),
            object_of(R"({"acquireTime":"1970-01-01T00:00:00.500000Z"})"));
  for (const int64_t far : {int64_t{253402300800}, int64_t{-62135596801}, std::numeric_limits<int64_t>::max(),
                            std::numeric_limits<int64_t>::min()})
    EXPECT_EQ(error_of("api.coordination.v1.LeaseSpec", lease(time(far, 0))),
              "Time.MarshalJSON: year outside of range [0,9999]");
}

TEST(Protobuf, ReadsIntOrStringQuantityAndDouble) {
  const auto target = [](const Message& value) { return Message().message(4, value); };
  EXPECT_EQ(read("api.core.v1.ServicePort", target(Message().number(1, 0).number(2, 80).text(3, ""))),
            object_of(R"({"targetPort":80})"));
  EXPECT_EQ(read("api.core.v1.ServicePort", target(Message().number(1, 1).number(2, 0).text(3, "http"))),
            object_of(R"({"targetPort":"http"})"));
  EXPECT_EQ(error_of("api.core.v1.ServicePort", target(Message().number(1, 2))), "impossible IntOrString.Type");
  EXPECT_EQ(read("apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps", Message().real(9, -1.25)),
            object_of(R"({"maximum":-1.25})"));
  EXPECT_EQ(error_of("apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
                     Message().real(9, std::numeric_limits<double>::infinity())),
            "json: unsupported value: not a finite number");
}

TEST(Protobuf, RawJsonIsParsed) {
  const auto revision = [](std::string_view raw) { return Message().message(2, Message().text(1, raw)); };
  EXPECT_EQ(read("api.apps.v1.ControllerRevision", revision(R"({"a":[1,{}]})")), object_of(R"({"data":{"a":[1,{}]}})"));
  EXPECT_EQ(read("api.apps.v1.ControllerRevision", revision("")), object_of(R"({"data":null})"));
  EXPECT_EQ(error_of("api.apps.v1.ControllerRevision", revision("{")), "unexpected end of JSON input");
}

// items: JSONSchemaPropsOrArray, additionalProperties: ...OrBool, dependencies: ...OrStringArray
TEST(Protobuf, SchemasOfCrdsHaveFormsOfTheirOwn) {
  const std::string_view type = "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
  const Message string = Message().text(5, "string");
  EXPECT_EQ(read(type, Message().message(24, Message().message(1, string))),
            object_of(R"({"items":{"type":"string"}})"));
  EXPECT_EQ(read(type, Message().message(24, Message().message(2, string).message(2, Message()))),
            object_of(R"({"items":[{"type":"string"},{}]})"));
  EXPECT_EQ(read(type, Message().message(24, Message())), object_of(R"({"items":null})"));
  EXPECT_EQ(read(type, Message().message(30, Message().number(1, 1)).message(33, Message().number(1, 0))),
            object_of(R"({"additionalProperties":true,"additionalItems":false})"));
  EXPECT_EQ(read(type, Message().message(30, Message().number(1, 1).message(2, string))),
            object_of(R"({"additionalProperties":{"type":"string"}})"));
  EXPECT_EQ(read(type, Message().message(32, Message().text(1, "a").message(2, Message().text(2, "b").text(2, "c")))),
            object_of(R"({"dependencies":{"a":["b","c"]}})"));
}

TEST(Protobuf, UnknownFieldsOfEveryWireTypeAreSkipped) {
  Message message;
  message.number(1000, 1).text(100, "x").fixed64(536870911, 1).fixed32(300, 1);
  message.tag(200, 3).number(1, 5).tag(7, 3).text(1, "in a group in a group").tag(7, 4).fixed32(1, 1).tag(200, 4);
  message.text(10, "n").number(256 + 10, 3);
  EXPECT_EQ(read("api.core.v1.PodSpec", message), object_of(R"({"nodeName":"n"})"));
}

TEST(Protobuf, SaysWhatIsBroken) {
  const std::string_view type = "api.core.v1.PodSpec";
  EXPECT_EQ(error_of(type, Message().number(10, 1)), "proto: wrong wireType = 0 for field NodeName");
  EXPECT_EQ(error_of(type, Message().text(11, "")), "proto: wrong wireType = 2 for field HostNetwork");
  EXPECT_EQ(error_of("api.core.v1.Pod", Message().number(1, 1)), "proto: wrong wireType = 0 for field ObjectMeta");
  EXPECT_EQ(error_of(type, Message().tag(10, 4)), "proto: PodSpec: wiretype end group for non-group");
  EXPECT_EQ(error_of(type, Message().number(0, 1)), "proto: PodSpec: illegal tag 0 (wire type 0)");
  EXPECT_EQ(error_of(type, Message().tag(100, 6)), "proto: illegal wireType 6");
  EXPECT_EQ(error_of(type, Message().tag(100, 3).number(1, 1)), "unexpected EOF");
  EXPECT_EQ(error_of(type, {std::string(11, '\xff')}), "proto: integer overflow");
  EXPECT_EQ(error_of(type, Message().tag(10, 2).varint(uint64_t{1} << 63)),
            "proto: negative length found during unmarshaling");
  EXPECT_EQ(error_of(type, Message().tag(10, 2).varint(uint64_t{1} << 62)), "unexpected EOF");
}

TEST(Protobuf, EveryTruncationIsToldOrASmallerObject) {
  const Message spec =
      Message()
          .text(10, "node")
          .message(2, Message().text(1, "c").message(
                          8, Message().message(1, Message().text(1, "cpu").message(2, Message().text(1, "1")))));
  const std::string whole = Message().message(1, Message().text(1, "name")).message(2, spec).bytes;
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto object = decode_protobuf(whole.substr(0, size), pod());
    const bool at_a_border = size == 0 || size == 8;  // between fields: 1 = metadata is there
    EXPECT_EQ(object.has_value(), at_a_border) << size;
    if (!object) {
      EXPECT_EQ(object.error(), "unexpected EOF") << size;
    }
  }
  EXPECT_TRUE(decode_protobuf(whole, pod()));
}

TEST(Protobuf, DepthIsBounded) {
  const Schema& schema = *builtin_type("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps");
  const auto nested = [](int depth) {
    Message message;
    for (int i = 1; i < depth; ++i) message = Message().message(28, message);
    return message.bytes;
  };
  EXPECT_TRUE(decode_protobuf(nested(kMaxProtobufDepth), schema));
  const auto deeper = decode_protobuf(nested(kMaxProtobufDepth + 1), schema);
  ASSERT_FALSE(deeper);
  EXPECT_EQ(deeper.error(), "exceeded max depth");
  EXPECT_FALSE(decode_protobuf(nested(20'000), schema));
}

TEST(ProtobufEnvelope, TellsTheKindAndTheMessage) {
  const auto body = testing::enveloped("apps/v1", "Deployment", Message().text(1, "raw"));
  const auto envelope = open_protobuf(body);
  ASSERT_TRUE(envelope) << envelope.error();
  EXPECT_EQ(envelope->api_version, "apps/v1");
  EXPECT_EQ(envelope->kind, "Deployment");
  EXPECT_EQ(envelope->raw, Message().text(1, "raw").bytes);
  const auto bare = open_protobuf(std::string_view("k8s\0\x12\x00", 6));
  ASSERT_TRUE(bare) << bare.error();
  EXPECT_EQ(bare->api_version + bare->kind + std::string(bare->raw), "");
}

TEST(ProtobufEnvelope, SaysWhatIsBroken) {
  const auto error = [](std::string_view body) {
    const auto envelope = open_protobuf(body);
    return envelope ? "fine" : envelope.error();
  };
  const std::string magic("k8s\0", 4);
  EXPECT_EQ(error(""), "empty data");
  EXPECT_EQ(error("k8s"), "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  EXPECT_EQ(error("{}"), "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  EXPECT_EQ(error(magic), "empty body");
  EXPECT_EQ(error(magic + "\x0a"), "unexpected EOF");
  EXPECT_EQ(error(magic + Message().number(1, 1).bytes), "proto: wrong wireType = 0 for field TypeMeta");
  EXPECT_EQ(error(magic + Message().number(2, 1).bytes), "proto: wrong wireType = 0 for field Raw");
  EXPECT_EQ(error(magic + Message().message(1, Message().number(2, 1)).bytes),
            "proto: wrong wireType = 0 for field Kind");
  EXPECT_EQ(error(magic + Message().tag(9, 4).bytes), "proto: Unknown: wiretype end group for non-group");
}

}  // namespace
}  // namespace hookd::embedded
