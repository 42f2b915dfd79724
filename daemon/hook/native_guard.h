// `guard` of hook.yaml. Thread: any once loaded.
//
//   guard: {deletes: 20/1m, writes: 600/1m}
#pragma once

#include "config/reader.h"
#include "hook/model.h"

namespace hookd::hook {

// Problems are reported to the reader: a limit is COUNT/TIME, 1 to 1,000,000 within 1s to 24h.
void read_guard(config::Reader& spec, Guard& out);

}  // namespace hookd::hook
