// `run.url`: the call is POSTed as JSON, and what comes back is read as a script's standard output would be (what each
// status means: url_answer.h). Thread: loop only. Source: issue "hook runtime", product.md sections 1 and 2.
//
//   files ──► http_post.h (measure, HMAC; breaker) ──► POST ──► Reply
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

// "https://host:port/path": scheme and host in lower case, with the default port, without query; "" = no http or https
// URL. What a breaker is for: behind one host may stand several programs, and one that hangs says nothing of the
// others.
std::string endpoint_of(std::string_view url);

// That of the URL, shared with all who call it in the same way (Breakers::of); of its own where `services` share none.
std::shared_ptr<Breaker> breaker_of(const CallerServices& services, std::string_view url, const std::string& way);

}  // namespace hookd::hook
