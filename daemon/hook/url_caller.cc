#include "hook/url_caller.h"

#include "base/time.h"
#include "hook/url_answer.h"
#include "net/hmac.h"

namespace hookd::hook {
namespace {

constexpr int kPiecesPerTurn = 8;  // of 64 KiB: about a millisecond
// Enough for what an error page says; of an answer the daemon's answerLimit holds.
constexpr size_t kErrorBodyBytes = 64u << 10;

Breaker::Outcome outcome_of(const Error& error) {
  return error.code == Errc::kConfig || error.code == Errc::kInvalid || error.code == Errc::kInternal
             ? Breaker::Outcome::kUnknown
             : Breaker::Outcome::kFailed;
}

// Hooks that reach an endpoint by other certificates fail each by itself.
std::string tls_of(const UrlTarget& target) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", target.ca_file, target.certificate_file, target.key_file, target.server_name,
                     target.insecure);
}

}  // namespace

// One call under way.
class UrlCaller::Post final : public OpenCall {
 public:
  Post(UrlCaller& owner, CallRequest request)
      : owner_(owner),
        request_(std::move(request)),
        started_(services().scheduler.now()),
        source_(open(request_.call, request_.document)) {
    // Now and not when it is sent: whether a second call may start depends on it.
    if (auto pass = owner_.breaker_->enter()) pass_.emplace(*std::move(pass));
    later([this] { begin(); });
  }

  void terminate() override {
    if (std::exchange(over_, true)) return;
    http_.reset();
    pass_.reset();
    later([this] { reply(failed("ended before it was answered, because hookd stops")); });
  }

 private:
  const Hook& hook() const { return *owner_.hook_; }
  CallerServices& services() const { return owner_.services_; }

  static std::function<std::string()> open(const std::shared_ptr<const Call>& call,
                                           const std::shared_ptr<const std::string>& document) {
    if (document) return [document, over = false]() mutable { return std::exchange(over, true) ? "" : *document; };
    return [writer = std::make_shared<CallWriter>(call)] { return writer->next(); };
  }

  void later(std::function<void()> task) {
    services().scheduler.post([alive = std::weak_ptr(alive_), task = std::move(task)] {
      if (alive.lock()) task();
    });
  }

  static Reply failed(std::string why, std::string result = "failed") {
    Reply reply;
    reply.why = std::move(why);
    reply.result = std::move(result);
    return reply;
  }

  Reply timed_out() const {
    return failed(
        fmt::format("timed out after {}: no whole answer from {}", format_duration(hook().run.timeout), owner_.name_),
        "timeout");
  }

  // The queue asks ready() before; this is for whoever does not.
  Reply has_to_wait() const {
    Reply reply = failed(owner_.breaker_->trouble().value_or(owner_.name_ + " has just begun to work again"), "later");
    reply.kind = Reply::Kind::kLater;
    reply.counted = false;
    reply.at_least = owner_.breaker_->wait();
    return reply;
  }

  void reply(Reply reply) {
    over_ = true;
    pass_.reset();
    request_.replied(std::move(reply));  // may destroy this
  }

  void begin() {
    if (over_) return;
    if (!pass_) return reply(has_to_wait());
    if (!services().transport) return reply(failed("no URL can be called here"));
    auto secrets = owner_.files_.current();
    if (!secrets) return reply(failed(secrets.error().what));
    secrets_ = *std::move(secrets);
    if (!secrets_->hmac_key.empty()) hmac_.emplace(secrets_->hmac_key);
    measure();
  }

  void measure() {
    if (over_) return;
    for (int i = 0; i < kPiecesPerTurn; ++i) {
      const std::string piece = source_();
      if (piece.empty()) return send();
      bytes_ += piece.size();
      if (hmac_) hmac_->update(piece);
      if (bytes_ <= kHeldBytes)
        body_ += piece;
      else
        body_ = {};
    }
    later([this] { measure(); });
  }

  void send() {
    const Duration left = hook().run.timeout - (services().scheduler.now() - started_);
    if (left <= Duration::zero()) return reply(timed_out());
    net::HttpHandlers handlers;
    handlers.on_head = [this](const net::HttpHead& head) { answer_.head = head; };
    handlers.on_data = [this](std::string_view bytes) { return take(bytes); };
    handlers.on_done = [this](Result<void> done) { ended(std::move(done)); };
    http_ = services().transport->start(make_request(left), std::move(handlers));
  }

