#include "hook/caller.h"

#include "hook/once_caller.h"

namespace hookd::hook {

std::unique_ptr<Caller> make_caller(std::shared_ptr<const Hook> hook, CallerServices services) {
  return std::make_unique<OnceCaller>(std::move(hook), std::move(services));
}

}  // namespace hookd::hook
