#include "reconcile/maker.h"

#include "reconcile/native_reconciler.h"

namespace hookd::reconcile {

std::unique_ptr<hook::Reconciler> make_reconciler(std::shared_ptr<const hook::Hook> hook,
                                                  hook::ReconcilerServices services) {
  return std::make_unique<NativeReconciler>(std::move(hook), std::move(services));
}

}  // namespace hookd::reconcile
