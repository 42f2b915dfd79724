#include "embedded/print/table.h"

#include <gtest/gtest.h>

#include "base/time.h"
#include "embedded/resources/fields.h"

namespace hookd::embedded {
namespace {

class TableTest : public ::testing::Test {
 protected:
  TableTest() { add_builtin_resources(registry_); }

  json::object table(std::string_view group, std::string_view version, std::string_view plural, std::string_view text) {
    const std::vector<json::object> objects{json::parse(text).as_object()};
    TableOptions options;
    options.now = *parse_rfc3339("2026-01-01T00:10:00Z");
    return table_of(*registry_.find(group, version, plural), objects, {{"resourceVersion", "7"}}, options);
  }
  std::string cells(std::string_view group, std::string_view version, std::string_view plural, std::string_view text) {
    return json::serialize(table(group, version, plural, text).at("rows").at(0).at("cells"));
  }
  // Ready, Status and Restarts of a pod.
  std::string pod(std::string_view rest) {
    const json::object out = table("", "v1", "pods", fmt::format(R"({{"metadata":{{"name":"p"}},{}}})", rest));
    const json::array& row = out.at("rows").at(0).at("cells").as_array();
    return fmt::format("{} {} {}", as_string(row[1]), as_string(row[2]), as_string(row[3]));
  }

  Registry registry_;
};

TEST(HumanDuration, HasTwoFiguresAsKubectlShows) {
  struct Case {
    int64_t seconds;
    const char* text;
  };
  for (const Case& entry : std::initializer_list<Case>{{-5, "<invalid>"},
                                                       {-1, "0s"},
                                                       {119, "119s"},
                                                       {120, "2m"},
                                                       {150, "2m30s"},
                                                       {600, "10m"},
                                                       {10'800, "3h"},
                                                       {11'100, "3h5m"},
                                                       {172'800, "2d"},
                                                       {180'000, "2d2h"},
                                                       {864'000, "10d"},
                                                       {63'072'000, "2y"},
                                                       {65'664'000, "2y30d"},
                                                       {315'360'000, "10y"}})
    EXPECT_EQ(human_duration(std::chrono::seconds(entry.seconds)), entry.text) << entry.seconds;
}

TEST_F(TableTest, PodStatusWords) {
  const std::string one = R"("spec":{"containers":[{"name":"a"}]},)";
  struct Case {
    std::string rest, text;
  };
  const Case cases[] = {
      {one + R"("status":{"phase":"Pending"})", "0/1 Pending 0"},
      {one + R"("status":{"phase":"Running","containerStatuses":[{"name":"a","ready":true,"state":{"running":{}},
        "restartCount":2,"lastState":{"terminated":{"finishedAt":"2026-01-01T00:05:00Z"}}}]})",
       "1/1 Running 2 (5m ago)"},
      {one + R"("status":{"phase":"Running","containerStatuses":[{"state":{"waiting":{"reason":"CrashLoopBackOff"}},
        "restartCount":5}]})",
       "0/1 CrashLoopBackOff 5"},
      {one + R"("status":{"phase":"Succeeded","containerStatuses":[{"state":{"terminated":{"reason":"Completed"}}}]})",
       "0/1 Completed 0"},
      {one + R"("status":{"phase":"Failed","containerStatuses":[{"state":{"terminated":{"exitCode":3}}}]})",
       "0/1 ExitCode:3 0"},
      {one + R"("status":{"phase":"Failed","reason":"Evicted"})", "0/1 Evicted 0"},
      {R"("spec":{"initContainers":[{"name":"i"},{"name":"j"}],"containers":[{"name":"a"}]},
        "status":{"phase":"Pending","initContainerStatuses":[{"name":"i","state":{"waiting":{"reason":"PodInitializing"}}}]})",
       "0/1 Init:0/2 0"},
      {R"("spec":{"initContainers":[{"name":"i"}],"containers":[{"name":"a"}]},
        "status":{"phase":"Pending","initContainerStatuses":[{"name":"i","restartCount":1,
        "state":{"terminated":{"exitCode":1,"reason":"Error"}}}]})",
       "0/1 Init:Error 1"},
      {R"("spec":{"initContainers":[{"name":"s","restartPolicy":"Always"}],"containers":[{"name":"a"}]},
        "status":{"phase":"Running","initContainerStatuses":[{"name":"s","started":true,"ready":true,
        "state":{"running":{}}}],"containerStatuses":[{"name":"a","ready":true,"state":{"running":{}}}]})",
       "2/2 Running 0"},
      {one + R"("status":{"phase":"Pending","conditions":[{"type":"PodScheduled","reason":"SchedulingGated"}]})",
       "0/1 SchedulingGated 0"},
  };
  for (const Case& entry : cases) EXPECT_EQ(pod(entry.rest), entry.text) << entry.rest;
}

