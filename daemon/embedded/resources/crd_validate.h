// Is a CustomResourceDefinition valid? Thread: any.
// Source: API docs "CustomResourceDefinition v1"; messages of apiextensions-apiserver 1.36, which names the fields of
// versions that are alike as one ("spec.validation", "spec.subresources").
#pragma once

#include "embedded/wire/status.h"

namespace hookd::embedded {

// The spec and status by themselves; without metadata.
void validate_crd(const json::object& crd, FieldErrors& errors);
// What may not change.
void validate_crd_update(const json::object& next, const json::object& live, FieldErrors& errors);
// Of a write to the status subresource.
void validate_crd_status(const json::object& next, FieldErrors& errors);

// Condition `type` of its status is "True".
bool crd_condition_true(const json::object& crd, std::string_view type);

}  // namespace hookd::embedded
