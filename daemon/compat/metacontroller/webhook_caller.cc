#include "compat/metacontroller/webhook_caller.h"

#include "base/time.h"
#include "hook/call_writer.h"
#include "hook/url_answer.h"
#include "hook/url_caller.h"
#include "kube/token_file.h"

namespace hookd::metacontroller {
namespace {

using hook::Breaker;
using hook::Reply;

constexpr int kPiecesPerTurn = 8;  // of 64 KiB: about a millisecond
constexpr size_t kErrorBodyBytes = 64u << 10;

Reply failed(std::string why, std::string result = "failed") {
  Reply reply;
  reply.why = std::move(why);
  reply.result = std::move(result);
  return reply;
}

// Webhooks that reach a server by other certificates fail each by itself.
std::string way_of(const ConnectionAuth& auth) {
  return fmt::format("metacontroller\n{}\n{}/{}/{}\n{}/{}/{}\n{}/{}", auth.ca_inline, auth.ca_secret.ns,
                     auth.ca_secret.name, auth.ca_secret.key, auth.ca_config_map.ns, auth.ca_config_map.name,
                     auth.ca_config_map.key, auth.client_tls.ns, auth.client_tls.name);
}

}  // namespace

// One call under way.
class WebhookCaller::Post final : public hook::OpenCall {
 public:
  Post(WebhookCaller& owner, hook::CallRequest request)
      : owner_(owner), request_(std::move(request)), started_(services().scheduler.now()) {
    if (request_.call)
      if (const auto* body = dynamic_cast<const RequestBody*>(request_.call->body.get())) key_ = body->cache_key();
    // Now and not when it is sent: whether a second call may start depends on it.
    if (auto pass = owner_.breaker_->enter()) pass_.emplace(*std::move(pass));
    owner_.count_in_flight(1);
    later([this] { begin(); });
  }
  ~Post() override {
    if (owner_lives_.lock()) owner_.count_in_flight(-1);  // it is let go in a turn of its own
  }

  void terminate() override {
    if (std::exchange(over_, true)) return;
    http_.reset();
    pass_.reset();
    later([this] { reply(failed("ended before it was answered, because hookd stops")); });
  }

 private:
  hook::CallerServices& services() const { return owner_.services_; }
  const Webhook& webhook() const { return owner_.webhook_; }

  static std::function<std::string()> open(const std::shared_ptr<const hook::Call>& call,
                                           const std::shared_ptr<const std::string>& document) {
    if (document) return [document, over = false]() mutable { return std::exchange(over, true) ? "" : *document; };
    return [writer = std::make_shared<hook::CallWriter>(call)] { return writer->next(); };
  }

  void later(std::function<void()> task) {
    services().scheduler.post([alive = std::weak_ptr(alive_), task = std::move(task)] {
      if (alive.lock()) task();
    });
  }

  void reply(Reply reply) {
    over_ = true;
    pass_.reset();
    request_.replied(std::move(reply));  // may destroy this
  }

  std::string hook_name() const { return fmt::format("{} hook {}", to_string(owner_.role_), owner_.name_); }

  Reply timed_out() const {
    return failed(fmt::format("{}: timed out after {}", hook_name(), format_duration(webhook().timeout)), "timeout");
  }

  void begin() {
    if (over_) return;
    if (!pass_) {
      Reply wait = failed(owner_.breaker_->trouble().value_or(owner_.name_ + " has just begun to work again"), "later");
      wait.kind = Reply::Kind::kLater;
      wait.counted = false;
      wait.at_least = owner_.breaker_->wait();
      return reply(std::move(wait));
    }
    if (!services().transport) return reply(failed("no webhook can be called here"));
    connect();
  }

  void connect() {
    owner_.connection_.get([this, alive = std::weak_ptr(alive_)](auto material) {
      if (!alive.lock() || over_) return;
      if (!material) return reply(failed(fmt::format("{}: {}", hook_name(), material.error().what)));
      const bool changed = !material_ || material_->authorization != (*material)->authorization ||
                           material_->tls->ca_pem != (*material)->tls->ca_pem ||
                           material_->tls->certificate_pem != (*material)->tls->certificate_pem ||
                           material_->tls->key_pem != (*material)->tls->key_pem;
      material_ = *std::move(material);
      if (first_failure_ && !changed) return reply(*std::move(first_failure_));
      source_ = open(request_.call, request_.document);
      bytes_ = 0;
      body_.clear();
      measure();
    });
  }

