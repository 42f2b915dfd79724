// Where triggers put what happened: the queue of their hook, by key. Thread: loop only.
#pragma once

#include <functional>
#include <string>

#include "hook/event.h"

namespace hookd::trigger {

// `exclusive`: the call runs alone, and what comes later waits for it (start-up, sync).
using Emit = std::function<void(const std::string& key, hook::Event event, bool exclusive)>;

}  // namespace hookd::trigger
