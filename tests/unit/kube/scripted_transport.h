// A HttpTransport without a network: it records requests, and the test plays the server's side, piece by piece.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "net/http_transport.h"

namespace hookd::kube::test {

class HttpExchange {
 public:
  net::HttpRequest request;

  bool open() const { return !dropped_ && handlers_; }
  bool dropped() const { return dropped_; }
  std::string header(std::string_view wanted) const {
    for (const auto& [name, value] : request.headers)
      if (name == wanted) return value;
    return {};
  }

  using Headers = std::vector<std::pair<std::string, std::string>>;
  void head(int status, Headers headers = {}) {
    if (!open()) return;
    const auto keep = handlers_;
    keep->on_head(net::HttpHead{status, std::move(headers)});
  }
  // Did the reader want to go on?
  bool data(std::string_view bytes) {
    if (!open()) return false;
    const auto keep = handlers_;
    if (keep->on_data(bytes)) return true;
    end(fail(Errc::kCancelled, "stopped by the reader"));
    return false;
  }
  void end(Result<void> result = {}) {
    if (!open()) return;
    const auto keep = std::move(handlers_);
    keep->on_done(std::move(result));
  }
  void reply(int status, std::string_view body = {}, Headers headers = {}) {
    head(status, std::move(headers));
    if (!body.empty() && !data(body)) return;
    end();
  }
  void cut() { end(fail(Errc::kTransport, "connection reset")); }

 private:
  friend class ScriptedTransport;
  std::shared_ptr<net::HttpHandlers> handlers_;
  bool dropped_ = false;
};

class ScriptedTransport final : public net::HttpTransport {
 public:
  std::unique_ptr<net::HttpCall> start(net::HttpRequest request, net::HttpHandlers handlers) override {
    auto exchange = std::make_shared<HttpExchange>();
    exchange->request = std::move(request);
    exchange->handlers_ = std::make_shared<net::HttpHandlers>(std::move(handlers));
    exchanges_.push_back(exchange);
    return std::make_unique<Call>(exchange);
  }
  size_t count() const { return exchanges_.size(); }
  std::shared_ptr<HttpExchange> at(size_t i) const { return exchanges_.at(i); }
  std::shared_ptr<HttpExchange> last() const { return exchanges_.back(); }

 private:
  class Call final : public net::HttpCall {
   public:
    explicit Call(std::shared_ptr<HttpExchange> exchange) : exchange_(std::move(exchange)) {}
    ~Call() override { exchange_->dropped_ = true; }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    std::shared_ptr<HttpExchange> exchange_;
  };
  std::deque<std::shared_ptr<HttpExchange>> exchanges_;
};

}  // namespace hookd::kube::test