TEST_F(TableTest, APodThatEndsIsTerminatingAndOnALostNodeUnknown) {
  const auto state = [&](std::string_view status) {
    return cells(
        "", "v1", "pods",
        fmt::format(R"({{"metadata":{{"name":"p","deletionTimestamp":"2026-01-01T00:00:00Z"}},"status":{}}})", status));
  };
  EXPECT_NE(state(R"({"phase":"Running"})").find("\"Terminating\""), std::string::npos);
  EXPECT_NE(state(R"({"phase":"Running","reason":"NodeLost"})").find("\"Unknown\""), std::string::npos);
  EXPECT_EQ(state(R"({"phase":"Succeeded"})").find("Terminating"), std::string::npos);
}

TEST_F(TableTest, OneObjectOfEachKind) {
  struct Case {
    const char *group, *version, *plural, *object, *cells;
  };
  const Case cases[] = {
      {"apps", "v1", "deployments",
       R"({"metadata":{"name":"d","creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"replicas":3,"selector":
        {"matchLabels":{"b":"c","a":"b"}},"template":{"spec":{"containers":[{"name":"x","image":"i"},{"name":"y","image":"j"}]}}},
        "status":{"readyReplicas":2,"updatedReplicas":3,"availableReplicas":1}})",
       R"(["d","2/3",3,1,"10m","x,y","i,j","a=b,b=c"])"},
      {"", "v1", "services",
       R"({"metadata":{"name":"s"},"spec":{"type":"LoadBalancer","clusterIPs":["10.96.0.1"],
        "ports":[{"port":80,"nodePort":30001,"protocol":"TCP"}]}})",
       R"(["s","LoadBalancer","10.96.0.1","<pending>","80:30001/TCP","<unknown>","<none>"])"},
      {"", "v1", "nodes",
       R"({"metadata":{"name":"n","labels":{"node-role.kubernetes.io/control-plane":""}},"spec":{"unschedulable":true},
        "status":{"conditions":[{"type":"Ready","status":"False"}]}})",
       R"(["n","NotReady,SchedulingDisabled","control-plane","<unknown>","","<none>","<none>","<unknown>","<unknown>","<unknown>"])"},
      {"", "v1", "events",
       R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"p"},"type":"Normal","reason":"R","message":" m ",
        "lastTimestamp":"2026-01-01T00:09:00Z","firstTimestamp":"2026-01-01T00:00:00Z","count":3,"source":{"component":"c"}})",
       R"(["60s","Normal","R","pod/p","","c","m","10m",3,"e"])"},
      {"batch", "v1", "jobs",
       R"({"metadata":{"name":"j"},"spec":{"completions":2},"status":{"succeeded":1,"startTime":"2026-01-01T00:00:00Z",
        "completionTime":"2026-01-01T00:01:00Z","conditions":[{"type":"Complete","status":"True"}]}})",
       R"(["j","Complete","1/2","60s","<unknown>","","","<none>"])"},
      {"batch", "v1", "cronjobs", R"({"metadata":{"name":"c"},"spec":{"schedule":"* * * * *","suspend":true}})",
       R"(["c","* * * * *","<none>","True",0,"<none>","<unknown>","","","<none>"])"},
      {"", "v1", "persistentvolumeclaims",
       R"({"metadata":{"name":"c"},"spec":{"volumeName":"v","volumeMode":"Filesystem"},"status":{"phase":"Bound",
        "accessModes":["ReadWriteMany","ReadWriteOnce"],"capacity":{"storage":"1Gi"}}})",
       R"(["c","Bound","v","1Gi","RWO,RWX","","<unset>","<unknown>","Filesystem"])"},
      {"networking.k8s.io", "v1", "ingresses",
       R"({"metadata":{"name":"i"},"spec":{"rules":[{"host":"a"},{"host":"b"},{"host":"c"},{"host":"d"}]}})",
       R"(["i","<none>","a,b,c + 1 more...","","80","<unknown>"])"},
      {"autoscaling", "v1", "horizontalpodautoscalers",
       R"({"metadata":{"name":"h"},"spec":{"maxReplicas":3,"minReplicas":1,"targetCPUUtilizationPercentage":80,
        "scaleTargetRef":{"kind":"Deployment","name":"d"}}})",
       R"(["h","Deployment/d","cpu: <unknown>/80%","1",3,0,"<unknown>"])"},
      {"rbac.authorization.k8s.io", "v1", "roles",
       R"({"metadata":{"name":"r","creationTimestamp":"2026-01-01T00:00:00Z"}})", R"(["r","2026-01-01T00:00:00Z"])"},
      {"policy", "v1", "poddisruptionbudgets", R"({"metadata":{"name":"p"},"spec":{"minAvailable":"50%"}})",
       R"(["p","50%","N/A",0,"<unknown>"])"},
  };
  for (const Case& entry : cases) EXPECT_EQ(cells(entry.group, entry.version, entry.plural, entry.object), entry.cells);
}

