#include "hook/native_batch.h"

namespace hookd::hook {

void read_batch(config::Reader& spec, Batch& batch) {
  auto r = spec.map("batch");
  if (!r) return;
  r->integer("max", batch.max, 1, kMaxBatch);
  r->duration("window", batch.window, Duration{0}, std::chrono::hours(24));
  if (batch.max == 1 && batch.window > Duration{0})
    r->problem("window", "has no effect with max: 1, which is the default; write max: 2 or more, or take it out");
  r->finish();
}

}  // namespace hookd::hook
