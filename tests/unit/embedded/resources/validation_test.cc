// One fact a line: what is refused, in which words. All of them were compared to a real server of 1.36.
#include <gtest/gtest.h>

#include "unit/embedded/resources/harness.h"

namespace hookd::embedded {
namespace {

struct Case {
  const char* gv;
  const char* plural;
  std::string object;
  const char* fault;  // "" = accepted
};

std::string pod(std::string_view spec) { return fmt::format(R"({{"metadata":{{"name":"p"}},"spec":{}}})", spec); }
std::string container(std::string_view fields) {
  return pod(fmt::format(R"({{"containers":[{{"name":"a","image":"i"{}{}}}]}})", fields.empty() ? "" : ",", fields));
}
std::string named(std::string_view rest) { return fmt::format(R"({{"metadata":{{"name":"x"}},{}}})", rest); }
std::string workload(std::string_view more) {
  return named(fmt::format(R"("spec":{{"selector":{{"matchLabels":{{"a":"b"}}}},
      "template":{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{"containers":[{{"name":"a","image":"i"}}]}}}}{}{}}})",
                           more.empty() ? "" : ",", more));
}
std::string job(std::string_view more) {
  return named(fmt::format(R"("spec":{{"template":{{"spec":{{"restartPolicy":"Never",
      "containers":[{{"name":"a","image":"i"}}]}}}}{}{}}})",
                           more.empty() ? "" : ",", more));
}

void check(const std::vector<Case>& cases) {
  Desk desk;
  desk.others.add("serviceaccounts", "default", R"({"metadata":{"name":"default"}})");
  for (const Case& entry : cases)
    EXPECT_EQ(desk.fault(entry.gv, entry.plural, entry.object), entry.fault) << entry.object;
}

TEST(Validation, Pods) {
  check({
      {"v1", "pods", container(""), ""},
      {"v1", "pods", pod("{}"), "spec.containers: Required value"},
      {"v1", "pods", pod(R"({"containers":[{"name":"a"}]})"), "spec.containers[0].image: Required value"},
      {"v1", "pods", pod(R"({"containers":[{"name":"a","image":"i"},{"name":"a","image":"i"}]})"),
       "spec.containers[1].name: Duplicate value: \"a\""},
      {"v1", "pods", container(R"("image":" i")"),
       "spec.containers[0].image: Invalid value: \" i\": must not have leading or trailing whitespace"},
      {"v1", "pods", container(R"("imagePullPolicy":"Maybe")"),
       "spec.containers[0].imagePullPolicy: Unsupported value: \"Maybe\": supported values: \"Always\", "
       "\"IfNotPresent\", \"Never\""},
      {"v1", "pods", container(R"("ports":[{"containerPort":0}])"),
       "spec.containers[0].ports[0].containerPort: Required value"},
      {"v1", "pods", container(R"("volumeMounts":[{"name":"v","mountPath":"/x"}])"),
       "spec.containers[0].volumeMounts[0].name: Not found: \"v\""},
      {"v1", "pods", container(R"("resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1"}})"),
       "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1"},
      {"v1", "pods", container(R"("livenessProbe":{})"),
       "spec.containers[0].livenessProbe: Required value: must specify a handler type"},
      {"v1", "pods",
       container(R"("env":[{"name":"a","value":"b","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}])"),
       "spec.containers[0].env[0].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty"},
      {"v1", "pods", pod(R"({"restartPolicy":"X","containers":[{"name":"a","image":"i"}]})"),
       "spec.restartPolicy: Unsupported value: \"X\": supported values: \"Always\", \"OnFailure\", \"Never\""},
      {"v1", "pods",
       pod(R"({"volumes":[{"name":"v","emptyDir":{},"nfs":{}}],"containers":[{"name":"a","image":"i"}]})"),
       "spec.volumes[0].nfs: Forbidden: may not specify more than 1 volume type"},
      {"v1", "pods",
       pod(R"({"initContainers":[{"name":"b","image":"i","lifecycle":{}}],"containers":[{"name":"a","image":"i"}]})"),
       "spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always"},
      {"v1", "pods", pod(R"({"tolerations":[{"operator":"Equal"}],"containers":[{"name":"a","image":"i"}]})"),
       "spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty, which "
       "means "
       "\"match all values and all keys\""},
  });
}

