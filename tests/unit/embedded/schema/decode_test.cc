#include "embedded/schema/decode.h"

#include <gtest/gtest.h>

#include "embedded/schema/quantity.h"
#include "unit/embedded/schema/schema_support.h"

namespace hookd::embedded {
namespace {

json::object decoded(std::string_view group, std::string_view version, std::string_view kind, std::string_view text) {
  json::object object = object_of(text);
  const auto report = decode(object, kind_schema(group, version, kind));
  if (!report) throw std::runtime_error(report.error());
  return object;
}

std::string error_of(std::string_view group, std::string_view kind, std::string_view text) {
  json::object object = object_of(text);
  const auto report = normalise(object, kind_schema(group, "v1", kind));
  return report ? "fine" : report.error().message;
}

constexpr std::string_view kPodError = "Pod in version \"v1\" cannot be handled as a Pod: ";
std::string pod_error(std::string_view spec) {
  std::string text = error_of(
      "", "Pod", R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":)" + std::string(spec) + "}");
  EXPECT_TRUE(text.starts_with(kPodError)) << text;
  return text.substr(std::min(text.size(), kPodError.size()));
}

TEST(Decode, UnknownFieldsAreDroppedAndToldWithTheirPath) {
  json::object pod = object_of(R"({"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"any":"x"}},
      "spec":{"containers":[{"name":"a"},{"name":"b","foo":1,"env":[{"e":1}]}],"bar":{},"nodename":"n"},"zzz":null})");
  const auto report = decode(pod, kind_schema("", "v1", "Pod"));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->unknown,
            (std::vector<std::string>{R"(unknown field "spec.containers[1].foo")",
                                      R"(unknown field "spec.containers[1].env[0].e")", R"(unknown field "spec.bar")",
                                      R"(unknown field "spec.nodename")", R"(unknown field "zzz")"}));
  EXPECT_FALSE(pod.at("spec").as_object().contains("bar"));
  EXPECT_EQ(pod.at("metadata").at("labels").at("any"), "x");
}

TEST(Decode, TellsAtMostAHundredUnknownFields) {
  json::object pod = object_of(R"({"apiVersion":"v1","kind":"Pod"})");
  for (int i = 0; i < 300; ++i) pod["unknown" + std::to_string(i)] = i;
  EXPECT_EQ(decode(pod, kind_schema("", "v1", "Pod"))->unknown.size(), 100U);
}

TEST(Decode, PrintsWhatIsAlwaysPrintedAndDropsWhatIsEmpty) {
  EXPECT_EQ(decoded("", "v1", "Pod", R"({"metadata":{"name":"a","creationTimestamp":null,"labels":{}},
                "spec":{"containers":[{"name":"c","args":[],"tty":false}],"hostname":"","priority":0,"volumes":null}})"),
            object_of(R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","resources":{}}],"priority":0},
                "status":{}})"));
  EXPECT_EQ(decoded("", "v1", "Event", R"({})"),
            object_of(R"({"metadata":{},"involvedObject":{},"source":{},"firstTimestamp":null,"lastTimestamp":null,
                "eventTime":null,"reportingComponent":"","reportingInstance":""})"));
}

TEST(Decode, EmptyListThatIsPrintedAsNullStaysUntilItIsStored) {
  json::object role = decoded("rbac.authorization.k8s.io", "v1", "Role", R"({"metadata":{"name":"r"},"rules":[]})");
  EXPECT_EQ(role, object_of(R"({"metadata":{"name":"r"},"rules":[]})"));
  complete(role, kind_schema("rbac.authorization.k8s.io", "v1", "Role"));
  EXPECT_EQ(role, object_of(R"({"metadata":{"name":"r"},"rules":null})"));
}

TEST(Decode, NullsInListsAndMapsAreTheZero) {
  EXPECT_EQ(decoded("", "v1", "ConfigMap", R"({"metadata":{"finalizers":[null]},"data":{"a":null}})"),
            object_of(R"({"metadata":{"finalizers":[""]},"data":{"a":""}})"));
}

