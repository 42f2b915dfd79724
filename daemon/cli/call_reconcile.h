// `hookd call` for a hook that reconciles: the call made out of files, and what the daemon would do with the answer.
// Thread: main.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apply/operation.h"
#include "base/result.h"
#include "cli/cli.h"
#include "hook/model.h"
#include "kube/discovery.h"
#include "reconcile/native_body.h"

namespace hookd::cli {

void print_operation(const apply::Operation& op);

class ReconcileCall {
 public:
  // Out of `options.object_files`: the first object that is of the kind of `for` is the parent, others are its children
  // or related. What does not fit is told on stderr. Errors: kConfig: a file, or no parent in them.
  static Result<ReconcileCall> from_files(std::shared_ptr<const hook::Hook> hook, const CallOptions& options);
  // Out of a call as `hookd runs ID --input` shows it. Errors: kConfig: it has no `object` of that kind.
  static Result<ReconcileCall> from_document(std::shared_ptr<const hook::Hook> hook, std::string_view document);

  std::string document(const std::string& id) const;  // as the daemon would write it
  int report(std::string_view answer) const;          // prints; the exit code

 private:
  explicit ReconcileCall(std::shared_ptr<const hook::Hook> hook);
  std::shared_ptr<const kube::ResourceType> type_of(const std::string& api_version, const std::string& kind,
                                                    bool namespaced) const;
  void set_parent(cache::Incoming object);
  void add_child(const hook::ChildRule& rule, const cache::Incoming& object);
  void add(const cache::Incoming& object);
  bool add_related(const hook::RelatedRule& rule, size_t index, const cache::Incoming& object);
  void tell_of_parent(const cache::Incoming& object) const;

  std::shared_ptr<const hook::Hook> hook_;
  kube::ResourceTable types_;
  reconcile::Gathered world_;
  size_t made_up_ = 0;                    // uids
  std::vector<cache::ObjectPtr> others_;  // objects of children's kinds that are not the parent's
};

}  // namespace hookd::cli
