#include "hook/http_post.h"

#include <algorithm>

#include "base/time.h"
#include "hook/call_writer.h"

namespace hookd::hook {
namespace {

constexpr int kPiecesPerTurn = 8;  // of 64 KiB: about a millisecond

}  // namespace

HttpPost::HttpPost(const CallerServices& services, Breaker& breaker, std::string name, Duration timeout,
                   CallRequest request)
    : services_(services),
      breaker_(breaker),
      name_(std::move(name)),
      timeout_(timeout),
      request_(std::move(request)),
      started_(services_.scheduler.now()) {
  // Now and not when it is sent: whether a second call may start depends on it.
  if (auto pass = breaker_.enter()) pass_.emplace(*std::move(pass));
  later([this] { begin(); });
}

void HttpPost::terminate() {
  if (std::exchange(over_, true)) return;
  http_.reset();
  pass_.reset();
  later([this] {
    Reply ended;
    ended.why = "ended before it was answered, because hookd stops";
    reply(std::move(ended));
  });
}

void HttpPost::later(std::function<void()> task) {
  services_.scheduler.post([alive = alive(), task = std::move(task)] {
    if (alive.lock()) task();
  });
}

std::function<std::function<std::string()>()> HttpPost::body_source() const {
  return [call = request_.call, document = request_.document]() -> std::function<std::string()> {
    if (document) return [document, over = false]() mutable { return std::exchange(over, true) ? "" : *document; };
    return [writer = std::make_shared<CallWriter>(call)] { return writer->next(); };
  };
}

Reply HttpPost::failed(std::string_view why, std::string result) const {
  Reply reply;
  reply.why = fmt::format("{}: {}", name_, why);
  reply.result = std::move(result);
  return reply;
}

Reply HttpPost::timed_out() const {
  return failed(fmt::format("timed out after {}: no whole answer", format_duration(timeout_)), "timeout");
}

void HttpPost::reply(Reply reply) {
  over_ = true;
  pass_.reset();
  request_.replied(std::move(reply));
}

void HttpPost::begin() {
  if (over_) return;
  if (!pass_) {
    // The queue asks ready() before; this is for whoever does not.
    Reply wait;
    wait.kind = Reply::Kind::kLater;
    wait.result = "later";
    wait.why = breaker_.trouble().value_or(name_ + " has just begun to work again");
    wait.counted = false;
    wait.at_least = breaker_.wait();
    return reply(std::move(wait));
  }
  if (!services_.transport) return reply(failed("no URL can be called here"));
  prepare();
}

void HttpPost::measure() {
  http_.reset();
  source_ = body_source()();
  bytes_ = 0;
  body_.clear();
  measure_slice();
}

void HttpPost::measure_slice() {
  if (over_) return;
  for (int i = 0; i < kPiecesPerTurn; ++i) {
    const std::string piece = source_();
    if (piece.empty()) return send();
    bytes_ += piece.size();
    measured(piece);
    if (bytes_ <= kHeldBytes)
      body_ += piece;
    else
      body_ = {};
  }
  later([this] { measure_slice(); });
}

void HttpPost::send() {
  sent_ = services_.scheduler.now();
  const Duration left = timeout_ - (sent_ - started_);
  if (left <= Duration::zero()) return reply(timed_out());
  answer_ = {};
  too_large_ = false;
  net::HttpRequest http = make_request();
  http.method = "POST";
  http.pool = net::Pool::kHook;
  http.repeatable = true;
  http.connect_timeout = std::min(http.connect_timeout, left);
  http.total_timeout = left;
  if (bytes_ <= kHeldBytes)
    http.body = std::move(body_);
  else
    http.body_source = {bytes_, body_source()};
  net::HttpHandlers handlers;
  handlers.on_head = [this](const net::HttpHead& head) { answer_.head = head; };
  handlers.on_data = [this](std::string_view bytes) { return take(bytes); };
  handlers.on_done = [this](Result<void> result) { done(std::move(result)); };
  http_ = services_.transport->start(std::move(http), std::move(handlers));
}

bool HttpPost::take(std::string_view bytes) {
  const bool good = is_good(answer_.head.status);
  const size_t limit = good ? services_.answer_limit_bytes : kErrorBodyBytes;
  if (answer_.body.size() + bytes.size() > limit) {
    if (good) {
      too_large_ = true;
      return false;
    }
    bytes = bytes.substr(0, limit - answer_.body.size());
  }
  answer_.body += bytes;
  return true;
}

void HttpPost::done(Result<void> result) {
  if (over_) return;
  const int status = answer_.head.status;
  ended(result && !too_large_ ? status : 0, services_.scheduler.now() - sent_);
  if (too_large_) {
    pass_->left(Breaker::Outcome::kAnswered);
    Reply large;
    large.why = fmt::format("{} answered with more than {} bytes (answerLimit)", name_, services_.answer_limit_bytes);
    return reply(std::move(large));
  }
  if (!result) return broke(result.error());
  Reply answered = reply_of(std::move(answer_));
  if (is_down(status)) {
    // The probe is one event that stands for all: while its endpoint is down it does not use up its attempts. A 500 is
    // said by the hook itself about the event, and counts.
    if (pass_->probe() && never_reached_hook(status)) answered.counted = false;
    pass_->left(Breaker::Outcome::kFailed, fmt::format("status {}", status), answered.at_least);
  } else {
    if (status == 401 && once_more(answered)) return;
    pass_->left(Breaker::Outcome::kAnswered);
  }
  reply(std::move(answered));
}

void HttpPost::broke(const Error& error) {
  const bool timeout = error.code == Errc::kTimeout;
  const int status = answer_.head.status;
  Reply broken = timeout ? timed_out() : failed(error.what);
  if (!timeout && status != 0)
    broken.why += fmt::format("; the answer (status {}) was cut after {} bytes, nothing was applied", status,
                              answer_.body.size());
  const bool reached = timeout || status != 0;
  if (pass_->probe() && !reached) broken.counted = false;
  if (error.code == Errc::kTls && once_more(broken)) return;
  const bool ours = error.code == Errc::kConfig || error.code == Errc::kInvalid || error.code == Errc::kInternal;
  pass_->left(ours ? Breaker::Outcome::kUnknown : Breaker::Outcome::kFailed,
              timeout ? "no answer in time" : error.what);
  reply(std::move(broken));
}

}  // namespace hookd::hook
