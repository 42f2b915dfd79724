// What the server fills in by itself.
#include <gtest/gtest.h>

#include "unit/embedded/resources/harness.h"

namespace hookd::embedded {
namespace {

constexpr const char* kPod = R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"i"}]}})";

TEST(Pods, AdmissionFillsInAccountPriorityAndTolerations) {
  Desk desk;
  const json::object pod = desk.create("v1", "pods", kPod);
  EXPECT_EQ(string_at(pod, {"spec", "serviceAccountName"}), "default");
  EXPECT_EQ(string_at(pod, {"spec", "serviceAccount"}), "default");
  EXPECT_EQ(integer_at(pod, {"spec", "priority"}), 0);
  EXPECT_EQ(string_at(pod, {"spec", "preemptionPolicy"}), "PreemptLowerPriority");
  EXPECT_EQ(
      json::serialize(array_at(pod, {"spec", "tolerations"})[1]),
      R"({"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300})");
  EXPECT_EQ(json::serialize(object_at(pod, {"status"})), R"({"phase":"Pending","qosClass":"BestEffort"})");
}

TEST(Pods, AdmissionRefusesWhatIsNotThere) {
  Desk desk;
  desk.create("v1", "pods", R"({"metadata":{"name":"p"},"spec":{"serviceAccountName":"x","containers":[]}})");
  EXPECT_EQ(desk.code, 403);
  EXPECT_EQ(desk.message,
            "pods \"p\" is forbidden: error looking up service account fun/x: serviceaccount \"x\" not found");
  desk.create("v1", "pods", R"({"metadata":{"name":"p"},"spec":{"priorityClassName":"x","containers":[]}})");
  EXPECT_EQ(desk.message, "pods \"p\" is forbidden: no PriorityClass with name x was found");
}

TEST(Pods, PriorityComesFromTheClassOrTheDefaultClass) {
  Desk desk;
  desk.others.add("priorityclasses.scheduling.k8s.io", "high",
                  R"({"metadata":{"name":"high"},"value":7,"globalDefault":true,"preemptionPolicy":"Never"})");
  const json::object pod = desk.create("v1", "pods", kPod);
  EXPECT_EQ(integer_at(pod, {"spec", "priority"}), 7);
  EXPECT_EQ(string_at(pod, {"spec", "priorityClassName"}), "high");
  EXPECT_EQ(string_at(pod, {"spec", "preemptionPolicy"}), "Never");
}

TEST(Pods, QosClassByRequestsAndLimits) {
  const auto qos = [](std::string_view resources) {
    Desk desk;
    const json::object pod = desk.create(
        "v1", "pods",
        fmt::format(
            R"({{"metadata":{{"name":"p"}},"spec":{{"containers":[{{"name":"a","image":"i","resources":{}}}]}}}})",
            resources));
    return std::string(string_at(pod, {"status", "qosClass"}));
  };
  EXPECT_EQ(qos("{}"), "BestEffort");
  EXPECT_EQ(qos(R"({"limits":{"cpu":"1"}})"), "Burstable");
  EXPECT_EQ(qos(R"({"limits":{"cpu":"1","memory":"1Gi"}})"), "Guaranteed");
  EXPECT_EQ(qos(R"({"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m"}})"), "Burstable");
}

TEST(Pods, StatusOfAGatedPodSaysSo) {
  Desk desk;
  const json::object pod = desk.create(
      "v1", "pods",
      R"({"metadata":{"name":"p"},"spec":{"schedulingGates":[{"name":"x"}],"containers":[{"name":"a","image":"i"}]}})");
  const json::object& condition = as_object(array_at(pod, {"status", "conditions"})[0]);
  EXPECT_EQ(string_at(condition, {"reason"}), "SchedulingGated");
  EXPECT_EQ(string_at(condition, {"lastTransitionTime"}), "2026-01-01T00:00:00Z");
}