  net::HttpRequest make_request(Duration left) {
    const UrlTarget& target = hook().run.url;
    const Call& call = *request_.call;
    net::HttpRequest http;
    http.method = "POST";
    http.url = target.url;
    http.headers = {{"Content-Type", "application/json"},
                    {"Accept", "application/json, application/yaml;q=0.9, text/plain;q=0.5"},
                    {"User-Agent", "hookd/" HOOKD_VERSION " (linux)"},
                    {"X-Hookd-Hook", call.hook},
                    {"X-Hookd-Call-Id", call.id},
                    {"X-Hookd-Attempt", std::to_string(call.attempt)}};
    for (const auto& header : target.headers) http.headers.push_back(header);
    if (!secrets_->bearer.empty()) http.headers.emplace_back("Authorization", "Bearer " + secrets_->bearer);
    if (hmac_) http.headers.emplace_back("X-Hub-Signature-256", "sha256=" + hmac_->hex());
    http.tls = secrets_->tls;
    http.pool = net::Pool::kHook;
    http.repeatable = true;
    http.connect_timeout = std::min(target.connect_timeout, left);
    http.total_timeout = left;
    if (bytes_ <= kHeldBytes) {
      http.body = std::move(body_);
    } else {
      http.body_source = {bytes_,
                          [call = request_.call, document = request_.document] { return open(call, document); }};
    }
    return http;
  }

  bool take(std::string_view bytes) {
    const bool good = answer_.head.status >= 200 && answer_.head.status < 300;
    const size_t limit = good ? services().answer_limit_bytes : kErrorBodyBytes;
    if (answer_.body.size() + bytes.size() > limit) {
      if (good) {
        too_large_ = true;
        return false;
      }
      bytes = bytes.substr(0, limit - answer_.body.size());  // of an error page the beginning will do
    }
    answer_.body += bytes;
    return true;
  }

  void ended(Result<void> done) {
    if (over_) return;
    if (too_large_) {
      pass_->left(Breaker::Outcome::kAnswered);
      return reply(failed(fmt::format("{} answered with more than {} bytes (answerLimit)", owner_.name_,
                                      services().answer_limit_bytes)));
    }
    if (!done) return broke(done.error());
    const int status = answer_.head.status;
    Reply result = reply_to(std::move(answer_), owner_.name_, maskable(), services().scheduler.wall_now());
    owner_.refused_ = status == 401 || status == 403 || status == 404 ? result.why : "";
    if (endpoint_down(status)) {
      // The probe is one event that stands for all: while its endpoint is down it does not use up its attempts. A 500
      // is said by the hook itself about the event, and counts.
      if (pass_->probe() && never_reached_hook(status)) result.counted = false;
      pass_->left(Breaker::Outcome::kFailed, fmt::format("status {}", status), result.at_least);
    } else {
      pass_->left(Breaker::Outcome::kAnswered);
    }
    reply(std::move(result));
  }

  void broke(const Error& error) {
    const bool timeout = error.code == Errc::kTimeout;
    Reply result = timeout ? timed_out() : failed(fmt::format("{}: {}", owner_.name_, error.what));
    if (!timeout && answer_.head.status != 0)
      result.why += fmt::format("; the answer (status {}) was cut after {} bytes, nothing was applied",
                                answer_.head.status, answer_.body.size());
    const bool reached = timeout || answer_.head.status != 0;
    if (pass_->probe() && !reached) result.counted = false;
    pass_->left(outcome_of(error), timeout ? "no answer in time" : error.what);
    reply(std::move(result));
  }

  // What an endpoint might repeat of what it was sent.
  std::vector<std::string> maskable() const {
    std::vector<std::string> all{secrets_->bearer, secrets_->hmac_key};
    for (const auto& [name, value] : hook().run.url.headers)
      if (value.size() >= 8) all.push_back(value);
    return all;
  }

  UrlCaller& owner_;
  CallRequest request_;
  const SteadyTime started_;
  std::function<std::string()> source_;
  std::shared_ptr<const UrlSecrets> secrets_;
  std::optional<net::HmacSha256> hmac_;
  uint64_t bytes_ = 0;
  std::string body_;  // up to kHeldBytes
  std::optional<Breaker::Pass> pass_;
  UrlAnswer answer_;
  bool too_large_ = false;
  bool over_ = false;
  std::unique_ptr<net::HttpCall> http_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

UrlCaller::UrlCaller(std::shared_ptr<const Hook> hook, CallerServices services)
    : hook_(std::move(hook)),
      services_(std::move(services)),
      files_(hook_->name, hook_->run.url),
      name_(url_for_log(hook_->run.url.url)) {
  const std::string endpoint = endpoint_of(hook_->run.url.url);
  breaker_ = services_.breakers ? services_.breakers->of(endpoint, tls_of(hook_->run.url))
                                : Breaker::make(endpoint, services_.scheduler, services_.random, services_.metrics);
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
  text.resize(std::min(text.find('/', scheme + 3), text.size()));
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const bool https = text.starts_with("https://");
  if (!https && !text.starts_with("http://")) return {};
  const size_t colon = text.rfind(':');
  const bool has_port = colon > scheme && text.find(']', colon) == std::string::npos;
  return has_port ? text : text + (https ? ":443" : ":80");
}

}  // namespace hookd::hook
