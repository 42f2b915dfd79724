// The objects that customize hooks declared as related to parents, both ways: of a parent by its rules, and the parents
// of an object that changed by an index of the rules, not by asking each. Thread: loop only.
// Source: controllers.md 1.7, section 4 (O(n) related matching).
//
// One watch a kind for all parents, followed while any rule names the kind. Equal rules of several parents are one.
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

#include "base/result.h"
#include "cache/label_selector.h"
#include "compat/metacontroller/request.h"
#include "compat/metacontroller/response.h"
#include "kube/informer.h"
#include "reconcile/followed_kind.h"

namespace hookd::metacontroller {

// A rule as it holds for one parent. Nothing given = everything of the kind.
struct RelatedRule {
  std::string api_version, resource;
  std::string ns;                                          // "" = of all, or cluster-scoped
  std::vector<std::string> names;                          // sorted; empty = any
  std::optional<cache::LabelSelector> labels, namespaces;  // of the object, of its namespace
  std::string text() const;                                // equal rules are equal text
};

// Errors: kInvalid, with the number of the rule: version v1 keeps a namespaced parent to its own namespace.
Result<std::vector<RelatedRule>> related_rules(const std::vector<RelatedResource>& answered, HookVersion version,
                                               const cache::Identity& parent);

class RelatedObjects {
 public:
  struct Touch {
    const std::set<std::string>& parents;  // keys
    const cache::Change& change;
    std::string kind;  // "ConfigMap.v1"
  };
  // `ready`: ready() of some parent may have changed.
  RelatedObjects(kube::InformerPool& pool, std::function<void(const Touch&)> touched, std::function<void()> ready);
  ~RelatedObjects();

  void set(const std::string& parent, const std::vector<RelatedRule>& rules);
  void forget(const std::string& parent) { set(parent, {}); }
  void stop();

  bool ready(const std::string& parent) const;
  // Why the parent's kinds are not followed, or why a rule cannot hold for its kind; nullopt = nothing is known to be
  // wrong.
  std::optional<std::string> trouble(const std::string& parent) const;
  std::vector<ObjectsOfKind> of(const std::string& parent) const;  // one for each rule, in their order

  std::vector<std::shared_ptr<kube::Informer>> informers() const;
  struct Look {
    std::string what;
    bool ready;
    size_t objects;
    std::string trouble;
  };
  std::vector<Look> looks() const;
  size_t kinds() const { return kinds_.size(); }

 private:
  struct Kind;
  struct Entry {
    RelatedRule rule;
    Kind* kind = nullptr;
    std::set<std::string> parents;
  };
  using KindName = std::pair<std::string, std::string>;  // apiVersion, resource
  struct Kind {
    std::unique_ptr<reconcile::FollowedKind> followed;
    std::map<std::string, cache::LabelSelector::Labels, std::less<>> labels;  // by key
    std::map<std::string, Entry> rules;                                       // by text
    std::unordered_map<std::string, std::set<Entry*>> by_object;              // "ns/name" or "/name": rules with names
    std::map<std::string, std::set<Entry*>> by_namespace;                     // rules without names; "" = any
    bool was_ready = false;
  };

  Kind& kind(const KindName& name);
  Entry* add(const std::string& parent, const RelatedRule& rule);
  void remove(const std::string& parent, Entry* entry);
  static std::vector<std::string> places(const RelatedRule& rule);
  bool matches(const RelatedRule& rule, std::string_view ns, std::string_view name,
               const cache::LabelSelector::Labels& labels) const;
  void changed(Kind& kind, const std::string& key, const cache::Change& change, std::string_view text);
  void namespace_changed(const cache::Change& change, const cache::LabelSelector::Labels& before,
                         const cache::LabelSelector::Labels& now, bool gone);
  void drop_unused();
  const Kind* namespaces() const;

  kube::InformerPool& pool_;
  std::function<void(const Touch&)> touched_;
  std::function<void()> ready_;
  std::map<KindName, Kind> kinds_;
  std::map<std::string, std::vector<Entry*>> parents_;
  size_t namespace_rules_ = 0;  // that have a namespaceSelector
};

}  // namespace hookd::metacontroller
