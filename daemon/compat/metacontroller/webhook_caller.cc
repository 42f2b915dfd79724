#include "compat/metacontroller/webhook_caller.h"

#include "base/time.h"
#include "hook/http_post.h"
#include "hook/url_caller.h"
#include "kube/token_file.h"

namespace hookd::metacontroller {
namespace {

using hook::Reply;

// Webhooks that reach a server by other certificates fail each by itself.
std::string way_of(const ConnectionAuth& auth) {
  return fmt::format("metacontroller\n{}\n{}/{}/{}\n{}/{}/{}\n{}/{}", auth.ca_inline, auth.ca_secret.ns,
                     auth.ca_secret.name, auth.ca_secret.key, auth.ca_config_map.ns, auth.ca_config_map.name,
                     auth.ca_config_map.key, auth.client_tls.ns, auth.client_tls.name);
}

}  // namespace

// One call under way.
class WebhookCaller::Post final : public hook::HttpPost {
 public:
  Post(WebhookCaller& owner, hook::CallRequest call)
      : HttpPost(owner.services_, *owner.breaker_, fmt::format("{} hook {}", to_string(owner.role_), owner.name_),
                 owner.webhook_.timeout, std::move(call)),
        owner_(owner) {
    if (request().call)
      if (const auto* body = dynamic_cast<const RequestBody*>(request().call->body.get())) key_ = body->cache_key();
    owner_.count_in_flight(1);
  }
  ~Post() override {
    if (owner_lives_.lock()) owner_.count_in_flight(-1);  // it is let go in a turn of its own
  }

 private:
  const Webhook& webhook() const { return owner_.webhook_; }
  bool is_tagged() const { return webhook().etag && !key_.empty(); }

  void prepare() override {
    owner_.connection_.get([this, lives = alive()](auto material) {
      if (!lives.lock() || is_over()) return;
      if (!material) return reply(failed(material.error().what));
      const bool changed = !material_ || material_->authorization != (*material)->authorization ||
                           material_->tls->ca_pem != (*material)->tls->ca_pem ||
                           material_->tls->certificate_pem != (*material)->tls->certificate_pem ||
                           material_->tls->key_pem != (*material)->tls->key_pem;
      material_ = *std::move(material);
      if (first_failure_ && !changed) return reply(*std::move(first_failure_));
      measure();
    });
  }

  net::HttpRequest make_request() override {
    net::HttpRequest http;
    http.url = webhook().url;
    http.headers = {{"Content-Type", "application/json"},
                    {"Accept", "application/json"},
                    {"User-Agent", "hookd/" HOOKD_VERSION " (linux)"},
                    {"X-Hookd-Call-Id", request().call->id}};
    if (!material_->authorization.empty()) http.headers.emplace_back("Authorization", material_->authorization);
    if (is_tagged()) {
      kept_ = owner_.etags_.get(key_, services().scheduler.now(), webhook().etag_timeout);
      if (kept_) http.headers.emplace_back("If-None-Match", kept_->etag);
    }
    http.tls = material_->tls;
    http.connect_timeout = webhook().timeout;
    return http;
  }

  bool is_good(int status) const override { return status == 200; }
  // A 500 is what frameworks make of a program's error about one parent: it is no reason to keep all others waiting.
  bool is_down(int status) const override { return hook::never_reached_hook(status); }

  Reply reply_of(hook::UrlAnswer answer) override {
    const int status = answer.head.status;
    Reply reply = status == 200 ? answered(std::move(answer)) : refused(answer);
    owner_.refused_ = status == 401 || status == 403 || status == 404 ? reply.why : "";
    return reply;
  }

  Reply answered(hook::UrlAnswer answer) {
    if (is_tagged()) {
      if (const auto etag = answer.head.header("etag"); !etag.empty() && kube::is_header_value(etag))
        owner_.etags_.put(key_, {std::string(etag), answer.body, services().scheduler.now()});
      else
        owner_.etags_.forget(key_);
    }
    Reply reply;
    reply.kind = Reply::Kind::kAnswered;
    reply.text = std::move(answer.body);
    return reply;
  }

  Reply refused(const hook::UrlAnswer& answer) const {
    const int status = answer.head.status;
    Reply reply;
    if ((status == 304 || status == 412) && kept_) {
      reply.kind = Reply::Kind::kAnswered;
      reply.text = kept_->body;
      return reply;
    }
    const std::string said = hook::error_words(answer, material_->secrets);
    reply.why = fmt::format("{} answered {}, not 200{}{}", name(), hook::status_text(status),
                            said.empty() ? "" : "; it says: ", said);
    if (status >= 300 && status < 400 && status != 304) reply.why += "; redirects are not followed";
    const auto wait = hook::parse_retry_after(answer.head.header("retry-after"), services().scheduler.wall_now());
    if (wait) reply.why += fmt::format(" (Retry-After: {})", format_duration(*wait));
    if (status == 429) {
      reply.kind = Reply::Kind::kLater;
      reply.result = "later";
      reply.at_least = wait.value_or(Duration::zero());
    }
    return reply;
  }

  // The Secrets may be newer than what we showed.
  bool once_more(const Reply& reply) override {
    if (first_failure_ || !owner_.connection_.doubt()) return false;
    first_failure_ = reply;
    prepare();
    return true;
  }

  void ended(int status, Duration took) override {
    const std::string prefix = fmt::format("metacontroller_{}_", to_string(owner_.role_));
    auto labels = owner_.labels_;
    labels["method"] = "post";
    services().metrics.observe(prefix + "request_duration_histogram_seconds", labels,
                               std::chrono::duration<double>(took).count());
    labels["code"] = status == 0 ? "error" : std::to_string(status);
    services().metrics.count(prefix + "requests_total", labels);
  }

  WebhookCaller& owner_;
  const std::weak_ptr<bool> owner_lives_ = owner_.alive_;
  std::string key_;  // of the ETag cache
  std::shared_ptr<const Connection::Material> material_;
  std::shared_ptr<const TaggedAnswer> kept_;
  std::optional<Reply> first_failure_;
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
  breaker_ = hook::breaker_of(services_, webhook.url, way_of(webhook.auth));
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
