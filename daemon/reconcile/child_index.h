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
#include "reconcile/followed_kind.h"
#include "reconcile/owner.h"

namespace hookd::reconcile {

struct ChildChange {
  const cache::Change& change;
  std::string_view text;               // of the change's object; "" = not at hand (some deletions)
  std::optional<Owner> owner, before;  // its controller (of a deleted one: the last), and the one that it had
};

class ChildIndex {
 public:
  // `namespaces` empty = everywhere. `changed` hears every change once the index has taken it in, also of the first
  // list; `ready` when ready() may have changed.
  struct Selection {
    std::string api_version, kind;
    std::vector<std::string> namespaces;
    std::string label_selector;
  };
  ChildIndex(kube::InformerPool& pool, Selection selection, std::function<void(const ChildChange&)> changed,
             std::function<void()> ready);
  ~ChildIndex();
  void start();
  void stop();  // no more changes come; what is known stays

  // Its first list was told, and the kind is served. While it is not served (its CRD was deleted) the children stay
  // known as they were and nobody hears of a change; what is gone is told when the kind is back (followed_kind.h).
  bool ready() const { return followed_.ready(); }
  const std::shared_ptr<const kube::ResourceType>& type() const { return followed_.type(); }  // null until resolved
  size_t size() const { return followed_.objects().size(); }
  std::optional<Error> error() const { return followed_.error(); }
  std::vector<std::shared_ptr<kube::Informer>> informers() const { return followed_.informers(); }

  // All by key (ns/name), in its order.
  std::vector<cache::ObjectPtr> owned_by(std::string_view uid) const;
  std::vector<cache::ObjectPtr> orphans(std::string_view ns) const;  // without controller; "" = of every namespace
  cache::ObjectPtr find(std::string_view ns, std::string_view name) const;  // whoever controls it; null = not known
  std::optional<Owner> owner_of(std::string_view ns, std::string_view name) const;
  std::vector<cache::ObjectPtr> all() const;
  size_t owners() const { return groups_.size(); }

 private:
  // An object's place in FollowedKind's map: its key lives as long as the object is known.
  using Keys = std::set<std::string_view>;
  struct Group {
    Owner owner;
    Keys children;
  };
  void changed(const std::string& key, const cache::Change& change, std::string_view text);
  void put(std::string_view key, std::string_view ns, std::optional<Owner> owner);
  std::optional<Owner> take_out(std::string_view key, std::string_view ns);  // who controlled it
  std::vector<cache::ObjectPtr> objects(const Keys& keys) const;

  std::function<void(const ChildChange&)> on_changed_;
  // By uid. Children of one owner share the owner's texts.
  std::map<std::string, Group, std::less<>> groups_;
  std::unordered_map<std::string_view, Group*> group_of_;  // by key, of controlled objects
  std::map<std::string, Keys, std::less<>> orphans_;       // by namespace
  FollowedKind followed_;
};

}  // namespace hookd::reconcile
