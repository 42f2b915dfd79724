// Controllers of Metacontroller among the objects that play and test begin with: where there are any, they are run.
// Thread: any.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apply/operation.h"
#include "compat/metacontroller/controllers.h"

namespace hookd::rehearsal {

// Programs of `exec` and `worker` may lie below `folder`, which is the one that is played. nullopt: no object is of
// metacontroller.k8s.io, nor a CRD of it.
std::optional<metacontroller::ControllersOptions> controllers_among(const std::vector<apply::Operation>& objects,
                                                                    const std::string& folder);

}  // namespace hookd::rehearsal
