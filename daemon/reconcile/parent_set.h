// The parents of one kind: which take part, and what of their changes calls a key. Thread: loop only.
// Source: product.md section 6 (`for`); controllers.md 1.1, 1.4 step 1, 1.8; 3.3 (predicates).
//
//   takes part   namespace, labels and `when` hold (and `matches`, if given)
//   leaves       does not any more: it is still a parent while it carries our finalizer, to be finalized
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hook/event.h"
#include "hook/reconcile_model.h"
#include "kube/informer.h"

namespace hookd::reconcile {

struct Parent {
  cache::ObjectPtr object;
  std::shared_ptr<const kube::ResourceType> type;
  bool matches = true;  // false: it left, and has our finalizer still
};

class ParentSet {
 public:
  struct Options {
    hook::ParentRule rule;
    std::string finalizer;  // "" = none is set
    // Besides the rule's selectors (annotation selectors of DecoratorControllers); empty = all.
    std::function<bool(std::string_view text)> matches;
  };
  // A key is to be run: what happened to the parent. `gone`: its last state, when it is no more. Events of the first
  // list are `background`.
  using Touched = std::function<void(const cache::Object& parent, std::string_view type, cache::ObjectPtr gone,
                                     bool background)>;

  ParentSet(kube::InformerPool& pool, Scheduler& scheduler, Options options, Touched touched,
            std::function<void()> ready);
  ~ParentSet();
  void start();
  void stop();

  bool ready() const;
  const std::shared_ptr<const kube::ResourceType>& type() const { return type_; }  // null until it is resolved
  size_t size() const;
  std::optional<Error> error() const;
  std::vector<std::shared_ptr<kube::Informer>> informers() const;

  std::optional<Parent> find(std::string_view key) const;  // ns/name
  std::optional<std::string> key_of(std::string_view uid) const;
  std::vector<std::string> keys() const;  // in order
  // Also of those that do not match: everything that has that uid or key (adoption looks at it).
  void each(const std::function<void(const std::string& key, const Parent&)>& visit) const;

 private:
  std::shared_ptr<const kube::ResourceType> type_;
};

}  // namespace hookd::reconcile