TEST(Decode, CanonicalQuantitiesTimesBytes) {
  const json::object pod = decoded("", "v1", "Pod", R"({"metadata":{"creationTimestamp":"2024-01-02T03:04:05.9+01:00"},
      "spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":0.5,"memory":"1024Ki","x":1}}}]}})");
  EXPECT_EQ(pod.at("metadata").at("creationTimestamp"), "2024-01-02T02:04:05Z");
  EXPECT_EQ(pod.at("spec").at("containers").as_array()[0].at("resources").at("limits"),
            json_of(R"({"cpu":"500m","memory":"1Mi","x":"1"})"));
  EXPECT_EQ(decoded("", "v1", "Secret", R"({"data":{"a":"aG\nk="}})").at("data").at("a"), "aGk=");
  EXPECT_EQ(
      decoded("coordination.k8s.io", "v1", "Lease", R"({"spec":{"renewTime":"2024-01-02T03:04:05.123456+01:00"}})")
          .at("spec")
          .at("renewTime"),
      "2024-01-02T02:04:05.123456Z");
}

TEST(Decode, WrongTypesAreToldAsGoTellsThem) {
  EXPECT_EQ(pod_error(R"({"nodeSelector":"x"})"),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.nodeSelector of type map[string]string");
  EXPECT_EQ(pod_error(R"({"containers":"x"})"),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container");
  EXPECT_EQ(pod_error(R"({"containers":["x"]})"),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type v1.Container");
  EXPECT_EQ(pod_error(R"({"containers":[{"ports":[{"containerPort":"80"}]}]})"),
            "json: cannot unmarshal string into Go struct field ContainerPort.spec.containers.ports.containerPort of "
            "type int32");
  EXPECT_EQ(pod_error(R"({"priority":99999999999})"),
            "json: cannot unmarshal number 99999999999 into Go struct field PodSpec.spec.priority of type int32");
  EXPECT_EQ(pod_error(R"({"restartPolicy":5})"),
            "json: cannot unmarshal number into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy");
  EXPECT_EQ(pod_error(R"({"volumes":[{"name":"a","hostPath":"x"}]})"),
            "json: cannot unmarshal string into Go struct field Volume.spec.volumes.VolumeSource.hostPath of type "
            "v1.HostPathVolumeSource");
  EXPECT_EQ(pod_error(R"({"containers":[{"resources":{"limits":{"cpu":"5x"}}}]})"),
            std::string(quantity_problem("5x")));
}

TEST(Decode, ErrorsOfBytesAndTimes) {
  EXPECT_EQ(error_of("", "ConfigMap", R"({"apiVersion":"v1","kind":"ConfigMap","binaryData":{"a":"!!"}})"),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: illegal base64 data at input byte 0");
  EXPECT_EQ(
      error_of("coordination.k8s.io", "Lease",
               R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"creationTimestamp":"x"}})"),
      "Lease in version \"v1\" cannot be handled as a Lease: parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": "
      "cannot parse \"x\" as \"2006\"");
}

TEST(Decode, DoneTwiceChangesNothing) {
  json::object pod = decoded("", "v1", "Pod", R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c"}]}})");
  const json::object once = pod;
  ASSERT_TRUE(decode(pod, kind_schema("", "v1", "Pod")));
  EXPECT_EQ(pod, once);
}

TEST(Complete, LeavesUnknownFieldsAlone) {
  json::object object = object_of(R"({"metadata":{"name":"a"},"later":{},"data":{}})");
  complete(object, kind_schema("", "v1", "ConfigMap"));
  EXPECT_EQ(object, object_of(R"({"metadata":{"name":"a"},"later":{}})"));
}

TEST(Complete, DoesNothingToCustomObjects) {
  Schema text;
  text.type = Schema::Type::kString;
  Schema root;
  root.type = Schema::Type::kObject;
  root.fields = {{.name = "a", .schema = &text}, {.name = "b", .schema = &text}};
  json::object object = object_of(R"({"a":null,"b":""})");
  complete(object, root);
  EXPECT_EQ(object, object_of(R"({"a":null,"b":""})"));
}

TEST(DuplicateFields, AreToldWithTheirPath) {
  EXPECT_EQ(
      duplicate_fields(R"({"a":1,"b":{"c":1,"c":2,"c":3},"l":[{"x":1},{"x":1,"y":[1,2],"x":2}],"a":2})"),
      (std::vector<std::string>{R"(duplicate field "b.c")", R"(duplicate field "l[1].x")", R"(duplicate field "a")"}));
  EXPECT_TRUE(duplicate_fields(R"({"a":{"b":1},"b":[[{"a":1}],{"a":1}]})").empty());
  EXPECT_TRUE(duplicate_fields(R"({"a":1,"a":)").empty());
  EXPECT_EQ(duplicate_fields(R"({"a":1,"a":1,"b":1,"b":1})", 1).size(), 1U);
}

}  // namespace
}  // namespace hookd::embedded
