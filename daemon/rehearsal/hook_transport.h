// The way to the endpoints of hooks with a URL: the real network, in real time, with the calls under way counted so
// that virtual time stands still for them as it does for processes. Thread: loop only.
#pragma once

#include <memory>

#include "net/curl_transport.h"

namespace hookd::rehearsal {

class HookTransport final : public net::HttpTransport {
 public:
  explicit HookTransport(AsioScheduler& real) : real_(real) {}

  [[nodiscard]] std::unique_ptr<net::HttpCall> start(net::HttpRequest request, net::HttpHandlers handlers) override {
    if (!curl_) curl_ = std::make_unique<net::CurlTransport>(real_);  // most tests have no such hook
    return curl_->start(std::move(request), std::move(handlers));
  }
  size_t running() const { return curl_ ? curl_->calls_under_way() : 0; }

 private:
  AsioScheduler& real_;
  std::unique_ptr<net::CurlTransport> curl_;
};

}  // namespace hookd::rehearsal
