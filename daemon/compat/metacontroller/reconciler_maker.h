// From a controller's spec to what runs its keys. Thread: loop only.
#pragma once

#include <memory>

#include "compat/metacontroller/spec.h"
#include "hook/reconciler.h"

namespace hookd::metacontroller {

std::shared_ptr<const hook::ReconcilerMaker> make_reconciler_maker(std::shared_ptr<const ControllerSpec> controller,
                                                                   ApplyOptions options);

}  // namespace hookd::metacontroller