  void measure() {
    if (over_) return;
    for (int i = 0; i < kPiecesPerTurn; ++i) {
      const std::string piece = source_();
      if (piece.empty()) return send();
      bytes_ += piece.size();
      if (bytes_ <= kHeldBytes)
        body_ += piece;
      else
        body_ = {};
    }
    later([this] { measure(); });
  }

  void send() {
    const Duration left = webhook().timeout - (services().scheduler.now() - started_);
    if (left <= Duration::zero()) return reply(timed_out());
    answer_ = {};
    too_large_ = false;
    sent_ = services().scheduler.now();
    net::HttpHandlers handlers;
    handlers.on_head = [this](const net::HttpHead& head) { answer_.head = head; };
    handlers.on_data = [this](std::string_view bytes) { return take(bytes); };
    handlers.on_done = [this](Result<void> done) { ended(std::move(done)); };
    http_ = services().transport->start(make_request(left), std::move(handlers));
  }

  net::HttpRequest make_request(Duration left) {
    net::HttpRequest http;
    http.method = "POST";
    http.url = webhook().url;
    http.headers = {{"Content-Type", "application/json"},
                    {"Accept", "application/json"},
                    {"User-Agent", "hookd/" HOOKD_VERSION " (linux)"},
                    {"X-Hookd-Call-Id", request_.call->id}};
    if (!material_->authorization.empty()) http.headers.emplace_back("Authorization", material_->authorization);
    if (webhook().etag && !key_.empty()) {
      kept_ = owner_.etags_.get(key_, services().scheduler.now(), webhook().etag_timeout);
      if (kept_) http.headers.emplace_back("If-None-Match", kept_->etag);
    }
    http.tls = material_->tls;
    http.pool = net::Pool::kHook;
    http.repeatable = true;
    http.connect_timeout = left;
    http.total_timeout = left;
    if (bytes_ <= kHeldBytes)
      http.body = std::move(body_);
    else
      http.body_source = {bytes_,
                          [call = request_.call, document = request_.document] { return open(call, document); }};
    return http;
  }

