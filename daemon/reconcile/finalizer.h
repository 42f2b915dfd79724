// The finalizer that holds a parent until its hook is done with it. Pure. Thread: any.
// Source: product.md section 6; controllers.md 1.4 steps 2 and 9; Kubernetes docs "Finalizers".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apply/operation.h"
#include "cache/object.h"
#include "kube/resource_type.h"

namespace hookd::reconcile {

bool is_ending(std::string_view object);  // has a deletionTimestamp
std::vector<std::string> finalizers_of(std::string_view object);
bool has_finalizer(std::string_view object, std::string_view name);

// The garbage collector is at the object's children by itself (foregroundDeletion), or is to leave them alone (orphan):
// nobody else may touch them.
bool children_are_left_to_the_collector(std::string_view object);

// A merge patch of metadata.finalizers, bound to the object's uid and resourceVersion: the list is replaced as a whole,
// so that of two who change it at once one must look again.
apply::Operation put_finalizer(const kube::ResourceType& type, std::string_view object, std::string_view name);
apply::Operation take_finalizer(const kube::ResourceType& type, std::string_view object, std::string_view name);

}  // namespace hookd::reconcile
