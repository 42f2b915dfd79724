// `batch` of hook.yaml. Thread: any.
#pragma once

#include "config/reader.h"
#include "hook/model.h"

namespace hookd::hook {

constexpr int kMaxBatch = 1000;  // events in a call; its answer is searched for each of them

void read_batch(config::Reader& spec, Batch& batch);

}  // namespace hookd::hook
