// `spec.state` of hook.yaml. Thread: any. Source: config/README.md.
#pragma once

#include "config/reader.h"
#include "hook/model.h"

namespace hookd::hook {

// After `concurrency` and `batch`, which it looks at; a hook that has no `concurrency` gets 1 where its state needs it.
void read_state(config::Reader& spec, Hook& out);

}  // namespace hookd::hook
