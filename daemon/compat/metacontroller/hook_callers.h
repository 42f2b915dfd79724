// The callers of a controller's hooks: one for each of sync, finalize and customize, by webhook (webhook_caller.h) or
// by a command (hook::make_caller). Thread: loop only.
#pragma once

#include <memory>
#include <vector>

#include "compat/metacontroller/request.h"
#include "compat/metacontroller/spec.h"
#include "hook/reconciler.h"

namespace hookd::metacontroller {

// `hook` is the one that the controller became; what it says of name and concurrency counts for its commands too.
class HookCallers {
 public:
  HookCallers(std::shared_ptr<const ControllerSpec> controller, std::shared_ptr<const hook::Hook> hook,
              const hook::ReconcilerServices& services);
  ~HookCallers();

  hook::Caller* of(HookRole role) const;  // null: the controller has no such hook
  std::vector<hook::Caller*> all() const;

 private:
  std::unique_ptr<hook::Caller> sync_, finalize_, customize_;
};

}  // namespace hookd::metacontroller