  bool take(std::string_view bytes) {
    const bool good = answer_.head.status == 200;
    const size_t limit = good ? services().answer_limit_bytes : kErrorBodyBytes;
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

  void ended(Result<void> done) {
    if (over_) return;
    metrics(done && !too_large_ ? std::to_string(answer_.head.status) : "error");
    if (too_large_) {
      pass_->left(Breaker::Outcome::kAnswered);
      return reply(failed(fmt::format("{} answered with more than {} bytes (answerLimit)", hook_name(),
                                      services().answer_limit_bytes)));
    }
    if (!done) return broke(done.error());
    const int status = answer_.head.status;
    Reply result = reply_of();
    owner_.refused_ = status == 401 || status == 403 || status == 404 ? result.why : "";
    // A 500 is what frameworks make of a program's error about one parent: it is no reason to keep all others waiting.
    if (hook::never_reached_hook(status)) {
      if (pass_->probe()) result.counted = false;
      pass_->left(Breaker::Outcome::kFailed, fmt::format("status {}", status), result.at_least);
    } else {
      if (status == 401 && once_more(result)) return;
      pass_->left(Breaker::Outcome::kAnswered);
    }
    reply(std::move(result));
  }

  Reply reply_of() {
    const int status = answer_.head.status;
    Reply result;
    if (status == 200) {
      if (webhook().etag && !key_.empty()) {
        if (const auto etag = answer_.head.header("etag"); !etag.empty() && kube::is_header_value(etag))
          owner_.etags_.put(key_, {std::string(etag), answer_.body, services().scheduler.now()});
        else
          owner_.etags_.forget(key_);
      }
      result.kind = Reply::Kind::kAnswered;
      result.text = std::move(answer_.body);
      return result;
    }
    if ((status == 304 || status == 412) && kept_) {
      result.kind = Reply::Kind::kAnswered;
      result.text = kept_->body;
      return result;
    }
    const std::string said = hook::error_words(answer_, material_->secrets);
    result = failed(fmt::format("{} answered {}, not 200{}{}", hook_name(), hook::status_text(status),
                                said.empty() ? "" : "; it says: ", said));
    if (status >= 300 && status < 400 && status != 304) result.why += "; redirects are not followed";
    const auto wait = hook::parse_retry_after(answer_.head.header("retry-after"), services().scheduler.wall_now());
    if (wait) result.why += fmt::format(" (Retry-After: {})", format_duration(*wait));
    if (status == 429) {
      result.kind = Reply::Kind::kLater;
      result.result = "later";
      result.at_least = wait.value_or(Duration::zero());
    }
    return result;
  }

  // The Secrets may be newer than what we showed.
  bool once_more(const Reply& result) {
    if (first_failure_ || !owner_.connection_.doubt()) return false;
    first_failure_ = result;
    http_.reset();
    connect();
    return true;
  }

  void broke(const Error& error) {
    const bool timeout = error.code == Errc::kTimeout;
    Reply result = timeout ? timed_out() : failed(fmt::format("{}: {}", hook_name(), error.what));
    if (!timeout && answer_.head.status != 0)
      result.why +=
          fmt::format("; the answer (status {}) was cut after {} bytes", answer_.head.status, answer_.body.size());
    const bool reached = timeout || answer_.head.status != 0;
    const bool ours = error.code == Errc::kConfig || error.code == Errc::kInvalid || error.code == Errc::kInternal;
    if (pass_->probe() && !reached) result.counted = false;
    if (error.code == Errc::kTls && once_more(result)) return;
    pass_->left(ours ? Breaker::Outcome::kUnknown : Breaker::Outcome::kFailed,
                timeout ? "no answer in time" : error.what);
    reply(std::move(result));
  }

  void metrics(const std::string& code) {
    const std::string prefix = fmt::format("metacontroller_{}_", to_string(owner_.role_));
    auto labels = owner_.labels_;
    labels["method"] = "post";
    services().metrics.observe(prefix + "request_duration_histogram_seconds", labels,
                               std::chrono::duration<double>(services().scheduler.now() - sent_).count());
    labels["code"] = code;
    services().metrics.count(prefix + "requests_total", labels);
  }

  WebhookCaller& owner_;
  const std::weak_ptr<bool> owner_lives_ = owner_.alive_;
  hook::CallRequest request_;
  const SteadyTime started_;
  SteadyTime sent_{};
  std::string key_;  // of the ETag cache
  std::function<std::string()> source_;
  std::shared_ptr<const Connection::Material> material_;
  std::shared_ptr<const TaggedAnswer> kept_;
  std::optional<Reply> first_failure_;
  uint64_t bytes_ = 0;
  std::string body_;  // up to kHeldBytes
  std::optional<Breaker::Pass> pass_;
  hook::UrlAnswer answer_;
  bool too_large_ = false;
  bool over_ = false;
  std::unique_ptr<net::HttpCall> http_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

WebhookCaller::WebhookCaller(std::shared_ptr<const ControllerSpec> controller, HookRole role, const Webhook& webhook,
                             hook::CallerServices services, kube::Api* api)
    : controller_(std::move(controller)),
      role_(role),
      webhook_(webhook),
      services_(std::move(services)),
      name_(hook::url_for_log(webhook.url)),
      connection_(webhook.auth, services_.scheduler, api),
      labels_{{"url", name_},
              {"controller_name", controller_->name},
              {"controller_type", std::string(to_string(controller_->kind))}} {
  const std::string endpoint = hook::endpoint_of(webhook.url);
  breaker_ = services_.breakers ? services_.breakers->of(endpoint, way_of(webhook.auth))
                                : Breaker::make(endpoint, services_.scheduler, services_.random, services_.metrics);
}

WebhookCaller::~WebhookCaller() {
  services_.metrics.remove(fmt::format("metacontroller_{}_in_flight_requests", to_string(role_)), labels_);
}

std::unique_ptr<hook::OpenCall> WebhookCaller::start(hook::CallRequest request) {
  return std::make_unique<Post>(*this, std::move(request));
}

void WebhookCaller::on_ready(std::function<void()> look) { waiting_ = breaker_->listen(std::move(look)); }

std::optional<std::string> WebhookCaller::trouble() const {
  if (auto open = breaker_->trouble()) return open;
  if (!refused_.empty()) return refused_;
  return std::nullopt;
}

void WebhookCaller::count_in_flight(int change) {
  in_flight_ += change;
  services_.metrics.set(fmt::format("metacontroller_{}_in_flight_requests", to_string(role_)), labels_, in_flight_);
}

}  // namespace hookd::metacontroller
