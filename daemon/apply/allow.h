// What a hook may do: `allow` in its file. Checked for every operation before anything is sent. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hookd::apply {

struct AllowRule {
  std::string api_version;              // "apps/v1"; a group with any version: "apps/*"; "*" = any
  std::string kind;                     // "Pod"; "*" = any
  std::vector<std::string> verbs;       // create, update, patch, apply, delete, evict, scale, status, event; "*" = any
  std::vector<std::string> namespaces;  // empty = any, and cluster-scoped objects
  std::vector<std::string> names;       // empty = any
  int line = 0;                         // where it stands, for messages
};

}  // namespace hookd::apply
