// The reconciler of a hook with `reconcile` (product.md section 6). Thread: loop only.
#pragma once

#include <memory>

#include "hook/reconciler.h"

namespace hookd::reconcile {

// `hook` has `reconcile`.
std::unique_ptr<hook::Reconciler> make_reconciler(std::shared_ptr<const hook::Hook> hook,
                                                  hook::ReconcilerServices services);

}  // namespace hookd::reconcile
