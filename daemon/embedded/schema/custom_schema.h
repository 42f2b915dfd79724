// The schema of one version of a CustomResourceDefinition as Schema nodes. Thread: any once built.
// Source: API docs "Custom Resources: specifying a structural schema"; OpenAPI v3.0 keywords; x-kubernetes-*
// extensions.
#pragma once

#include <deque>
#include <memory>
#include <string_view>

#include "embedded/schema/schema.h"

namespace hookd::embedded {

// Owns the nodes; what points into it must not outlive it.
class CustomSchema {
 public:
  // `openapi` is spec.versions[].schema.openAPIV3Schema. Never fails: what is no structural schema (which check_crd
  // refuses) is read as far as it makes sense. The root gets apiVersion, kind and metadata.
  static std::shared_ptr<const CustomSchema> build(const json::object& openapi);
  // Everything goes, as for a version without a schema.
  static std::shared_ptr<const CustomSchema> anything();

  // A node by itself, without apiVersion, kind and metadata at its root: to check a default against its schema.
  static std::shared_ptr<const CustomSchema> build_part(const json::object& openapi);

  const Schema& root() const { return *root_; }
  // It has x-kubernetes-validations somewhere: rules in CEL, which are not evaluated here.
  bool has_rules() const { return has_rules_; }

 private:
  friend class CustomSchemaBuilder;
  std::deque<Schema> nodes_;
  const Schema* root_ = nullptr;
  bool has_rules_ = false;
};

}  // namespace hookd::embedded
