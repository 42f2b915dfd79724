#include "embedded/resources/convert.h"

#include <gtest/gtest.h>

#include "embedded/resources/convert_kinds.h"
#include "embedded/resources/fields.h"
#include "embedded/schema/custom_schema.h"

namespace hookd::embedded {
namespace {

json::object parse(std::string_view text) { return json::parse(text).as_object(); }

TEST(Convert, EventsThereAndBack) {
  const json::object core = parse(R"({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"},
    "involvedObject": {"kind": "Pod"}, "reason": "R", "message": "m", "source": {"component": "c"},
    "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z", "count": 2, "type": "Normal",
    "eventTime": null, "series": {"count": 3, "lastObservedTime": null}, "action": "A", "related": {"kind": "Node"},
    "reportingComponent": "rc", "reportingInstance": "ri"})");
  json::object object = core;
  event_to_events(object);
  EXPECT_EQ(string_at(object, {"regarding", "kind"}), "Pod");
  EXPECT_EQ(string_at(object, {"note"}), "m");
  EXPECT_EQ(string_at(object, {"reportingController"}), "rc");
  EXPECT_EQ(integer_at(object, {"deprecatedCount"}), 2);
  EXPECT_EQ(string_at(object, {"deprecatedSource", "component"}), "c");
  EXPECT_FALSE(object.contains("involvedObject"));
  event_to_core(object);
  EXPECT_EQ(json::serialize(object), json::serialize(core));  // also in the order of the fields
}

TEST(Convert, AutoscalersThereAndBack) {
  const json::object v2 = parse(R"({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "h", "annotations": {"mine": "1"}},
    "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "minReplicas": 1, "maxReplicas": 5, "metrics": [
      {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
      {"type": "Pods", "pods": {"target": {"type": "AverageValue", "averageValue": "5"}, "metric": {"name": "qps"}}},
      {"type": "Object", "object": {"describedObject": {"kind": "Service", "name": "s"},
        "target": {"type": "Value", "value": "7"}, "metric": {"name": "hits", "selector": {"matchLabels": {"a": "b"}}}}},
      {"type": "External", "external": {"target": {"type": "Value", "value": "9"}, "metric": {"name": "ext"}}},
      {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c",
        "target": {"type": "Utilization", "averageUtilization": 40}}},
      {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}],
      "behavior": {"scaleDown": {"stabilizationWindowSeconds": 10, "policies": [{"type": "Pods", "value": 1, "periodSeconds": 2}]}}},
    "status": {"currentReplicas": 2, "desiredReplicas": 3,
      "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageValue": "1", "averageUtilization": 50}}}],
      "conditions": [{"type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})");
  json::object object = v2;
  hpa_to_v1(object);
  EXPECT_EQ(integer_at(object, {"spec", "targetCPUUtilizationPercentage"}), 60);
  EXPECT_EQ(integer_at(object, {"status", "currentCPUUtilizationPercentage"}), 50);
  EXPECT_FALSE(has(object, {"spec", "metrics"}));
  const std::string_view metrics =
      string_at(object, {"metadata", "annotations", "autoscaling.alpha.kubernetes.io/metrics"});
  EXPECT_TRUE(metrics.starts_with(R"([{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}},)"))
      << metrics;
  EXPECT_EQ(string_at(object, {"metadata", "annotations", "mine"}), "1");
  hpa_to_v2(object);
  EXPECT_TRUE(same(object, v2)) << json::serialize(object);
}

TEST(Convert, AnAutoscalerWithoutMetricsWatchesTheCpu) {
  json::object object = parse(R"({"metadata": {}, "spec": {"scaleTargetRef": {"name": "d"}, "maxReplicas": 5}})");
  hpa_to_v2(object);
  EXPECT_EQ(array_at(object, {"spec", "metrics"}), json::parse(R"([{"type": "Resource", "resource": {"name": "cpu",
    "target": {"type": "Utilization", "averageUtilization": 80}}}])"));
}

struct Custom {
  std::shared_ptr<const CustomSchema> schema = CustomSchema::build(parse(R"({"type": "object", "properties": {
    "spec": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string", "default": "x"}}}}})"));
  Resource resource;
  Custom() {
    resource.group = "g.io";
    resource.version = "v2";
    resource.kind = "K";
    resource.storage_version = "g.io/v1";
    resource.custom = true;
    resource.schema = &schema->root();
  }
};

TEST(Convert, RewritesCustomVersionsAndFitsThemToTheSchema) {
  Custom custom;
  EXPECT_TRUE(needs_conversion(custom.resource));
  const auto text = convert_text(
      R"({"apiVersion":"g.io/v1","kind":"K","metadata":{"name":"n"},"spec":{"a":"1","old":2}})", custom.resource);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, R"({"apiVersion":"g.io/v2","kind":"K","metadata":{"name":"n"},"spec":{"a":"1","b":"x"}})");
  json::object object = parse(*text);
  ASSERT_TRUE(convert(object, custom.resource, "g.io/v1"));
  EXPECT_EQ(string_at(object, {"apiVersion"}), "g.io/v1");
}

TEST(Convert, LeavesTheSameVersionAloneUnlessItsSchemaChanged) {
  Custom custom;
  custom.resource.version = "v1";
  EXPECT_FALSE(needs_conversion(custom.resource));
  json::object object = parse(R"({"apiVersion": "g.io/v1", "spec": {"old": 1}})");
  ASSERT_TRUE(convert(object, custom.resource, "g.io/v1"));
  EXPECT_TRUE(has(object, {"spec", "old"}));
  custom.resource.coerce_on_read = true;
  EXPECT_TRUE(needs_conversion(custom.resource));
  ASSERT_TRUE(convert(object, custom.resource, "g.io/v1"));
  EXPECT_EQ(object.at("spec"), json::parse(R"({"b": "x"})"));
}

TEST(Convert, RefusesWhereAWebhookWouldHaveTo) {
  Custom custom;
  custom.resource.webhook_conversion = true;
  json::object object = parse(R"({"apiVersion": "g.io/v1", "metadata": {"name": "n"}})");
  const auto refused = convert(object, custom.resource, "g.io/v2");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 500);
  EXPECT_NE(refused.error().message.find("conversion webhook"), std::string::npos);
}

}  // namespace
}  // namespace hookd::embedded
