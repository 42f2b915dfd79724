// What the path of a request means. Thread: any.
// Source: API concepts "Resource URIs"; the deprecated /watch/ and /proxy/ prefixes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "embedded/wire/request.h"

namespace hookd::embedded {

struct Target {
  bool resource_path = false;  // /api/VERSION/... or /apis/GROUP/VERSION/... with something behind it
  bool core = false;           // below /api
  std::string path;            // decoded
  std::string group, version;
  std::string ns;  // of the path; a namespace itself has it too, as `name`
  std::string resource, subresource;
  std::string name;                // also of a list that selects one by metadata.name: so RBAC sees it
  std::string path_name;           // only of the path
  std::vector<std::string> below;  // what follows the subresource
  bool in_namespace = false;       // the path has namespaces/NS/ before the resource
  bool watch_prefix = false;
  std::string verb;  // as RBAC names it: get, list, watch, create, update, patch, delete, deletecollection; of other
                     // paths the method in lower case
};

// Errors: a path that cannot be decoded (400), and /api/v1/watch without more (500), both told in plain text.
Answer<Target> parse_target(const Request& request);

// Is the parameter `watch` set? (any value but 0 and false)
bool is_watch(const Request& request);

}  // namespace hookd::embedded
