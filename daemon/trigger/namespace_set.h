// The names of the namespaces whose labels match a selector, kept up to date. Thread: loop only.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "cache/label_selector.h"
#include "kube/informer.h"

namespace hookd::trigger {

class NamespaceSet {
 public:
  // `on_change(name, in)` for each namespace that comes to match or ceases to; `on_synced` once.
  NamespaceSet(kube::InformerPool& pool, cache::LabelSelector selector,
               std::function<void(const std::string& name, bool in)> on_change, std::function<void()> on_synced);

  bool contains(const std::string& name) const { return names_.contains(name); }
  bool synced() const { return informer_->synced(); }
  const std::shared_ptr<kube::Informer>& informer() const { return informer_; }

 private:
  void changed(const cache::Change& change, std::string_view text);

  cache::LabelSelector selector_;
  std::function<void(const std::string&, bool)> on_change_;
  std::set<std::string> names_;
  std::shared_ptr<kube::Informer> informer_;
  std::unique_ptr<kube::Informer::Subscription> subscription_;
};

}  // namespace hookd::trigger
