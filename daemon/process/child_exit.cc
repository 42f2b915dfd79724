#include <fmt/format.h>
#include <string.h>

#include "base/time.h"
#include "process/launcher.h"

namespace hookd::process {
namespace {

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

}  // namespace

std::string ChildExit::describe() const {
  if (!problem.empty()) return problem;
  switch (kind) {
    case Kind::kExited:
      return fmt::format("exit code {}", code);
    case Kind::kSignalled:
      return fmt::format("killed by {}{}{}", signal_name(signal), core ? " (core dumped)" : "",
                         out_of_memory ? ": it took more memory than limits.memory" : "");
    case Kind::kTimedOut:
      return fmt::format("timed out after {}", format_duration(timeout));
    case Kind::kTooMuchOutput:
      return fmt::format("killed: more than {} bytes on stdout", stdout_limit_bytes);
  }
  return "unknown";
}

}  // namespace hookd::process
