// What the socket answers, as JSON. Shapes: README.md of this room. Masked. Pure. Thread: loop only.
#pragma once

#include <string>
#include <vector>

#include "app/daemon_look.h"
#include "app/engine.h"
#include "base/json_writer.h"
#include "control/run_history.h"

namespace hookd::control {

std::string status_document(const app::DaemonLook& daemon, const app::Engine& engine, const RunHistory& history,
                            const Mask& mask);
// Those of hooks that are gone, with what carries them.
std::string finalizers_document(const std::vector<app::LeftFinalizers::Found>& found, const Mask& mask);
std::string dropped_document(const app::LeftFinalizers::Dropped& dropped, const Mask& mask);
std::string hook_document(const app::HookLook& look, const RunTotals* totals, const Mask& mask);
std::string queue_document(const std::vector<app::QueueRow>& rows, bool cut, const Mask& mask);
std::string runs_document(const std::vector<const Run*>& runs, const Mask& mask);
std::string run_document(const Run& run, const Mask& mask);
// The call as the hook got it, but for what is masked or left out.
std::string input_document(const Run& run, const Mask& mask);

// The variables that look secret of all hooks that there are.
Mask mask_of(const app::Engine& engine);

// "Modified pods a/x", and how many more events there are.
std::string about(const Run& run);

std::string error_document(std::string_view why);

}  // namespace hookd::control
