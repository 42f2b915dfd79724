// Get, list and watch. Thread: loop only.
// Source: API concepts "Efficient detection of changes", "Retrieving large results sets in chunks", "Resource
// versions"; KEP-3157 (sendInitialEvents).
#pragma once

#include "embedded/verbs/reply.h"
#include "embedded/verbs/world.h"
#include "embedded/wire/options.h"

namespace hookd::embedded {

struct ReadCall {
  World& world;
  ResourcePtr resource;
  std::string ns, name;
};

// The object's text in the resource's version. Errors: 404, 504 of a version that is not there yet.
Answer<json::object> get_object(const ReadCall& call, std::string_view resource_version);

// What a list holds. The texts live as long as the value.
struct Listed {
  std::vector<StoredPtr> objects;
  std::vector<std::string> converted;  // texts of another version, empty if none had to be converted
  std::vector<std::string_view> items() const;
  json::object metadata;
};
Answer<Listed> list_objects(const ReadCall& call, const ListOptions& options);

// Fields that this kind cannot be selected by. Errors: 400.
Answer<void> check_fields(const Resource& resource, const FieldSelector& fields);
// Does an object (its text in the resource's version) match the selectors?
bool selected(const Resource& resource, const ListOptions& options, const Stored& stored, std::string_view text);

struct WatchFaults {
  bool no_bookmarks = false;
  bool silent = false;
};
// Starts to stream; the Exchange ends it when destroyed. Errors: before anything was sent.
Answer<std::unique_ptr<Exchange>> watch_objects(const ReadCall& call, ListOptions options, Reply& reply,
                                                const Request& request, const WatchFaults& faults);

}  // namespace hookd::embedded
