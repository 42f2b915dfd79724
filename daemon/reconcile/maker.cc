#include "reconcile/maker.h"

namespace hookd::reconcile {

std::unique_ptr<hook::Reconciler> make_reconciler(std::shared_ptr<const hook::Hook>, hook::ReconcilerServices) {
  return nullptr;
}

}  // namespace hookd::reconcile
