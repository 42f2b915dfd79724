// What a hook is sent: the JSON document of sync, finalize and customize, in both versions, of both controllers.
// Written part by part, objects unpacked one at a time, so that it is never held whole. Thread: loop only. Source:
// controllers.md 1.2 and 6.
//
//   CompositeController  {"controller","parent","children","related","finalizing"}
//   DecoratorController  {"controller","object","attachments","related","finalizing"}
//   customize            {"controller","parent"}
//
// Keys of objects below "Kind.apiVersion": v1: the name, or namespace/name where the parent is cluster-scoped and the
// object is not; of a namespaced parent only objects of its own namespace. v2: namespace/name or name, all objects.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cache/object.h"
#include "compat/metacontroller/spec.h"
#include "hook/call_body.h"

namespace hookd::metacontroller {

enum class HookRole { kSync, kFinalize, kCustomize };
std::string_view to_string(HookRole role);  // "sync"

// One entry of children, attachments or related. It stands there also when it has no objects.
struct ObjectsOfKind {
  std::string api_version, kind;  // "apps/v1", "StatefulSet"
  std::vector<cache::ObjectPtr> objects;
  std::string name() const { return kind + "." + api_version; }
};

struct HookRequest {
  std::shared_ptr<const ControllerSpec> controller;
  HookRole role = HookRole::kSync;
  std::string parent;                   // JSON of the parent, of a revision where it is one
  std::string parent_ns, parent_uid;    // namespace "" = cluster scope
  std::vector<ObjectsOfKind> children;  // attachments
  std::vector<ObjectsOfKind> related;   // several of one kind become one
  std::string revision;                 // name of the ControllerRevision; "" = the parent as it is
  std::string call_id;                  // becomes "id" where the hook is a worker, which answers by it
};

class RequestBody final : public hook::CallBody {
 public:
  explicit RequestBody(HookRequest request);

  bool whole_document() const override { return true; }
  bool write(size_t part, JsonWriter& out) const override;

  HookRole role() const { return request_.role; }
  // What an answer's ETag belongs to: parent by uid, hook, revision (1.3, its flaws).
  std::string cache_key() const;

  static constexpr size_t kPartBytes = 64u << 10;  // an object more than that is a part of its own

 private:
  struct Entry {
    std::string key;
    const cache::Object* object;
  };
  struct Kind {
    std::string name;
    std::vector<Entry> entries;  // by key
  };
  struct Part {
    enum class What { kHead, kParent, kOpen, kEntries, kClose, kTail } what;
    bool related = false;
    size_t kind = 0, from = 0, to = 0;
  };
  std::vector<Kind> kinds_of(const std::vector<ObjectsOfKind>& all, HookVersion version) const;
  void add_parts(const std::vector<Kind>& kinds, bool related);

  HookRequest request_;
  std::vector<Kind> children_, related_;
  std::vector<Part> parts_;
};

}  // namespace hookd::metacontroller
