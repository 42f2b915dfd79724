// An Api without a server: it records what is asked, and the test says what comes back, in pieces if it wants.
// As with the real one, nothing comes back from inside request() or stream(), and any callback may destroy its call.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/scheduler.h"
#include "kube/client.h"
#include "kube/status.h"

namespace hookd::kube::test {

// One request or stream, and the server's side of it. After the owner dropped its call, all of this does nothing.
class Exchange {
 public:
  ApiRequest request;
  bool is_stream = false;

  bool open() const { return !dropped_ && !done_; }
  bool dropped() const { return dropped_; }
  bool connected() const { return headed_; }
  bool is_watch() const { return param("watch") == "true"; }

  // "/api/v1/pods?limit=500"; what differs from run to run is left out.
  std::string url() const {
    std::string text = request.path;
    char separator = '?';
    for (const auto& [name, value] : request.query) {
      if (name == "timeoutSeconds") continue;
      text += separator + name + "=" + value;
      separator = '&';
    }
    return text;
  }
  std::string param(std::string_view wanted) const {
    for (const auto& [name, value] : request.query)
      if (name == wanted) return value;
    return {};
  }

  // A whole answer with 200.
  void reply(std::string_view body, std::string content_type = "application/json", std::string etag = {}) {
    if (is_stream) {
      head();
      data(body);
      end();
    } else {
      finish(ApiResponse{200, std::string(body), std::move(content_type), {}, std::move(etag)});
    }
  }
  void not_modified() { finish(ApiResponse{304, {}, {}, {}, request.if_none_match}); }
  // An HTTP error, decoded as RestClient does it.
  void reply_error(int status, std::string_view body = {}, std::string_view retry_after = {}) {
    fail_with(error_from_answer(status, body, retry_after, request.method));
  }
  void fail_with(Error error) {
    if (is_stream)
      finish_stream(Failure(std::move(error)));
    else
      finish(Failure(std::move(error)));
  }
  void refuse() { fail_with(Error{Errc::kTransport, "connection refused", 0, {}, {}}); }

  // The pieces of a stream.
  void head() {
    if (!open() || std::exchange(headed_, true)) return;
    const auto keep = handlers_;
    if (keep->on_head) keep->on_head(net::HttpHead{200, {}});
  }
  void data(std::string_view bytes) {
    head();
    if (!open()) return;
    const auto keep = handlers_;
    if (!keep->on_data(bytes)) fail_with(Error{Errc::kCancelled, "stopped by the reader", 0, {}, {}});
  }
  void end() { finish_stream({}); }

 private:
  friend class ScriptedApi;

  void finish(Result<ApiResponse> result) {
    if (!open()) return;
    done_ = true;
    const auto callback = std::move(callback_);
    callback(std::move(result));
  }
  // gcc 12 takes an inlined move of an empty Result for a read of its error.
  [[gnu::noinline]] void finish_stream(Result<void> result) {
    if (!open()) return;
    done_ = true;
    const auto keep = std::move(handlers_);
    keep->on_done(std::move(result));
  }

  ApiCallback callback_;
  std::shared_ptr<StreamHandlers> handlers_;
  bool headed_ = false;
  bool done_ = false;
  bool dropped_ = false;
};

class ScriptedApi final : public Api {
 public:
  using Answer = std::function<void(Exchange&)>;
  explicit ScriptedApi(Scheduler& scheduler) : scheduler_(scheduler) {}

  // From now on each exchange is given to `answer` soon after it began.
  void answer_all(Answer answer) { answer_ = std::move(answer); }

  std::unique_ptr<ApiCall> request(ApiRequest request, ApiCallback callback) override {
    auto exchange = begin(std::move(request));
    exchange->callback_ = std::move(callback);
    return std::make_unique<Call>(exchange);
  }
  std::unique_ptr<ApiCall> stream(ApiRequest request, StreamHandlers handlers) override {
    auto exchange = begin(std::move(request));
    exchange->is_stream = true;
    exchange->handlers_ = std::make_shared<StreamHandlers>(std::move(handlers));
    return std::make_unique<Call>(exchange);
  }

  size_t count() const { return exchanges_.size(); }
  std::shared_ptr<Exchange> at(size_t i) const { return exchanges_.at(i); }
  std::shared_ptr<Exchange> last() const { return exchanges_.back(); }
  size_t open_count() const {
    return static_cast<size_t>(
        std::ranges::count_if(exchanges_, [](const auto& exchange) { return exchange->open(); }));
  }
  // The urls of all exchanges from the `from`th on.
  std::vector<std::string> urls(size_t from = 0) const {
    std::vector<std::string> all;
    for (size_t i = from; i < exchanges_.size(); ++i) all.push_back(exchanges_[i]->url());
    return all;
  }

 private:
  class Call final : public ApiCall {
   public:
    explicit Call(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
    ~Call() override { exchange_->dropped_ = true; }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    std::shared_ptr<Exchange> exchange_;
  };

  std::shared_ptr<Exchange> begin(ApiRequest request) {
    auto exchange = std::make_shared<Exchange>();
    exchange->request = std::move(request);
    exchanges_.push_back(exchange);
    if (answer_)
      scheduler_.post([this, exchange] {
        if (exchange->open()) answer_(*exchange);
      });
    return exchange;
  }

  Scheduler& scheduler_;
  Answer answer_;
  std::deque<std::shared_ptr<Exchange>> exchanges_;
};

// ---- texts that a server sends

inline std::string pod(const std::string& name, const std::string& version, const std::string& uid = {},
                       const std::string& ns = "default") {
  return fmt::format(R"({{"metadata":{{"name":"{}","namespace":"{}","uid":"{}","resourceVersion":"{}"}},"spec":{{}}}})",
                     name, ns, uid.empty() ? "uid-" + name : uid, version);
}

inline std::string with_kind(std::string object, const std::string& api_version = "v1",
                             const std::string& kind = "Pod") {
  return object.insert(1, fmt::format(R"("kind":"{}","apiVersion":"{}",)", kind, api_version));
}

inline std::string list_of(const std::vector<std::string>& items, const std::string& version,
                           const std::string& next = {}, const std::string& kind = "PodList") {
  return fmt::format(R"({{"kind":"{}","apiVersion":"v1","metadata":{{"resourceVersion":"{}"{}}},"items":[{}]}})", kind,
                     version, next.empty() ? "" : fmt::format(R"(,"continue":"{}")", next), fmt::join(items, ","));
}

inline std::string event_of(const std::string& type, const std::string& object) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
}

inline std::string bookmark(const std::string& version, const std::string& annotations = {}) {
  return event_of("BOOKMARK",
                  fmt::format(R"({{"kind":"Pod","apiVersion":"v1","metadata":{{"resourceVersion":"{}"{}}}}})", version,
                              annotations.empty() ? "" : ",\"annotations\":" + annotations));
}

inline std::string status_of(int code, const std::string& reason, const std::string& message = "no",
                             const std::string& details = "null") {
  return fmt::format(
      R"({{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"{}","reason":"{}","details":{},"code":{}}})",
      message, reason, details, code);
}

}  // namespace hookd::kube::test
