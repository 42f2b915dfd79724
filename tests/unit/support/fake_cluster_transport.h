// FakeCluster as an HttpTransport: for what builds its own client.
#pragma once

#include "net/http_transport.h"
#include "unit/support/fake_cluster.h"

namespace hookd::test {

class FakeClusterTransport final : public net::HttpTransport {
 public:
  explicit FakeClusterTransport(FakeCluster& cluster) : cluster_(cluster) {}

  std::unique_ptr<net::HttpCall> start(net::HttpRequest http, net::HttpHandlers handlers) override {
    kube::ApiRequest request;
    request.method = http.method;
    request.body = http.body;
    for (const auto& [name, value] : http.headers)
      if (name == "Content-Type") request.content_type = value;
    const size_t path = http.url.find('/', http.url.find("//") + 2);
    const size_t question = std::min(http.url.find('?', path), http.url.size());
    request.path = http.url.substr(path, question - path);
    read_query(std::string_view(http.url).substr(std::min(question + 1, http.url.size())), request);
    auto call = std::make_unique<Call>();
    auto shared = std::make_shared<net::HttpHandlers>(std::move(handlers));
    const bool list = request.method == "GET" && !request.query.empty();
    if (list)
      call->inner =
          cluster_.stream(std::move(request), {[shared](const net::HttpHead&) { shared->on_head({200, {}}); },
                                               [shared](std::string_view data) { return shared->on_data(data); },
                                               [shared](Result<void> done) { shared->on_done(std::move(done)); }});
    else
      call->inner = cluster_.request(std::move(request),
                                     [shared](Result<kube::ApiResponse> response) { answer(*shared, response); });
    return call;
  }

 private:
  struct Call final : net::HttpCall {
    std::unique_ptr<kube::ApiCall> inner;
  };

  static void answer(const net::HttpHandlers& handlers, const Result<kube::ApiResponse>& response) {
    const auto copy = handlers;
    if (response) {
      copy.on_head({response->status, {{"content-type", response->content_type}}});
      copy.on_data(response->body);
    } else {
      copy.on_head({response.error().http_status, {{"content-type", "application/json"}}});
      copy.on_data(fmt::format(
          R"({{"kind":"Status","apiVersion":"v1","status":"Failure","code":{},"reason":"{}","message":{}}})",
          response.error().http_status, response.error().reason, json_string(response.error().what)));
    }
    copy.on_done({});
  }

  static void read_query(std::string_view query, kube::ApiRequest& request) {
    while (!query.empty()) {
      const size_t end = std::min(query.find('&'), query.size());
      const std::string_view one = query.substr(0, end);
      const size_t equals = std::min(one.find('='), one.size());
      request.query.emplace_back(std::string(one.substr(0, equals)),
                                 decoded(one.substr(std::min(equals + 1, one.size()))));
      query.remove_prefix(std::min(end + 1, query.size()));
    }
  }
  static std::string decoded(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '%' && i + 2 < text.size()) {
        out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
        i += 2;
      } else {
        out += text[i];
      }
    }
    return out;
  }

  FakeCluster& cluster_;
};

}  // namespace hookd::test
