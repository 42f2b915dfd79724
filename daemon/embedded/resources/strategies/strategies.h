// What is special to each built-in kind; builtin_table.cc says which kind has which. All live as long as the process.
#pragma once

#include "embedded/resources/resource.h"

namespace hookd::embedded {

const Strategy& plain_strategy();  // nothing but metadata

// pods.cc, pod_warnings.cc
const Strategy& pod_strategy();
const Strategy& pod_template_strategy();
// apps.cc
const Strategy& replication_controller_strategy();
const Strategy& deployment_strategy();
const Strategy& replica_set_strategy();
const Strategy& stateful_set_strategy();
const Strategy& daemon_set_strategy();
const Strategy& controller_revision_strategy();
// batch.cc
const Strategy& job_strategy();
const Strategy& cron_job_strategy();
// services.cc
const Strategy& service_strategy();
const Strategy& endpoints_strategy();
const Strategy& endpoint_slice_strategy();
// config.cc: configuration and identity
const Strategy& config_map_strategy();
const Strategy& secret_strategy();
const Strategy& service_account_strategy();
const Strategy& event_strategy();
const Strategy& event_v1_strategy();
const Strategy& lease_strategy();
const Strategy& priority_class_strategy();
const Strategy& runtime_class_strategy();
// certificates.cc
const Strategy& certificate_request_strategy();
// cluster.cc: nodes, namespaces, quotas
const Strategy& namespace_strategy();
const Strategy& node_strategy();
const Strategy& resource_quota_strategy();
const Strategy& limit_range_strategy();
// volumes.cc
const Strategy& persistent_volume_strategy();
const Strategy& persistent_volume_claim_strategy();
const Strategy& storage_class_strategy();
const Strategy& volume_attachment_strategy();
const Strategy& csi_driver_strategy();
// policy.cc: autoscaling, disruption budgets, RBAC, webhooks
const Strategy& autoscaler_strategy();
const Strategy& disruption_budget_strategy();
const Strategy& role_strategy();
const Strategy& cluster_role_strategy();
const Strategy& role_binding_strategy();
const Strategy& cluster_role_binding_strategy();
const Strategy& webhook_strategy();
// networking.cc
const Strategy& ingress_strategy();
const Strategy& ingress_class_strategy();
const Strategy& network_policy_strategy();
// Reviews, bindings, evictions: no name needed.
const Strategy& review_strategy();

// A selectable field that is a plain path of the object.
using Selectable = std::function<std::string(const json::object&)>;
Selectable field_at(std::vector<std::string> path, std::string unset = "");

}  // namespace hookd::embedded
