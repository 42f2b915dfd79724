#include "embedded/wire/target.h"

#include <algorithm>

#include "base/ascii.h"
#include "embedded/wire/selector.h"

namespace hookd::embedded {
namespace {

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> out;
  while (!path.empty() && path.front() == '/') path.remove_prefix(1);
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  while (!path.empty()) {
    const auto slash = path.find('/');
    out.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return out;
}

}  // namespace

bool is_watch(const Request& request) {
  if (!request.has_parameter("watch")) return false;
  const auto value = lower(request.parameter("watch"));
  return value != "0" && value != "false";
}

Answer<Target> parse_target(const Request& request) {
  Target target;
  auto decoded = percent_decode(request.path);
  if (!decoded || decoded->empty() || decoded->front() != '/') return refuse(plain_error(400, "400 Bad Request"));
  target.path = *std::move(decoded);
  target.verb = lower(request.method);
  auto parts = split_path(target.path);
  if (parts.size() < 3 || (parts[0] != "api" && parts[0] != "apis")) return target;
  target.core = parts[0] == "api";
  size_t at = 1;
  if (!target.core) {
    if (parts.size() < 4) return target;
    target.group = parts[at++];
  }
  target.resource_path = true;
  target.version = parts[at++];
  const bool watch = parts[at] == "watch";
  if (watch || parts[at] == "proxy") {
    if (at + 1 >= parts.size())
      return refuse(plain_error(500, "Internal Server Error: " + go_quote(request.path) +
                                         ": failed to create RequestInfo: unable to determine kind and namespace from "
                                         "url, " +
                                         request.path));
    target.watch_prefix = watch;
    target.verb = parts[at++];
  } else if (request.method == "POST") {
    target.verb = "create";
  } else if (request.method == "GET" || request.method == "HEAD") {
    target.verb = "get";
  } else if (request.method == "PUT") {
    target.verb = "update";
  } else if (request.method == "PATCH") {
    target.verb = "patch";
  } else if (request.method == "DELETE") {
    target.verb = "delete";
  } else {
    target.verb.clear();
  }
  if (parts[at] == "namespaces" && at + 1 < parts.size()) {
    target.ns = parts[at + 1];
    if (at + 2 < parts.size() && parts[at + 2] != "status" && parts[at + 2] != "finalize") {
      at += 2;
      target.in_namespace = true;
    }
  }
  target.resource = parts[at];
  if (at + 1 < parts.size()) target.name = target.path_name = parts[at + 1];
  if (at + 2 < parts.size()) target.subresource = parts[at + 2];
  for (size_t i = at + 3; i < parts.size(); ++i) target.below.push_back(parts[i]);
  if (target.name.empty() && target.verb == "get") {
    target.verb = is_watch(request) ? "watch" : "list";
    // A selector of one name asks for that one, also to RBAC.
    if (const auto fields = FieldSelector::parse(request.parameter("fieldSelector")))
      if (const auto* name = fields->exact("metadata.name"))
        if (!name->empty() && *name != "." && *name != ".." && name->find_first_of("/%") == std::string::npos)
          target.name = *name;
  }
  if (target.name.empty() && target.verb == "delete") target.verb = "deletecollection";
  return target;
}

}  // namespace hookd::embedded
