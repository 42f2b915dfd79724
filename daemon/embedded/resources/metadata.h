// What every object's metadata must look like. Thread: any.
// Source: API docs "Object names and IDs", "Labels and selectors", "Annotations", "Finalizers"; apimachinery's
// messages.
#pragma once

#include <string>
#include <string_view>

#include "embedded/resources/resource.h"

namespace hookd::embedded {

// name, namespace, labels, annotations, ownerReferences, finalizers; `errors` name fields from "metadata.".
void validate_metadata(const json::object& object, const Resource& resource, FieldErrors& errors);
// The same for an update: immutable name, namespace, uid, creationTimestamp, deletionTimestamp and
// deletionGracePeriodSeconds, no new finalizers while it ends; resourceVersion must be set in `next`.
void validate_metadata_update(const json::object& next, const json::object& live, FieldErrors& errors);

// The name that generateName gives: five characters of the alphabet without vowels, the base cut to 58 characters.
std::string generated_name(std::string_view base, Random& random);

}  // namespace hookd::embedded