TEST_F(TableTest, EveryKindHasAsManyCellsAsColumns) {
  for (const ResourcePtr& resource : registry_.all()) {
    const std::vector<json::object> objects{{{"metadata", {{"name", "x"}}}}};
    const json::object out = table_of(*resource, objects, {}, {});
    const size_t columns = out.at("columnDefinitions").as_array().size();
    const size_t found = out.at("rows").at(0).at("cells").as_array().size();
    // The real server gives IPAddresses an age without a column for it.
    EXPECT_EQ(found, columns + (resource->plural == "ipaddresses" ? 1 : 0)) << resource->plural;
  }
}

TEST_F(TableTest, CustomColumnsByTypeAndPath) {
  Resource resource;
  resource.custom = true;
  resource.plural = "widgets";
  resource.columns = {{"Size", "integer", "", "", ".spec.size", 0},
                      {"Ready", "string", "", "", ".status.conditions[?(@.type==\"Ready\")].status", 0},
                      {"On", "boolean", "", "", ".spec.on", 1},
                      {"Made", "date", "", "", ".metadata.creationTimestamp", 0},
                      {"None", "string", "", "", ".spec.none", 0},
                      {"Wrong", "integer", "", "", ".spec.on", 0},
                      {"Map", "string", "", "", ".spec.map", 0}};
  const std::vector<json::object> objects{
      json::parse(R"({"metadata":{"name":"w","creationTimestamp":"2026-01-01T00:00:00Z"},
        "spec":{"size":3,"on":true,"map":{"a":1}},"status":{"conditions":[{"type":"X","status":"no"},
        {"type":"Ready","status":"True"}]}})")
          .as_object()};
  TableOptions options;
  options.now = *parse_rfc3339("2026-01-01T00:10:00Z");
  const json::object out = table_of(resource, objects, {}, options);
  EXPECT_EQ(json::serialize(out.at("rows").at(0).at("cells")), R"(["w",3,"True",true,"10m",null,null,"{\"a\":1}"])");
  EXPECT_EQ(out.at("columnDefinitions").at(3).at("priority"), 1);
  resource.columns.clear();
  EXPECT_EQ(json::serialize(table_of(resource, objects, {}, options).at("rows").at(0).at("cells")), R"(["w","10m"])");
}

TEST_F(TableTest, WhatGoesWithARow) {
  const std::vector<json::object> objects{
      json::parse(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"status":{"phase":"Failed"}})")
          .as_object()};
  const Resource& pods = *registry_.find("", "v1", "pods");
  TableOptions options;
  json::object out = table_of(pods, objects, {{"resourceVersion", "7"}}, options);
  EXPECT_EQ(out.at("metadata").at("resourceVersion"), "7");
  EXPECT_EQ(out.at("rows").at(0).at("object").at("kind"), "PartialObjectMetadata");
  EXPECT_EQ(out.at("rows").at(0).at("conditions").at(0).at("reason"), "Failed");
  options.include = IncludeObject::kNone;
  options.headers = false;
  out = table_of(pods, objects, {}, options);
  EXPECT_TRUE(out.at("rows").at(0).at("object").is_null());
  EXPECT_TRUE(out.at("columnDefinitions").is_null());
  options.include = IncludeObject::kObject;
  EXPECT_EQ(table_of(pods, objects, {}, options).at("rows").at(0).at("object").at("kind"), "Pod");
}

}  // namespace
}  // namespace hookd::embedded
