#include "kube/rest_client.h"

#include "base/log.h"
#include "kube/status.h"
#include "kube/warning_header.h"

namespace hookd::kube {

std::string percent_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
        c == '.' || c == '~')
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

RestClient::RestClient(net::HttpTransport& transport, Credentials& credentials, const ConnectionConfig& config,
                       Scheduler& scheduler, RateLimit limit)
    : transport_(transport),
      credentials_(credentials),
      scheduler_(scheduler),
      base_url_(config.server + config.base_path),
      proxy_(config.proxy_url),
      // Gzip costs the server more than it saves on a short way; through a WAN it pays.
      gzip_(!config.disable_compression && !config.in_cluster && !config.host_is_loopback),
      bucket_(limit.qps, limit.burst) {
  while (base_url_.ends_with('/')) base_url_.pop_back();
}

net::HttpRequest RestClient::to_http(const ApiRequest& request) const {
  net::HttpRequest http;
  http.method = request.method;
  http.url = base_url_ + request.path;
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    http.url += separator + name + "=" + percent_encode(value);
    separator = '&';
  }
  http.headers.emplace_back("Accept", request.accept);
  if (!request.if_none_match.empty()) http.headers.emplace_back("If-None-Match", request.if_none_match);
  http.headers.emplace_back("User-Agent", "hookd/" HOOKD_VERSION " (linux)");
  if (!request.content_type.empty()) http.headers.emplace_back("Content-Type", request.content_type);
  if (auto authorization = credentials_.authorization_header())
    http.headers.emplace_back("Authorization", std::move(*authorization));
  for (const auto& header : credentials_.impersonation_headers()) http.headers.push_back(header);
  http.body = request.body;
  http.tls = credentials_.tls();
  http.proxy = proxy_;
  http.pool = request.pool;
  http.accept_gzip = request.accept_gzip && gzip_;
  http.fresh_connection = request.fresh_connection;
  http.total_timeout = request.total_timeout;
  http.idle_timeout = request.idle_timeout;
  return http;
}

