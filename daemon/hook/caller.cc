#include "hook/caller.h"

#include "hook/once_caller.h"
#include "hook/url_caller.h"
#include "hook/worker_pool.h"

namespace hookd::hook {

std::unique_ptr<Caller> make_caller(std::shared_ptr<const Hook> hook, CallerServices services) {
  if (hook->run.mode == Run::Mode::kUrl) return std::make_unique<UrlCaller>(std::move(hook), std::move(services));
  if (hook->run.mode == Run::Mode::kWorker) return std::make_unique<WorkerPool>(std::move(hook), std::move(services));
  return std::make_unique<OnceCaller>(std::move(hook), std::move(services));
}

}  // namespace hookd::hook
