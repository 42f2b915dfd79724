// `hooks` and `endpointConfigs` of a controller. Inside this room only. Thread: any. Source: controllers.md 1.3.
#pragma once

#include "compat/metacontroller/spec.h"
#include "compat/metacontroller/spec_fields.h"
#include "compat/metacontroller/spec_reader.h"

namespace hookd::metacontroller {

// Into spec.endpoints, then spec.sync, finalize, customize.
Result<void> read_hooks(const Fields& fields, const SpecReaderOptions& options, ControllerSpec& spec);

}  // namespace hookd::metacontroller