// One request with its retries, or one stream. Lives until its owner drops it, in one of its own callbacks maybe.
class RestClient::Call final : public ApiCall {
 public:
  Call(RestClient& client, ApiRequest request, ApiCallback callback)
      : client_(client), request_(std::move(request)), callback_(std::move(callback)) {
    try_now();
  }
  Call(RestClient& client, ApiRequest request, StreamHandlers handlers)
      : client_(client), request_(std::move(request)), stream_(std::make_shared<StreamHandlers>(std::move(handlers))) {
    request_.retry = false;
    send();
  }
  ~Call() override {
    if (place_) client_.waiting_.erase(*place_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // The place among the requests that the rate limit holds back.
  std::optional<std::list<Call*>::iterator> place_;

  void send() {
    ++tries_;
    head_ = {};
    body_.clear();
    net::HttpRequest http = client_.to_http(request_);
    if (request_.total_timeout > Duration::zero() && !stream_) {
      // One deadline for all tries (A24).
      const SteadyTime now = client_.scheduler_.now();
      if (!deadline_) deadline_ = now + request_.total_timeout;
      if (now >= *deadline_)
        return finish(fail(Errc::kTimeout, "{} {}: no time is left for another try; before: {}", request_.method,
                           request_.path, previous_));
      http.total_timeout = *deadline_ - now;
    }
    net::HttpHandlers handlers;
    handlers.on_head = [this](const net::HttpHead& head) { on_head(head); };
    handlers.on_data = [this](std::string_view bytes) { return on_data(bytes); };
    handlers.on_done = [this](Result<void> result) { done(std::move(result)); };
    http_ = client_.transport_.start(std::move(http), std::move(handlers));
  }

 private:
  void try_now() {
    if (request_.pool == net::Pool::kRest)
      client_.admit(*this);
    else
      send();
  }

  bool streaming() const { return stream_ && head_.status == 200; }  // R2: exactly 200

  void on_head(const net::HttpHead& head) {
    head_ = head;
    const auto keep = stream_;  // the handler may destroy this call, but not itself
    if (streaming() && keep->on_head) keep->on_head(head);
  }

  bool on_data(std::string_view bytes) {
    if (streaming()) {
      const auto keep = stream_;
      return keep->on_data(bytes);
    }
    // Of an error only the beginning is of use, and it must not keep us reading for ever.
    const size_t limit = head_.status / 100 == 2 ? kMaxAnswerBytes : kMaxErrorBytes;
    const bool over = body_.size() + bytes.size() > limit;
    body_ += bytes.substr(0, limit - body_.size());
    cut_ = over;
    return !over;
  }

  void done(Result<void> result) {
    const bool success = head_.status / 100 == 2 || (head_.status == 304 && !request_.if_none_match.empty());
    if (cut_ && success)
      return finish(
          fail(Errc::kTooLarge, "{} {}: the answer is over {} bytes", request_.method, request_.path, kMaxAnswerBytes));
    // The head of an error says enough when its body was cut off, by us or on the way.
    if (!result && (head_.status < 300 || success)) return broken(result.error());
    if (streaming()) return finish_stream({});
    if (success && !stream_ && !is_failed_status(body_)) return finish(response());

    Error error = error_from_answer(head_.status, body_, head_.header("retry-after"), request_.method);
    if (head_.status == 401) {
      client_.credentials_.unauthorized();
      // A 401 was not acted upon, so the same request is safe to send once more with a newly read credential.
      if (!std::exchange(refreshed_, true) && may_retry(Duration::zero(), error)) return;
    }
    const bool server_asks = error.retry_after && (head_.status == 429 || head_.status >= 500);
    // R30: the server blocked for seconds already, and the caller has a better answer to this one.
    if (server_asks && !is_resource_version_too_large(error) && may_retry(*error.retry_after, error)) return;
    finish(fail(std::move(error)));
  }

  // No whole answer. Only a read is safe to repeat: whether a write was carried out is not known (A25).
  void broken(const Error& error) {
    if (error.code == Errc::kTls) client_.credentials_.tls_failed();
    const bool safe = request_.method == "GET" && error.code == Errc::kTransport;
    if (safe && may_retry(std::chrono::seconds(1), error)) return;
    finish(fail(error.with(fmt::format("{} {}", request_.method, client_.base_url_ + request_.path))));
  }

  ApiResponse response() {
    ApiResponse response{head_.status,
                         std::move(body_),
                         std::string(head_.header("content-type")),
                         {},
                         std::string(head_.header("etag"))};
    for (const auto& [name, value] : head_.headers)
      if (name == "warning") parse_warning_header(value, response.warnings);
    return response;
  }

  bool may_retry(Duration wait, const Error& error) {
    if (!request_.retry || tries_ >= kMaxTries) return false;
    if (deadline_ && client_.scheduler_.now() + wait >= *deadline_) return false;
    previous_ = error.what;
    timer_ = client_.scheduler_.after(wait, [this] { try_now(); });
    return true;
  }

  void finish(Result<ApiResponse> result) {
    if (!result && tries_ > 1) {
      Error& error = result.error();
      error.what += fmt::format(
          " ({} tries{})", tries_,
          previous_.empty() || error.what.find(previous_) != std::string::npos ? "" : "; before: " + previous_);
    }
    if (stream_) return finish_stream(result ? Result<void>{} : Failure(std::move(result).error()));
    const auto callback = std::move(callback_);
    callback(std::move(result));
  }

  void finish_stream(Result<void> result) {
    const auto keep = std::move(stream_);
    keep->on_done(std::move(result));
  }

  RestClient& client_;
  ApiRequest request_;
  ApiCallback callback_;
  std::shared_ptr<StreamHandlers> stream_;  // null for a request
  std::unique_ptr<net::HttpCall> http_;
  net::HttpHead head_;
  std::string body_;
  bool cut_ = false;  // we stopped reading the body
  bool refreshed_ = false;
  int tries_ = 0;
  std::string previous_;  // the error of the try before (A24)
  std::optional<SteadyTime> deadline_;
  Timer timer_;
};

void RestClient::admit(Call& call) {
  if (waiting_.empty() && bucket_.take(scheduler_.now())) return call.send();
  call.place_ = waiting_.insert(waiting_.end(), &call);
  arm();
}

void RestClient::arm() {
  if (!waiting_.empty() && !timer_.pending())
    timer_ = scheduler_.after(bucket_.wait(scheduler_.now()), [this] { release(); });
}

void RestClient::release() {
  while (!waiting_.empty() && bucket_.take(scheduler_.now())) {
    Call& call = *waiting_.front();
    waiting_.pop_front();
    call.place_.reset();
    call.send();
  }
  arm();
}

std::unique_ptr<ApiCall> RestClient::request(ApiRequest request, ApiCallback callback) {
  return std::make_unique<Call>(*this, std::move(request), std::move(callback));
}

std::unique_ptr<ApiCall> RestClient::stream(ApiRequest request, StreamHandlers handlers) {
  return std::make_unique<Call>(*this, std::move(request), std::move(handlers));
}

}  // namespace hookd::kube
