// The rules that make an openAPIV3Schema a structural one. Thread: any.
// Source: API docs "Specifying a structural schema"; messages of apiextensions-apiserver 1.36.
#pragma once

#include <string>

#include "embedded/wire/status.h"

namespace hookd::embedded {

// Errors sorted by their text, as the real server does. `path` is that of the schema.
FieldErrors structural_errors(const json::object& schema, const std::string& path);

}  // namespace hookd::embedded
