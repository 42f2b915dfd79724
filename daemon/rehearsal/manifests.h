// Kubernetes manifests that people wrote, from files and from inside a test, as operations. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apply/operation.h"
#include "config/yaml_source.h"

namespace hookd::rehearsal {

// Every document of a YAML or JSON file; a List is taken apart. `verb`: kApply or kCreate.
// Errors: kNotFound, kConfig, "FILE: …".
Result<std::vector<apply::Operation>> manifests_in_file(const std::string& path, apply::Verb verb);
// One manifest written inline. Errors: kConfig.
Result<std::vector<apply::Operation>> manifests_in_node(const config::Node& node, apply::Verb verb);

// The YAML and JSON files below `folder` that hold manifests: not hooks, tests, scenarios, kustomizations, nor what has
// no apiVersion and kind. In the order of names.
std::vector<std::string> find_manifest_files(const std::string& folder);

bool is_test_file(std::string_view name);  // NAME.test.yaml, .yml
// All of them below `folder`, in the order of names. Errors: kConfig: no such folder.
Result<std::vector<std::string>> find_test_files(const std::string& folder);

}  // namespace hookd::rehearsal