TEST(Validation, Workloads) {
  check({
      {"apps/v1", "deployments", workload(""), ""},
      {"apps/v1", "deployments", workload(R"("replicas":-1)"),
       "spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
      {"apps/v1", "deployments", workload(R"("selector":{})"),
       "spec.selector: Invalid value: {}: empty selector is invalid for deployment"},
      {"apps/v1", "deployments", workload(R"("selector":{"matchLabels":{"x":"y"}})"),
       "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`"},
      {"apps/v1", "deployments", workload(R"("strategy":{"type":"X"})"),
       "spec.strategy: Unsupported value: {\"Type\":\"X\",\"RollingUpdate\":null}: supported values: \"Recreate\", "
       "\"RollingUpdate\""},
      {"apps/v1", "deployments", workload(R"("strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":0}})"),
       "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"},
      {"apps/v1", "daemonsets", workload(R"("updateStrategy":{"rollingUpdate":{"maxUnavailable":0}})"),
       "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"},
      {"apps/v1", "statefulsets", workload(R"("podManagementPolicy":"X")"),
       "spec.podManagementPolicy: Invalid value: \"X\": must be 'OrderedReady' or 'Parallel'"},
      {"batch/v1", "jobs", job(""), ""},
      {"batch/v1", "jobs", job(R"("backoffLimitPerIndex":1)"),
       "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"},
      {"batch/v1", "cronjobs", named(R"("spec":{"schedule":"x","jobTemplate":{"spec":{"template":{"spec":
          {"restartPolicy":"Never","containers":[{"name":"a","image":"i"}]}}}}})"),
       "spec.schedule: Invalid value: \"x\": expected exactly 5 fields, found 1: [x]"},
  });
}

TEST(Validation, ServicesAndNetworks) {
  check({
      {"v1", "services", named(R"("spec":{})"), "spec.ports: Required value"},
      {"v1", "services", named(R"("spec":{"clusterIP":"None"})"), ""},
      {"v1", "services", named(R"("spec":{"type":"ExternalName"})"), "spec.externalName: Required value"},
      {"v1", "services", named(R"("spec":{"clusterIP":"1.2.3.4","ports":[{"port":80}]})"),
       "spec.clusterIPs: Invalid value: [\"1.2.3.4\"]: failed to allocate IP 1.2.3.4: the provided IP (1.2.3.4) is not "
       "in "
       "the valid range. The range of valid IPs is 10.96.0.0/16"},
      {"v1", "services", named(R"("spec":{"ports":[{"port":80,"nodePort":30000}]})"),
       "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"},
      {"networking.k8s.io/v1", "ingresses", named(R"("spec":{})"),
       "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"},
      {"networking.k8s.io/v1", "ingresses",
       named(R"("spec":{"rules":[{"http":{"paths":[{"path":"/","backend":{}}]}}]})"),
       "spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified"},
      {"networking.k8s.io/v1", "networkpolicies", named(R"("spec":{"podSelector":{},"ingress":[{"from":[{}]}]})"),
       "spec.ingress[0].from[0]: Required value: must specify a peer"},
  });
}

TEST(Validation, TheOthers) {
  check({
      {"v1", "configmaps", named(R"("data":{"a b":"c"})"),
       "data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
       "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"},
      {"v1", "secrets", named(R"("type":"kubernetes.io/ssh-auth")"), "data[ssh-privatekey]: Required value"},
      {"v1", "persistentvolumeclaims", named(R"("spec":{"accessModes":["ReadWriteOnce"]})"),
       "spec.resources[storage]: Required value"},
      {"v1", "events", named(R"("involvedObject":{"namespace":"other"})"),
       "involvedObject.namespace: Invalid value: \"other\": does not match event.namespace"},
      {"coordination.k8s.io/v1", "leases", named(R"("spec":{"leaseDurationSeconds":0})"),
       "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"},
      {"policy/v1", "poddisruptionbudgets", named(R"("spec":{"minAvailable":"101%"})"),
       "spec.minAvailable: Invalid value: \"101%\": must not be greater than 100%"},
      {"rbac.authorization.k8s.io/v1", "roles", named(R"("rules":[{"verbs":["get"],"apiGroups":[""]}])"),
       "rules[0].resources: Required value: resource rules must supply at least one resource"},
      {"rbac.authorization.k8s.io/v1", "clusterrolebindings",
       named(R"("roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"x"})"),
       "roleRef.kind: Unsupported value: \"Role\": supported values: \"ClusterRole\""},
      {"scheduling.k8s.io/v1", "priorityclasses", named(R"("value":1000000001)"),
       "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"},
      {"storage.k8s.io/v1", "storageclasses", named(R"("parameters":{})"), "provisioner: Required value"},
      {"admissionregistration.k8s.io/v1", "validatingwebhookconfigurations",
       named(R"("webhooks":[{"name":"a.b","sideEffects":"None","admissionReviewVersions":["v1"],
                             "clientConfig":{"url":"https://x"}}])"),
       "webhooks[0].name: Invalid value: \"a.b\": should be a domain with at least three segments separated by dots"},
  });
}

