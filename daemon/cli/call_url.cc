// `hookd call` for a hook with a URL: the call is POSTed to it, as the daemon would.
#include "cli/call_url.h"

#include "base/random.h"
#include "hook/url_caller.h"
#include "net/curl_transport.h"
#include "process/posix_launcher.h"

namespace hookd::cli {

Result<std::string> call_url(std::shared_ptr<const hook::Hook> hook, const std::string& id, std::string document) {
  boost::asio::io_context context{1};
  AsioScheduler scheduler(context);
  net::CurlTransport transport(scheduler);
  process::PosixLauncher launcher(scheduler);
  metrics::Registry metrics;
  SystemRandom random;
  hook::UrlCaller caller(hook, {scheduler, random, launcher, &transport, metrics});
  auto call = std::make_shared<hook::Call>();
  call->hook = hook->name;
  call->id = id;
  hook::CallRequest request;
  request.call = call;
  request.document = std::make_shared<const std::string>(std::move(document));
  request.said = [](std::string_view) {};
  std::optional<hook::Reply> reply;
  request.replied = [&](hook::Reply answer) {
    reply = std::move(answer);
    context.stop();
  };
  const auto open = caller.start(std::move(request));
  context.run();
  if (!reply) return fail(Errc::kInternal, "no reply came");
  if (reply->kind == hook::Reply::Kind::kAnswered) return std::move(reply->text);
  return fail(Errc::kHookFailed, "{}", reply->why);
}

}  // namespace hookd::cli
