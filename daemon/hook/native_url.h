// `run.url` of a native hook and the keys that belong to it: tls, headers, auth, connectTimeout. Thread: any.
// Every key's meaning and default: config/README.md.
#pragma once

#include "config/reader.h"
#include "hook/model.h"

namespace hookd::hook {

// With `url` set, run.mode becomes kUrl. Reports into the Reader's Problems, also keys of a command beside a URL.
void read_url(config::Reader& run, Run& out);

}  // namespace hookd::hook
