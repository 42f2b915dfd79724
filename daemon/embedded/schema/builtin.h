// The schemas of the built-in kinds, from the table builtin.api. A kind's nodes are built when it is first asked for
// and stay for the life of the process. Thread: loop only; the nodes given out are immutable. Source: OpenAPI and Go
// types of Kubernetes 1.36, read by make_table.py.
#pragma once

#include <string_view>
#include <vector>

#include "embedded/schema/schema.h"

namespace hookd::embedded {

// Of the whole object. `group` "" = core. Null if the table has no such kind ("v1 PodList": lists are not in it).
const Schema* builtin_schema(std::string_view group, std::string_view version, std::string_view kind);

// A type by its OpenAPI name, "io.k8s.api.core.v1.PodSpec"; null if there is none.
const Schema* builtin_type(std::string_view name);

struct BuiltinKind {
  std::string_view group, version, kind;
};
// Every kind of the table, by group, version and kind; builds nothing.
std::vector<BuiltinKind> builtin_kinds();

// Changes with the table's content.
std::string_view builtin_table_version();

}  // namespace hookd::embedded
