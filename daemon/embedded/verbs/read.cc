#include "embedded/verbs/read.h"

#include <fmt/format.h>

#include "embedded/resources/fields.h"
#include "embedded/verbs/object.h"
#include "embedded/wire/base64url.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {
namespace {

std::string key_of(const Stored& stored) { return stored.ns + "/" + stored.name; }

struct Continue {
  int64_t revision = 0;  // -1 = whatever is now
  std::string after;     // "ns/name" of the last object given
};

// The real server's keys are relative to the list: "/name\0" in a namespace, "ns/name\0" over all, "name\0" of cluster
// scope.
std::string continue_token(const ReadCall& call, const Stored& last, int64_t revision) {
  std::string start = !call.resource->namespaced ? last.name : call.ns.empty() ? key_of(last) : "/" + last.name;
  start += '\0';
  return base64url_encode(to_text(json::object{{"v", "meta.k8s.io/v1"}, {"rv", revision}, {"start", start}}));
}

Answer<Continue> read_token(const ReadCall& call, std::string_view token) {
  const auto bad = [](std::string_view why) {
    return refuse(bad_request(fmt::format("invalid continue token: continue key is not valid{}", why)));
  };
  const auto bytes = base64url_decode(token);
  if (!bytes) return bad(": illegal base64 data at input byte 0");
  const auto value = parse_text(*bytes);
  if (!value) return bad(": " + value.error());
  if (!value->is_object()) return bad(": json: cannot unmarshal into Go value of type storage.continueToken");
  const auto& object = value->get_object();
  if (string_at(object, {"v"}) != "meta.k8s.io/v1")
    return bad(": server does not recognize this encoded version " + std::string(string_at(object, {"v"})));
  Continue out;
  out.revision = integer_at(object, {"rv"}).value_or(0);
  if (out.revision == 0) return bad(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  std::string start(string_at(object, {"start"}));
  if (start.empty()) return bad(": encoded start key empty (version meta.k8s.io/v1)");
  const bool exclusive = start.back() == '\0';
  while (!start.empty() && start.back() == '\0') start.pop_back();
  if (start.find("..") != std::string::npos) return bad(": " + start);
  if (start.starts_with("/")) start.erase(0, 1);
  if (!call.resource->namespaced)
    out.after = "/" + start;
  else if (!call.ns.empty())
    out.after = call.ns + "/" + start;
  else
    out.after = start;
  // A key that the token names itself is still to come.
  if (!exclusive && !out.after.empty()) {
    if (out.after.back() > 1) out.after.back() = static_cast<char>(out.after.back() - 1), out.after += '\xff';
  }
  return out;
}

StatusError continue_expired(const ReadCall& call, const Continue& from) {
  auto error = expired(
      "The provided continue parameter is too old to display a consistent list result. You can start a new list "
      "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
      "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
      "modified, or deleted between the time the first chunk was returned and now may show up in the list.");
  const auto slash = from.after.find('/');
  Stored last;
  last.ns = from.after.substr(0, slash);
  last.name = slash == std::string::npos ? "" : from.after.substr(slash + 1);
  error.continue_token = continue_token(call, last, -1);
  return error;
}

}  // namespace

std::vector<std::string_view> Listed::items() const {
  std::vector<std::string_view> out;
  out.reserve(objects.size());
  for (size_t i = 0; i < objects.size(); ++i)
    out.push_back(converted.empty() ? std::string_view(objects[i]->text) : std::string_view(converted[i]));
  return out;
}

Answer<json::object> get_object(const ReadCall& call, std::string_view resource_version) {
  if (!resource_version.empty() && resource_version != "0") {
    const auto wanted = go_parse_uint(resource_version);
    if (!wanted)
      return refuse(plain_error(
          500, fmt::format("resourceVersion: Invalid value: {}: {}", go_quote(resource_version), wanted.error())));
    if (*wanted > call.world.store.revision())
      return refuse(too_large_resource_version(*wanted, call.world.store.revision()));
  }
  const auto stored =
      call.world.store.get(call.resource->storage_key, call.resource->namespaced ? call.ns : "", call.name);
  if (!stored) return refuse(not_found({call.resource->group, call.resource->plural, call.resource->kind, call.name}));
  return load(*stored, *call.resource);
}

Answer<void> check_fields(const Resource& resource, const FieldSelector& fields) {
  for (const auto& term : fields.terms()) {
    if (term.field == "metadata.name" || term.field == "metadata.namespace") continue;
    if (resource.strategy->selectable.contains(term.field)) continue;
    if (resource.strategy->selectable.empty())
      return refuse(bad_request(fmt::format(
          "{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", go_quote(term.field))));
    return refuse(bad_request("field label not supported: " + term.field));
  }
  return {};
}

bool selected(const Resource& resource, const ListOptions& options, const Stored& stored, std::string_view text) {
  if (!options.labels.matches_text(text)) return false;
  std::optional<json::object> object;
  for (const auto& term : options.fields.terms()) {
    std::string value;
    if (term.field == "metadata.name") {
      value = stored.name;
    } else if (term.field == "metadata.namespace") {
      value = stored.ns;
    } else {
      if (!object) {
        auto parsed = parse_text(text);
        if (!parsed || !parsed->is_object()) return false;
        object = std::move(parsed->get_object());
      }
      const auto found = resource.strategy->selectable.find(term.field);
      if (found == resource.strategy->selectable.end()) return false;
      value = found->second(*object);
    }
    if ((value == term.value) != term.equal) return false;
  }
  return true;
}

Answer<Listed> list_objects(const ReadCall& call, const ListOptions& options) {
  const auto& store = call.world.store;
  const auto& resource = *call.resource;
  if (auto done = check_fields(resource, options.fields); !done) return refuse(done.error());
  uint64_t revision = store.revision();
  std::string after;
  std::optional<Store::Past> past;
  const auto go_back = [&](uint64_t to) {
    revision = to;
    if (to == store.revision()) return true;
    past = store.past(resource.storage_key, to);
    return past.has_value();
  };
  if (!options.continue_token.empty()) {
    if (!options.resource_version.empty() && options.resource_version != "0")
      return refuse(bad_request("specifying resource version is not allowed when using continue"));
    const auto from = read_token(call, options.continue_token);
    if (!from) return refuse(from.error());
    after = from->after;
    if (from->revision > 0) {
      if (static_cast<uint64_t>(from->revision) > store.revision())
        return refuse(too_large_resource_version(static_cast<uint64_t>(from->revision), store.revision()));
      if (!go_back(static_cast<uint64_t>(from->revision))) return refuse(continue_expired(call, *from));
    }
  } else if (!options.resource_version.empty() && options.resource_version != "0") {
    const auto wanted = go_parse_uint(options.resource_version);
    if (!wanted)
      return refuse(bad_request(fmt::format("invalid resource version: resourceVersion: Invalid value: {}: {}",
                                            go_quote(options.resource_version), wanted.error())));
    if (*wanted > store.revision()) return refuse(too_large_resource_version(*wanted, store.revision()));
    // Without a match and with a limit the version is meant exactly, as it always was.
    const bool exact =
        options.resource_version_match == "Exact" || (options.resource_version_match.empty() && options.limit > 0);
    if (exact && !go_back(*wanted)) return refuse(expired("The resourceVersion for the provided list is too old."));
  }

  Listed listed;
  const bool convert = resource.api_version() != resource.storage_version || resource.coerce_on_read;
  const bool plain = options.labels.empty() && options.fields.empty();
  // "Any version" is answered from the real server's cache, which knows no limit.
  const bool any_version = options.resource_version == "0" && options.continue_token.empty();
  const auto limit = options.limit > 0 && !any_version ? static_cast<size_t>(options.limit) : SIZE_MAX;
  bool more = false;
  size_t remaining = 0;
  std::optional<StatusError> failed;
  const auto take = [&](const StoredPtr& stored) {
    if (listed.objects.size() >= limit) {
      more = true;
      ++remaining;
      return plain;  // counts the rest
    }
    std::string text;
    if (convert) {
      auto converted = load_text(*stored, resource);
      if (!converted) {
        failed = converted.error();
        return false;
      }
      text = *std::move(converted);
    }
    if (!plain && !selected(resource, options, *stored, convert ? std::string_view(text) : stored->text)) return true;
    listed.objects.push_back(stored);
    if (convert) listed.converted.push_back(std::move(text));
    return true;
  };
  if (const auto* name = options.fields.exact("metadata.name");
      name && !past && after.empty() && (!resource.namespaced || !call.ns.empty())) {
    if (const auto stored = store.get(resource.storage_key, resource.namespaced ? call.ns : "", *name)) take(stored);
  } else if (!past) {
    store.scan(resource.storage_key, resource.namespaced ? call.ns : "", after, take);
  } else {
    // What is now, with what changed since put back.
    std::map<std::string, StoredPtr> then;
    store.scan(resource.storage_key, resource.namespaced ? call.ns : "", after, [&](const StoredPtr& stored) {
      then.emplace(key_of(*stored), stored);
      return true;
    });
    for (auto& [key, stored] : *past) {
      if (!stored) {
        then.erase(key);
        continue;
      }
      if (resource.namespaced && !call.ns.empty() && stored->ns != call.ns) continue;
      if (!after.empty() && key <= after) continue;
      then[key] = stored;
    }
    for (const auto& [key, stored] : then)
      if (!take(stored)) break;
  }
  if (failed) return refuse(*failed);
  listed.metadata["resourceVersion"] = std::to_string(revision);
  if (more) {
    listed.metadata["continue"] = continue_token(call, *listed.objects.back(), static_cast<int64_t>(revision));
    if (plain) listed.metadata["remainingItemCount"] = static_cast<int64_t>(remaining);
  }
  return listed;
}

}  // namespace hookd::embedded
