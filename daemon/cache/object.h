// One Kubernetes object in memory: who it is, and its text as the server sent it. Thread: loop only.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cache/packed_text.h"

namespace hookd::cache {

struct Identity {
  std::string ns;  // "" = cluster scope
  std::string name;
  std::string uid;
  std::string resource_version;

  std::string key() const { return ns.empty() ? name : ns + "/" + name; }
};

struct Object : Identity {
  PackedText text;  // empty when only the identity is kept
};
using ObjectPtr = std::shared_ptr<const Object>;

// An object just read from the wire.
struct Incoming : Identity {
  std::string text;
  std::string kind{};  // as the server said, "" = it did not
};

// Reads metadata out of `text` (one JSON object) and makes the text whole: apiVersion and kind are put in where a list
// item lacks both (k8s-client.md R12) or where it is a PartialObjectMetadata (R61), and metadata.managedFields is taken
// out if `drop_managed_fields`. All other bytes stay as they are (R63).
// Errors: kDecode: not an object, or without metadata.name.
Result<Incoming> read_object(std::string text, std::string_view api_version, std::string_view kind,
                             bool drop_managed_fields = true);

}  // namespace hookd::cache
