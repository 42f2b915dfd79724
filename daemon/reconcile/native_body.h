// What a hook that reconciles is called with: everything of one moment, written object by object. Thread: loop only.
// Source: product.md section 6.
//
//   "key":{"apiVersion","kind","namespace","name","uid"},"causes":[{"binding","type","kind","namespace","name"}],
//   "finalizing":false,"object":{…}|null,"children":{"Deployment.apps/v1":{"name":{…}}},"related":{"config":{"name":{…}}}
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cache/object.h"
#include "hook/call_body.h"
#include "hook/event.h"
#include "kube/resource_type.h"

namespace hookd::reconcile {

struct Gathered {
  struct Group {       // a kind of children, or a related rule
    std::string name;  // "Deployment.apps/v1", "config"
    std::shared_ptr<const kube::ResourceType> type;
    std::vector<cache::ObjectPtr> objects;  // by key
  };
  std::shared_ptr<const kube::ResourceType> type;  // of the parent
  cache::ObjectPtr parent;                         // its last state if it is gone
  bool gone = false;                               // "object": null
  bool finalizing = false;
  std::vector<hook::ReconcileCause> causes;
  std::vector<Group> children;  // every declared kind, also without objects
  std::vector<Group> related;   // every rule
};

// Under which name an object stands: its name where its namespace is the parent's or it has none, else "ns/name".
std::string object_key(const cache::Identity& object, const cache::Identity& parent);

class NativeBody final : public hook::CallBody {
 public:
  explicit NativeBody(std::shared_ptr<const Gathered> gathered);
  bool write(size_t part, JsonWriter& out) const override;

 private:
  struct Part {
    enum class Kind { kHead, kParent, kOpen, kOpenGroup, kObject, kClose } kind;
    const char* name = nullptr;              // kOpen
    const Gathered::Group* group = nullptr;  // kOpenGroup, kObject
    const cache::Object* object = nullptr;   // kObject
  };
  void add(const char* name, const std::vector<Gathered::Group>& groups);
  void write_head(JsonWriter& out) const;

  std::shared_ptr<const Gathered> gathered_;
  std::vector<Part> parts_;
};

}  // namespace hookd::reconcile
