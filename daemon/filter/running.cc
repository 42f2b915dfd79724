#include "filter/running.h"

#include <mutex>

namespace hookd::filter {
namespace {

thread_local std::string_view t_hook, t_binding;

// Views: what they show is alive while they stand here, and is read under the mutex alone.
struct Slot {
  std::mutex mutex;
  std::string_view expression, hook, binding;
  bool taken = false;
};
Slot& slot() {
  static Slot one;
  return one;
}

}  // namespace

std::optional<Running> running() {
  const std::lock_guard lock(slot().mutex);
  if (!slot().taken) return std::nullopt;
  return Running{std::string(slot().expression), std::string(slot().hook), std::string(slot().binding)};
}

RunsFor::RunsFor(std::string_view hook, std::string_view binding) : hook_before_(t_hook), binding_before_(t_binding) {
  t_hook = hook;
  t_binding = binding;
}

RunsFor::~RunsFor() {
  t_hook = hook_before_;
  t_binding = binding_before_;
}

Inside::Inside(std::string_view expression) {
  const std::lock_guard lock(slot().mutex);
  slot().expression = expression;
  slot().hook = t_hook;
  slot().binding = t_binding;
  slot().taken = true;
}

Inside::~Inside() {
  const std::lock_guard lock(slot().mutex);
  slot().taken = false;
}

}  // namespace hookd::filter
