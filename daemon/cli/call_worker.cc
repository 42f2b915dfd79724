#include "cli/call_worker.h"

#include <fmt/format.h>

#include "apply/json_text.h"
#include "base/json_read.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/random.h"
#include "hook/environment.h"
#include "hook/worker_pool.h"
#include "process/posix_launcher.h"

namespace hookd::cli {

Result<std::string> call_worker(std::shared_ptr<const hook::Hook> hook, const std::string& id, std::string document,
                                const std::string& kubeconfig) {
  auto alone = std::make_shared<hook::Hook>(*hook);
  alone->run.worker.processes = 1;
  auto call = std::make_shared<hook::Call>();
  call->hook = hook->name;
  call->id = json_string_at(document, {"id"}).value_or("");
  if (call->id.empty()) {
    call->id = id;
    document = apply::with_members(document, {{"id", json_string(id)}});
  }

  log::set_level(log::Level::kWarn);  // that a worker starts and ends is no news here
  boost::asio::io_context context{1};
  AsioScheduler scheduler(context);
  process::PosixLauncher launcher(scheduler);
  metrics::Registry metrics;
  SystemRandom random;
  hook::CallerServices services{scheduler, random, launcher, nullptr, metrics};
  services.kubeconfig = kubeconfig;
  services.environment = hook::own_environment();
  hook::WorkerPool pool(alone, std::move(services));

  std::optional<hook::Reply> reply;
  hook::CallRequest request;
  request.call = call;
  request.document = std::make_shared<const std::string>(std::move(document));
  request.said = [](std::string_view line) { fmt::print(stderr, "{}\n", line); };
  request.replied = [&](hook::Reply answer) { reply = std::move(answer); };
  const auto open = pool.start(std::move(request));
  while (!reply && context.run_one() > 0) {
  }
  pool.close();
  while (pool.lingering() > 0 && context.run_one() > 0) {
  }
  if (!reply) return fail(Errc::kInternal, "no reply came");
  if (reply->kind == hook::Reply::Kind::kAnswered) return std::move(reply->text);
  return fail(Errc::kHookFailed, "{}", reply->why);
}

}  // namespace hookd::cli
