// `reconcile` of hook.yaml. Thread: any. Source: product.md section 6; every key's meaning stands in
// config/reconcile.md.
#pragma once

#include <string>
#include <string_view>

#include "config/reader.h"
#include "hook/model.h"
#include "hook/native_bindings.h"

namespace hookd::hook {

// What a hook with `reconcile` has unless told otherwise; before `concurrency` and `retry` are read. (product.md
// section 6: back-off 5 ms doubling to 1000 s)
void reconcile_defaults(Hook& out);

// Into hook.reconcile, nothing if there is none. After the sources were read: each of them must be named here. Reports
// the keys that cannot stand beside it.
void read_reconcile(config::Reader& spec, BindingReaders& readers, Hook& hook);

// "hookd.dev/<hook>": what a hook with `finalizer: true` puts on its objects. The part behind the slash has at most 63
// characters (apimachinery IsQualifiedName): a longer name is cut, with a hash of the whole behind it.
std::string default_finalizer(std::string_view hook);

}  // namespace hookd::hook
