// From a request below /api and /apis to the verb that answers it. Thread: loop only.
#pragma once

#include "embedded/verbs/read.h"
#include "embedded/wire/target.h"

namespace hookd::embedded {

// `target` names a resource and the user may do it. The answer goes to `sink`; not null = a watch that goes on.
std::unique_ptr<Exchange> serve_resource(World& world, const Request& request, const Target& target,
                                         std::shared_ptr<ReplySink> sink, const WatchFaults& faults);

}  // namespace hookd::embedded
