// Create and update: what the real server's generic registry does around a kind's strategy. Thread: loop only.
// Source: API concepts "Resource versions", "Dry-run"; what kube-apiserver 1.36 answers.
#pragma once

#include <functional>
#include <memory>

#include "embedded/merge/managed_fields.h"
#include "embedded/resources/fields.h"
#include "embedded/verbs/object.h"
#include "embedded/verbs/world.h"

namespace hookd::embedded {

// `object` is decoded and has its defaults. The answer is the object as stored, in the request's version.
Answer<json::object> create_object(const WriteCall& call, json::object object);

struct Updated {
  json::object object;
  bool created = false;
};
// Makes the new object from the live one ({} if there is none). Sets managedFields itself if `owns_fields`.
struct Change {
  std::function<Answer<json::object>(const json::object& live)> make;
  bool owns_fields = false;   // apply: managedFields are set by it
  bool allow_create = false;  // apply
  std::string uid{};          // precondition of a PUT, "" = none
};
Answer<Updated> update_object(const WriteCall& call, const Change& change);

// The fields that this kind of write never owns, as FieldsV1.
json::object reset_fields(const Resource& resource, std::string_view subresource);

// Who writes, for managedFields.
Writer writer_of(const WriteCall& call);

// Metadata that only the server sets.
void wipe_system_fields(json::object& object);
// The object's namespace becomes the request's. Errors: 400 if it names another one.
Answer<void> ensure_namespace(json::object& object, const Resource& resource, std::string_view ns);
// A namespaced object may only be made in a namespace that is there and not ending. Errors: 404, 403.
Answer<void> check_namespace(const WriteCall& call);

// Objects as strategies may look them up.
class StoreLookup final : public Lookup {
 public:
  explicit StoreLookup(const Store& store) : store_(store) {}
  std::optional<std::string> find(std::string_view storage_key, std::string_view ns,
                                  std::string_view name) const override;
  void each(std::string_view storage_key, std::string_view ns,
            const std::function<bool(std::string_view text)>& visit) const override;

 private:
  const Store& store_;
};

// Puts it into the store and hands it back with its revision.
Answer<json::object> commit(const WriteCall& call, json::object object);

}  // namespace hookd::embedded
