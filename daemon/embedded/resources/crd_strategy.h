// What is special to the kind CustomResourceDefinition, and to the kinds that CRDs make. Thread: loop only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "embedded/resources/resource.h"

namespace hookd::embedded {

// Of customresourcedefinitions.apiextensions.k8s.io: defaults of names, conversion and versions, storedVersions at
// creation, generation, all its validation; a Warning if a schema has rules in CEL, which are not evaluated here.
const Strategy& crd_strategy();

inline constexpr std::string_view kCrdFinalizer = "customresourcecleanup.apiextensions.k8s.io";
inline constexpr std::string_view kCrdStorageKey = "customresourcedefinitions.apiextensions.k8s.io";

// The first DELETE of a CRD only marks it (deletionTimestamp `now`, the finalizer, condition Terminating); the control
// loop takes its objects and the finalizer away. False = it is marked already.
bool mark_crd_ending(json::object& crd, const std::string& now);

// One Resource for each served version of a CRD that is established, newest first; their schema and strategy live as
// long as they do.
std::vector<Resource> resources_of_crd(const json::object& crd);

}  // namespace hookd::embedded