TEST(Validation, WhatMayNotChangeLater) {
  struct Change {
    const char* gv;
    const char* plural;
    std::string object;
    const char* patch;
    const char* fault;  // part of the message; "" = allowed
  };
  const std::vector<Change> changes{
      {"v1", "pods", container(""), R"({"spec":{"hostname":"x"}})", "pod updates may not change fields other than"},
      {"v1", "pods", container(""), R"({"spec":{"activeDeadlineSeconds":5}})", ""},
      {"v1", "pods", container(""), R"({"spec":{"tolerations":[]}})", ""},  // admission puts its own back
      {"v1", "pods",
       pod(R"({"tolerations":[{"key":"k","operator":"Exists"}],"containers":[{"name":"a","image":"i"}]})"),
       R"({"spec":{"tolerations":[]}})", "existing toleration can not be modified except its tolerationSeconds"},
      {"v1", "pods", container(""), R"({"spec":{"containers":[]}})", "pod updates may not add or remove containers"},
      {"apps/v1", "deployments", workload(""), R"({"spec":{"selector":{"matchLabels":{"a":null,"x":"y"}},
          "template":{"metadata":{"labels":{"x":"y"}}}}})",
       "spec.selector: Invalid value: {\"matchLabels\":{\"x\":\"y\"}}: field is immutable"},
      {"apps/v1", "statefulsets", workload(""), R"({"spec":{"serviceName":"y"}})",
       "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
       "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"},
      {"apps/v1", "statefulsets", workload(""), R"({"spec":{"replicas":5}})", ""},
      {"batch/v1", "jobs", job(""), R"({"spec":{"completions":3}})", "spec.completions: Invalid value: 3"},
      {"v1", "configmaps", named(R"("immutable":true)"), R"({"data":{"a":"b"}})",
       "data: Forbidden: field is immutable when `immutable` is set"},
      {"v1", "secrets", named(R"("data":{})"), R"({"type":"x"})", "type: Invalid value: \"x\": field is immutable"},
      {"v1", "services", named(R"("spec":{"ports":[{"port":80}]})"), R"({"spec":{"clusterIP":"None"}})",
       "spec.clusterIPs[0]: Invalid value: [\"None\"]: may not change once set"},
      {"v1", "nodes", named(R"("spec":{"podCIDRs":["10.0.0.0/24"]})"), R"({"spec":{"podCIDRs":["10.0.1.0/24"]}})",
       "node updates may not change podCIDR except from \"\" to valid"},
      {"rbac.authorization.k8s.io/v1", "rolebindings",
       named(R"("roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"x"})"),
       R"({"roleRef":{"name":"y"}})", "cannot change roleRef"},
      {"storage.k8s.io/v1", "storageclasses", named(R"("provisioner":"a.b/c")"), R"({"provisioner":"x"})",
       "provisioner: Invalid value: \"x\": field is immutable"},
      {"scheduling.k8s.io/v1", "priorityclasses", named(R"("value":1)"), R"({"value":2})",
       "value: Forbidden: may not be changed in an update."},
  };
  Desk desk;
  for (const Change& change : changes) {
    const json::object live = desk.create(change.gv, change.plural, change.object);
    ASSERT_EQ(desk.message, "") << change.object;
    desk.update(change.gv, change.plural, live, change.patch);
    if (*change.fault) {
      EXPECT_NE(desk.message.find(change.fault), std::string::npos) << change.patch << "\n" << desk.message;
    } else {
      EXPECT_EQ(desk.message, "") << change.patch;
    }
  }
}

}  // namespace
}  // namespace hookd::embedded
