// The objects of one kind by who controls them, so that what a pass costs grows with its parent's children and not with
// the cluster. Thread: loop only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kube/informer.h"
#include "reconcile/owner.h"

namespace hookd::reconcile {

struct ChildChange {
  const cache::Change& change;
  std::string_view text;               // of the change's object
  std::optional<Owner> owner, before;  // its controller, and the one that it had
};

class ChildIndex {
 public:
  // `namespaces` empty = everywhere. `changed` hears every change once the index has taken it in, also of the first
  // list; `ready` when ready() changed.
  struct Selection {
    std::string api_version, kind;
    std::vector<std::string> namespaces;
    std::string label_selector;
  };
  ChildIndex(kube::InformerPool& pool, Selection selection, std::function<void(const ChildChange&)> changed,
             std::function<void()> ready);
  ~ChildIndex();
  void start();
  void stop();

  bool ready() const;  // its first list was told, and the kind is served
  const std::shared_ptr<const kube::ResourceType>& type() const { return type_; }  // null until it is resolved
  size_t size() const;
  std::optional<Error> error() const;
  std::vector<std::shared_ptr<kube::Informer>> informers() const;

  // All by key (ns/name), in its order.
  std::vector<cache::ObjectPtr> owned_by(std::string_view uid) const;
  std::vector<cache::ObjectPtr> orphans(std::string_view ns) const;  // without controller; "" = of every namespace
  cache::ObjectPtr find(std::string_view ns, std::string_view name) const;  // whoever controls it; null = not known
  std::optional<Owner> owner_of(std::string_view ns, std::string_view name) const;
  std::vector<cache::ObjectPtr> all() const;

 private:
  std::shared_ptr<const kube::ResourceType> type_;
};

}  // namespace hookd::reconcile