TEST(Pods, EphemeralContainersAreAddedThroughTheirSubresourceOnly) {
  Desk desk;
  const json::object live = desk.create("v1", "pods", kPod);
  const char* const guest =
      R"({"spec":{"hostname":"x","ephemeralContainers":[{"name":"d","image":"i","imagePullPolicy":"Always",
          "terminationMessagePolicy":"File"}]}})";
  const json::object next = desk.update("v1", "pods", live, guest, "ephemeralcontainers");
  EXPECT_EQ(desk.message, "");
  EXPECT_EQ(array_at(next, {"spec", "ephemeralContainers"}).size(), 1u);
  EXPECT_FALSE(has(next, {"spec", "hostname"}));
  desk.update("v1", "pods", next, R"({"spec":{"ephemeralContainers":[]}})", "ephemeralcontainers");
  EXPECT_NE(desk.message.find("may not be removed"), std::string::npos);
}

TEST(Pods, SelectableFields) {
  Desk desk;
  const json::object pod = desk.create("v1", "pods", kPod);
  const auto& fields = desk.resource("v1", "pods")->strategy->selectable;
  EXPECT_EQ(fields.at("status.phase")(pod), "Pending");
  EXPECT_EQ(fields.at("spec.nodeName")(pod), "");
  EXPECT_EQ(fields.at("spec.hostNetwork")(pod), "false");
  EXPECT_EQ(fields.at("spec.restartPolicy")(pod), "Always");
}

TEST(Pods, Warnings) {
  Desk desk;
  desk.create("v1", "pods", R"({"metadata":{"name":"p"},"spec":{"nodeSelector":{"beta.kubernetes.io/os":"linux"},
      "containers":[{"name":"a","image":"i","env":[{"name":"A"},{"name":"A","value":"x"}],
        "ports":[{"containerPort":80},{"containerPort":80}]}]}})");
  EXPECT_EQ(desk.warnings,
            (std::vector<std::string>{
                "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" instead",
                "spec.containers[0].env[1]: hides previous definition of \"A\", which may be dropped when using apply",
                "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]"}));
}

TEST(Jobs, GetTheirSelectorAndLabels) {
  Desk desk;
  const json::object job = desk.create("batch/v1", "jobs", R"({"metadata":{"name":"j"},"spec":{"template":{"spec":
      {"restartPolicy":"Never","containers":[{"name":"a","image":"i"}]}}}})");
  EXPECT_EQ(string_at(job, {"spec", "selector", "matchLabels", "batch.kubernetes.io/controller-uid"}), "u-1");
  const json::object& labels = object_at(job, {"spec", "template", "metadata", "labels"});
  EXPECT_EQ(json::serialize(labels),
            R"({"batch.kubernetes.io/controller-uid":"u-1","batch.kubernetes.io/job-name":"j",)"
            R"("controller-uid":"u-1","job-name":"j"})");
  EXPECT_EQ(object_at(job, {"metadata", "labels"}), labels);
}

TEST(Services, AreGivenAFreeAddressAndNodePorts) {
  Desk desk;
  const json::object service =
      desk.create("v1", "services", R"({"metadata":{"name":"s"},"spec":{"type":"NodePort","ports":[{"port":80}]}})");
  EXPECT_TRUE(string_at(service, {"spec", "clusterIP"}).starts_with("10.96."));
  EXPECT_EQ(array_at(service, {"spec", "clusterIPs"})[0], service.at("spec").at("clusterIP"));
  EXPECT_EQ(array_at(service, {"spec", "ipFamilies"}), json::array{"IPv4"});
  EXPECT_EQ(string_at(service, {"spec", "ipFamilyPolicy"}), "SingleStack");
  const int64_t port = *integer_at(as_object(array_at(service, {"spec", "ports"})[0]), {"nodePort"});
  EXPECT_TRUE(port >= 30000 && port <= 32767);
}

TEST(Services, NeverGetWhatAnotherHas) {
  Desk desk;
  std::set<std::string> ips;
  for (int i = 0; i < 50; ++i) {
    const json::object service = desk.create(
        "v1", "services", fmt::format(R"({{"metadata":{{"name":"s{}"}},"spec":{{"ports":[{{"port":80}}]}}}})", i));
    ips.emplace(string_at(service, {"spec", "clusterIP"}));
    desk.others.add("services", fmt::format("s{}", i), json::serialize(service));
  }
  EXPECT_EQ(ips.size(), 50u);
}

