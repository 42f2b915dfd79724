// Which kinds there are, without a cluster: those built into Kubernetes, and those that manifests define. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/discovery.h"

namespace hookd::rehearsal {

// The built-in kinds of Kubernetes 1.36, also those that the embedded server does not serve, and metrics.k8s.io.
kube::ResourceTable builtin_types();

// The served versions of a CustomResourceDefinition; empty if `object` (JSON) is another kind or says too little.
std::vector<kube::ResourceType> types_of_definition(std::string_view object);

// Appends what the CustomResourceDefinitions in `path` define: a file, or the manifests below a folder. Files of a
// folder that cannot be read are left out. Errors: kNotFound, kConfig: the file given.
Result<void> add_defined_types(const std::string& path, kube::ResourceTable& table);

}  // namespace hookd::rehearsal
