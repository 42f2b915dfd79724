#include "hook/url_caller.h"

#include "base/ascii.h"
#include "hook/http_post.h"
#include "net/hmac.h"

namespace hookd::hook {
namespace {

// Hooks that reach an endpoint by other certificates fail each by itself.
std::string tls_of(const UrlTarget& target) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", target.ca_file, target.certificate_file, target.key_file, target.server_name,
                     target.insecure);
}

}  // namespace

// One call under way.
class UrlCaller::Post final : public HttpPost {
 public:
  Post(UrlCaller& owner, CallRequest request)
      : HttpPost(owner.services_, *owner.breaker_, owner.name_, owner.hook_->run.timeout, std::move(request)),
        owner_(owner) {}

 private:
  const UrlTarget& target() const { return owner_.hook_->run.url; }

  void prepare() override {
    auto secrets = owner_.files_.current();
    if (!secrets) {
      Reply unreadable;
      unreadable.why = secrets.error().what;
      return reply(std::move(unreadable));
    }
    secrets_ = *std::move(secrets);
    if (!secrets_->hmac_key.empty()) hmac_.emplace(secrets_->hmac_key);
    measure();
  }

  void measured(std::string_view piece) override {
    if (hmac_) hmac_->update(piece);
  }

  net::HttpRequest make_request() override {
    const Call& call = *request().call;
    net::HttpRequest http;
    http.url = target().url;
    http.headers = {{"Content-Type", "application/json"},
                    {"Accept", "application/json, application/yaml;q=0.9, text/plain;q=0.5"},
                    {"User-Agent", "hookd/" HOOKD_VERSION " (linux)"},
                    {"X-Hookd-Hook", call.hook},
                    {"X-Hookd-Call-Id", call.id},
                    {"X-Hookd-Attempt", std::to_string(call.attempt)}};
    for (const auto& header : target().headers) http.headers.push_back(header);
    if (!secrets_->bearer.empty()) http.headers.emplace_back("Authorization", "Bearer " + secrets_->bearer);
    if (hmac_) http.headers.emplace_back("X-Hub-Signature-256", "sha256=" + hmac_->hex());
    http.tls = secrets_->tls;
    http.connect_timeout = target().connect_timeout;
    return http;
  }

  bool is_good(int status) const override { return status >= 200 && status < 300; }
  bool is_down(int status) const override { return endpoint_down(status); }

  Reply reply_of(UrlAnswer answer) override {
    const int status = answer.head.status;
    Reply reply = reply_to(std::move(answer), name(), maskable(), services().scheduler.wall_now());
    owner_.refused_ = status == 401 || status == 403 || status == 404 ? reply.why : "";
    return reply;
  }

  // What an endpoint might repeat of what it was sent.
  std::vector<std::string> maskable() const {
    std::vector<std::string> all{secrets_->bearer, secrets_->hmac_key};
    for (const auto& [header, value] : target().headers)
      if (value.size() >= 8) all.push_back(value);
    return all;
  }

  UrlCaller& owner_;
  std::shared_ptr<const UrlSecrets> secrets_;
  std::optional<net::HmacSha256> hmac_;
};

UrlCaller::UrlCaller(std::shared_ptr<const Hook> hook, CallerServices services)
    : hook_(std::move(hook)),
      services_(std::move(services)),
      files_(hook_->name, hook_->run.url),
      name_(url_for_log(hook_->run.url.url)) {
  breaker_ = breaker_of(services_, hook_->run.url.url, tls_of(hook_->run.url));
}

UrlCaller::~UrlCaller() = default;

std::unique_ptr<OpenCall> UrlCaller::start(CallRequest request) {
  return std::make_unique<Post>(*this, std::move(request));
}

void UrlCaller::on_ready(std::function<void()> look) { waiting_ = breaker_->listen(std::move(look)); }

std::optional<std::string> UrlCaller::trouble() const {
  if (auto open = breaker_->trouble()) return open;
  if (!refused_.empty()) return refused_;
  return std::nullopt;
}

std::string endpoint_of(std::string_view url) {
  std::string text = url_for_log(url);
  const size_t scheme = text.find("://");
  if (scheme == std::string::npos) return {};
  const size_t end = std::min(text.find('/', scheme + 3), text.size());
  std::string path = text.substr(end);
  if (path == "/") path.clear();
  text = lower(text.substr(0, end));
  const bool https = text.starts_with("https://");
  if (!https && !text.starts_with("http://")) return {};
  const size_t colon = text.rfind(':');
  const bool has_port = colon > scheme && text.find(']', colon) == std::string::npos;
  if (!has_port) text += https ? ":443" : ":80";
  return text + path;
}

std::shared_ptr<Breaker> breaker_of(const CallerServices& services, std::string_view url, const std::string& way) {
  const std::string endpoint = endpoint_of(url);
  return services.breakers ? services.breakers->of(endpoint, way)
                           : Breaker::make(endpoint, services.scheduler, services.random, services.metrics);
}

}  // namespace hookd::hook
