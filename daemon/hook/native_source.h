// `source` of a native hook: events from outside Kubernetes. Thread: any. Every key's meaning: config/sources.md.
#pragma once

#include <cstdint>

#include "config/reader.h"
#include "hook/model.h"
#include "hook/native_bindings.h"
#include "hook/native_loader.h"

namespace hookd::hook {

// Into hook.sources; hook.run must be read before. Returns the identity of the sources' programs, for
// Hook::content_hash.
uint64_t read_sources(BindingReaders& readers, const LoadOptions& options, Hook& hook);

}  // namespace hookd::hook
