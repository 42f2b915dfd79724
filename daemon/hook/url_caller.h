// `run.url`: the call is POSTed as JSON, and what comes back is read as a script's standard output would be (what each
// status means: url_answer.h). Thread: loop only. Source: issue "hook runtime", product.md sections 1 and 2.
//
//   files ──► measure (in slices: length, HMAC) ──► breaker ──► POST ──► Reply
//
// The length of the body is known before the first byte is sent, so that servers without chunked requests can take it,
// and so is its HMAC. A call up to kHeldBytes is kept from the measuring; a larger one is written a second time while
// it is sent, and never held whole. run.timeout holds for all of it. A call may be delivered twice (as with every
// mode): X-Hookd-Call-Id tells.
//
// Headers: Content-Type application/json, User-Agent, X-Hookd-Hook, X-Hookd-Call-Id, X-Hookd-Attempt, Authorization and
// X-Hub-Signature-256 by run.auth, and run.headers. Their values, and the URL's query, are never in a text for people.
#pragma once

#include "hook/breaker.h"
#include "hook/caller.h"
#include "hook/url_files.h"

namespace hookd::hook {

class UrlCaller final : public Caller {
 public:
  UrlCaller(std::shared_ptr<const Hook> hook, CallerServices services);
  ~UrlCaller() override;

  std::unique_ptr<OpenCall> start(CallRequest request) override;
  bool ready() const override { return breaker_->ready(); }
  void on_ready(std::function<void()> look) override;
  std::optional<std::string> trouble() const override;

  static constexpr size_t kHeldBytes = 1u << 20;

 private:
  class Post;
  std::shared_ptr<const Hook> hook_;
  CallerServices services_;
  UrlFiles files_;
  std::string name_;  // of the URL, for texts
  std::shared_ptr<Breaker> breaker_;
  Breaker::Waiting waiting_;
  std::string refused_;  // why the endpoint does not let us call it: 401, 403, 404; "" = it does
};

// "https://host:port", lower case, with the default port; "" = no http or https URL.
std::string endpoint_of(std::string_view url);

}  // namespace hookd::hook
