// Reads a CompositeController or DecoratorController. The server has checked it against its CRD, if that is a good one;
// here it is checked again. Pure but for the look at a command's file. Thread: any. Source: controllers.md 1.1, 1.3, 6.
//
// Additions of ours beside `webhook` of a hook, for programs in the daemon's own container:
//   exec:   {command: [sync.py, --fast], timeout: 10s}                       a process for each call
//   worker: {command: [sync.py], workers: 1, callsAtOnce: 8, ready: line, timeout: 10s}
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "compat/metacontroller/spec.h"

namespace hookd::metacontroller {

struct SpecReaderOptions {
  // Where programs of exec and worker may lie, also behind symbolic links. "" = nowhere: whoever may write these
  // resources must not be able to run programs here by that alone.
  std::string exec_folder;
};

// `text`: the whole resource, without managedFields. Errors: kConfig naming the field: "spec.hooks.sync.webhook: …".
Result<std::shared_ptr<const ControllerSpec>> read_controller(std::string text, ControllerKind kind,
                                                              const SpecReaderOptions& options = {});

// Does `host` of an endpointConfigs entry mean the server of `url`? Case does not count, and the ports 80 and 443 are
// as good as none.
bool endpoint_fits(std::string_view host, std::string_view url);

}  // namespace hookd::metacontroller
