// A net::HttpTransport without a network: what was asked is kept, and the test says what is answered.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/scheduler.h"
#include "net/http_transport.h"

namespace hookd::test {

class ScriptedTransport final : public net::HttpTransport {
 public:
  struct Asked {
    net::HttpRequest request;
    net::HttpHandlers handlers;
    bool over = false;       // answered, or its call was destroyed
    bool cancelled = false;  // its call was destroyed before it was answered
    bool took_all = true;    // no on_data said no

    std::string header(std::string_view name) const {
      for (const auto& [key, value] : request.headers)
        if (key == name) return value;
      return {};
    }
    // The whole body, and how much of it came at once at most.
    std::string read_body() {
      if (!request.body_source.open) return request.body;
      std::string all;
      const auto source = request.body_source.open();
      for (std::string piece = source(); !piece.empty(); piece = source()) {
        largest_piece = std::max(largest_piece, piece.size());
        all += piece;
      }
      EXPECT_EQ(all.size(), request.body_source.bytes);
      return all;
    }
    using Headers = std::vector<std::pair<std::string, std::string>>;
    void head(int status, Headers headers = {{"content-type", "application/json"}}) {
      handlers.on_head({status, std::move(headers)});
    }
    void data(std::string_view bytes) {
      if (handlers.on_data(bytes)) return;
      took_all = false;
      done(fail(Errc::kCancelled, "stopped by the receiver of the answer"));
    }
    void done(Result<void> result = {}) {
      ASSERT_FALSE(over);
      over = true;
      const auto copy = handlers;
      copy.on_done(std::move(result));
    }
    void answer(int status, std::string_view body, Headers headers = {{"content-type", "application/json"}}) {
      head(status, std::move(headers));
      if (!body.empty()) data(body);
      if (!over) done();
    }
    void refuse(std::string what = "127.0.0.1:1: cannot connect (connection refused)") {
      done(Failure(Error{Errc::kTransport, std::move(what), 0, {}, {}}));
    }
    size_t largest_piece = 0;
  };

  std::unique_ptr<net::HttpCall> start(net::HttpRequest request, net::HttpHandlers handlers) override {
    auto one = std::make_shared<Asked>();
    one->request = std::move(request);
    one->handlers = std::move(handlers);
    asked.push_back(one);
    return std::make_unique<Handle>(one);
  }

  Asked& last() { return *asked.back(); }
  std::vector<std::shared_ptr<Asked>> asked;

 private:
  struct Handle final : net::HttpCall {
    explicit Handle(std::shared_ptr<Asked> o) : one(std::move(o)) {}
    ~Handle() override {
      if (!one->over) one->cancelled = true;
      one->over = true;
    }
    std::shared_ptr<Asked> one;
  };
};

}  // namespace hookd::test
