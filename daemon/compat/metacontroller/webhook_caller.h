// A hook of a controller by HTTP: the request is POSTed, and what comes back is the answer. Thread: loop only.
// Source: controllers.md 1.2 (statuses), 1.3 (transport, ETag, TLS, authorization), 1.9 (metrics).
//
//   connection (Secrets) ──► hook/http_post.h (measure; breaker) ──► POST ──► Reply
//
//   200            the answer                      304, 412 when If-None-Match was sent: the kept answer of that ETag
//   429            later: after Retry-After, without it by the back-off (upstream: at once, for ever)
//   401, TLS       failed; Secrets are read anew, and if they changed it is tried once more right away
//   502, 503, 504  failed; as with no answer, several in a row close the endpoint for a while (hook/breaker.h)
//   anything else  failed, tried again by the back-off; redirects are not followed
#pragma once

#include "compat/metacontroller/connection.h"
#include "compat/metacontroller/etag_cache.h"
#include "compat/metacontroller/request.h"
#include "hook/breaker.h"
#include "hook/caller.h"

namespace hookd::metacontroller {

class WebhookCaller final : public hook::Caller {
 public:
  // The call's body has to be a RequestBody.
  WebhookCaller(std::shared_ptr<const ControllerSpec> controller, HookRole role, const Webhook& webhook,
                hook::CallerServices services, kube::Api* api);
  ~WebhookCaller() override;

  std::unique_ptr<hook::OpenCall> start(hook::CallRequest request) override;
  bool ready() const override { return breaker_->ready(); }
  void on_ready(std::function<void()> look) override;
  std::optional<std::string> trouble() const override;

 private:
  class Post;
  void count_in_flight(int change);

  std::shared_ptr<const ControllerSpec> controller_;
  HookRole role_;
  Webhook webhook_;
  hook::CallerServices services_;
  std::string name_;  // of the URL, for texts
  Connection connection_;
  EtagCache etags_;
  std::shared_ptr<hook::Breaker> breaker_;
  hook::Breaker::Waiting waiting_;
  std::string refused_;  // why the endpoint does not let us call it; "" = it does
  metrics::Labels labels_;
  int in_flight_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hookd::metacontroller
