// The objects of one kind as a reconciler selects them: one informer for each named namespace, and a world without
// gaps: what a cleared store "deletes" stays known until somebody can say what became of it. Thread: loop only.
//
//   the kind is    objects                                              ready()
//   served         as the watch tells                                   true once the first list was told
//   gone (CRD)     as they were; nobody is told anything                false
//   served again   those that the new list has not: Deleted, last       true once it was told
//                  state unknown; the others: only what differs
//
// Source: issue 6 ("a child kind that vanishes"); k8s-client.md R47.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/label_selector.h"
#include "hook/namespaces.h"
#include "kube/informer.h"
#include "trigger/namespace_set.h"

namespace hookd::reconcile {

cache::LabelSelector::Labels labels_of(std::string_view object);

class FollowedKind {
 public:
  struct Selection {
    std::string api_version, kind;
    hook::Namespaces namespaces;
    std::string label_selector;  // for the server
    // Is an object in a namespace that the selector does not match known all the same? Then the owner looks himself.
    bool outside_too = false;
  };
  // `changed`: an object came, changed or went, as compared with what was known here; a change that changes nothing is
  // not told. `text` is of the change's object, "" = not at hand (deletions only). `key` lives as long as the object is
  // known, and during the call; a deleted one is not found any more in it.
  struct Hear {
    std::function<void(const std::string& key, const cache::Change& change, std::string_view text)> changed;
    std::function<void()> ready;                                              // ready() may have changed
    std::function<void(const std::string& ns, bool in)> namespace_changed{};  // with outside_too
  };
  FollowedKind(kube::InformerPool& pool, Selection selection, Hear hear);
  FollowedKind(const FollowedKind&) = delete;
  FollowedKind& operator=(const FollowedKind&) = delete;

  void start();
  void stop();  // no more changes come; what is known stays

  bool ready() const;
  bool in_namespace(const std::string& ns) const;  // of the selection; also while the namespaces are not known
  const std::shared_ptr<const kube::ResourceType>& type() const { return type_; }  // null until it is resolved
  std::optional<Error> error() const;
  std::vector<std::shared_ptr<kube::Informer>> informers() const;

  using Objects = std::map<std::string, cache::ObjectPtr, std::less<>>;  // by key (ns/name)
  const Objects& objects() const { return objects_; }
  cache::ObjectPtr find(std::string_view key) const;

 private:
  struct Stream {
    std::shared_ptr<kube::Informer> informer;
    std::unique_ptr<kube::Informer::Subscription> subscription;
  };
  void take_in(const Stream& stream, const cache::Change& change, std::string_view text);
  void put(const std::string& key, const cache::Change& change, std::string_view text);
  void drop(Objects::iterator known, const cache::Change& change, std::string_view text);
  void health_changed(const Stream& stream);
  void namespace_changed(const std::string& name, bool in);
  void note_type(const kube::Informer& informer);
  void tell_ready();

  kube::InformerPool& pool_;
  Selection selection_;
  Hear hear_;
  std::shared_ptr<const kube::ResourceType> type_;
  Objects objects_;
  std::map<std::string, const Stream*> lost_;  // known, but their kind is not served: by whom they were told
  std::unique_ptr<trigger::NamespaceSet> namespaces_;
  std::list<Stream> streams_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hookd::reconcile
