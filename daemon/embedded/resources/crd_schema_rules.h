// Is an openAPIV3Schema one that a CustomResourceDefinition may have? Thread: any.
// Source: API docs "Extend the Kubernetes API with CustomResourceDefinitions"; messages of
// apiextensions-apiserver 1.36.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/wire/status.h"

namespace hookd::embedded {

// `schema` is an openAPIV3Schema, `path` its field path; `status`: the version has the status subresource.
void check_crd_schema(const json::object& schema, const std::string& path, bool status, FieldErrors& errors);

// The schema node that a JSON path of dots (".spec.size") leads to; else why not, in the real server's words.
std::expected<const json::object*, std::string> schema_at_path(const json::object& schema, std::string_view json_path);

// Formats that this schema names and CRDs do not know, in the order of the document.
std::vector<std::string> unrecognized_formats(const json::object& schema);
// Rules in CEL (x-kubernetes-validations) anywhere.
bool has_rules(const json::object& schema);

}  // namespace hookd::embedded
