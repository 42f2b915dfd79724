// A call that is POSTed: what hooks with `run.url` and the webhooks of other people's controllers have in common.
// Thread: loop only.
//
//   breaker ──► prepare() ──► measure (in slices: length, and whoever wants to see the bytes) ──► POST ──► reply_of()
//
// The length of the body is known before the first byte is sent, so that servers without chunked requests can take it.
// A call up to kHeldBytes is kept from the measuring; a larger one is written a second time while it is sent, and never
// held whole. The time limit holds for all of it. A call may be delivered twice: X-Hookd-Call-Id tells.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hook/breaker.h"
#include "hook/caller.h"
#include "hook/url_answer.h"
#include "net/http_transport.h"

namespace hookd::hook {

class HttpPost : public OpenCall {
 public:
  void terminate() override;

  static constexpr size_t kHeldBytes = 1u << 20;
  // Enough for what an error page says; of an answer the daemon's answerLimit holds.
  static constexpr size_t kErrorBodyBytes = 64u << 10;

 protected:
  // `name`: who is called, for texts. The services and the breaker belong to the caller, which outlives its calls.
  HttpPost(const CallerServices& services, Breaker& breaker, std::string name, Duration timeout, CallRequest request);

  // ---- what each kind says for itself
  // Whatever has to be there before the body is read, such as Secrets; leads to measure() or reply().
  virtual void prepare() = 0;
  virtual void measured([[maybe_unused]] std::string_view piece) {}
  // All but method, body, pool and total time.
  virtual net::HttpRequest make_request() = 0;
  virtual bool is_good(int status) const = 0;  // the whole body is the answer; of others the beginning will do
  virtual bool is_down(int status) const = 0;  // the endpoint and not this call is the trouble
  virtual Reply reply_of(UrlAnswer answer) = 0;
  // 401, or TLS: who we are may have changed meanwhile. True = prepare() was begun again, no reply comes of this one.
  virtual bool once_more([[maybe_unused]] const Reply& reply) { return false; }
  // It was sent; `status` 0: no whole answer came.
  virtual void ended([[maybe_unused]] int status, [[maybe_unused]] Duration took) {}

  // ---- what they have
  void measure();                                                           // from the beginning
  void reply(Reply reply);                                                  // the end; this may be destroyed in it
  Reply failed(std::string_view why, std::string result = "failed") const;  // "name: why"
  bool is_over() const { return over_; }
  const CallRequest& request() const { return request_; }
  const CallerServices& services() const { return services_; }
  const std::string& name() const { return name_; }
  std::weak_ptr<bool> alive() const { return alive_; }

 private:
  std::function<std::function<std::string()>()> body_source() const;
  void later(std::function<void()> task);
  void begin();
  void measure_slice();
  void send();
  bool take(std::string_view bytes);
  void done(Result<void> result);
  void broke(const Error& error);
  Reply timed_out() const;

  const CallerServices& services_;
  Breaker& breaker_;
  const std::string name_;
  const Duration timeout_;
  CallRequest request_;
  const SteadyTime started_;
  SteadyTime sent_{};
  std::function<std::string()> source_;
  uint64_t bytes_ = 0;
  std::string body_;  // up to kHeldBytes
  std::optional<Breaker::Pass> pass_;
  UrlAnswer answer_;
  bool too_large_ = false;
  bool over_ = false;
  std::unique_ptr<net::HttpCall> http_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hookd::hook