TEST(Services, KeepTheirAddressWhenTheClientForgetsIt) {
  Desk desk;
  const json::object live =
      desk.create("v1", "services", R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}})");
  const json::object next =
      desk.update("v1", "services", live, R"({"spec":{"clusterIP":null,"clusterIPs":null,"ipFamilies":null}})");
  EXPECT_EQ(desk.message, "");
  EXPECT_EQ(next.at("spec").at("clusterIP"), live.at("spec").at("clusterIP"));
  const json::object outside =
      desk.update("v1", "services", live, R"({"spec":{"type":"ExternalName","externalName":"a.b"}})");
  EXPECT_EQ(desk.message, "");
  EXPECT_FALSE(has(outside, {"spec", "clusterIP"}));
}

TEST(Secrets, StringDataGoesIntoData) {
  Desk desk;
  const json::object secret = desk.create("v1", "secrets", R"({"metadata":{"name":"s"},"stringData":{"a":"hello"}})");
  EXPECT_EQ(string_at(secret, {"data", "a"}), "aGVsbG8=");
  EXPECT_FALSE(secret.contains("stringData"));
  EXPECT_EQ(string_at(secret, {"type"}), "Opaque");
}

TEST(Namespaces, BeginActiveWithTheirFinalizerAndLabel) {
  Desk desk;
  const json::object ns = desk.create("v1", "namespaces", R"({"metadata":{"name":"n"}})");
  EXPECT_EQ(string_at(ns, {"status", "phase"}), "Active");
  EXPECT_EQ(array_at(ns, {"spec", "finalizers"}), json::array{"kubernetes"});
  EXPECT_EQ(string_at(ns, {"metadata", "labels", "kubernetes.io/metadata.name"}), "n");
}

TEST(Namespaces, SomeStayForEver) {
  Desk desk;
  const Strategy& strategy = *desk.resource("v1", "namespaces")->strategy;
  const WriteContext context{desk.scheduler, desk.random, false, "", "", nullptr};
  const Answer<void> answer = strategy.admit_delete({{"metadata", {{"name", "kube-system"}}}}, context);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().message, "namespaces \"kube-system\" is forbidden: this namespace may not be deleted");
  EXPECT_TRUE(strategy.admit_delete({{"metadata", {{"name", "a"}}}}, context));
}

TEST(Nodes, KeepTheirStatusAndBeginTainted) {
  Desk desk;
  const json::object node =
      desk.create("v1", "nodes", R"({"metadata":{"name":"n"},"status":{"capacity":{"cpu":"4"}}})");
  EXPECT_EQ(string_at(node, {"status", "capacity", "cpu"}), "4");
  EXPECT_EQ(json::serialize(array_at(node, {"spec", "taints"})),
            R"([{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}])");
}

TEST(DaemonSets, CountTheirTemplates) {
  Desk desk;
  const json::object live = desk.create("apps/v1", "daemonsets", R"({"metadata":{"name":"d"},"spec":{
      "selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
      "spec":{"containers":[{"name":"a","image":"i"}]}}}})");
  const char* const key = "deprecated.daemonset.template.generation";
  EXPECT_EQ(string_at(live, {"metadata", "annotations", key}), "1");
  const json::object next =
      desk.update("apps/v1", "daemonsets", live, R"({"spec":{"template":{"spec":{"hostPID":true}}}})");
  EXPECT_EQ(string_at(next, {"metadata", "annotations", key}), "2");
}

TEST(Status, CountsMustFit) {
  Desk desk;
  const json::object live = desk.create("apps/v1", "deployments", R"({"metadata":{"name":"d"},"spec":{
      "selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
      "spec":{"containers":[{"name":"a","image":"i"}]}}}})");
  desk.update("apps/v1", "deployments", live, R"({"status":{"replicas":1,"readyReplicas":2}})", "status");
  EXPECT_NE(desk.message.find("status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas"),
            std::string::npos);
}

}  // namespace
}  // namespace hookd::embedded
