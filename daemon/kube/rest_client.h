// The real Api: requests over a HttpTransport to the server of a kubeconfig. Thread: loop only.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "base/scheduler.h"
#include "base/token_bucket.h"
#include "kube/client.h"
#include "kube/credentials.h"
#include "kube/kubeconfig.h"
#include "net/http_transport.h"

namespace hookd::kube {

// Our own limit on what we ask of the server (R58). It holds for requests of Pool::kRest, their retries too; streams
// are free. What is over it waits, in order; `total_timeout` begins when the request is sent.
struct RateLimit {
  double qps = 50;  // requests a second in the long run; 0 = no limit
  int burst = 100;  // requests at once after a quiet time
};

class RestClient final : public Api {
 public:
  // All must outlive the client, and the client its calls. `config` gives address, proxy and gzip; credentials are
  // asked anew for each request.
  RestClient(net::HttpTransport& transport, Credentials& credentials, const ConnectionConfig& config,
             Scheduler& scheduler, RateLimit limit = {});

  std::unique_ptr<ApiCall> request(ApiRequest request, ApiCallback callback) override;
  std::unique_ptr<ApiCall> stream(ApiRequest request, StreamHandlers handlers) override;

  const std::string& server() const { return base_url_; }
  size_t waiting() const { return waiting_.size(); }  // requests held back by the rate limit

  static constexpr int kMaxTries = 11;  // client-go: 1 + 10
  static constexpr size_t kMaxAnswerBytes = 64u << 20;
  static constexpr size_t kMaxErrorBytes = 64u << 10;  // of an error's body; the rest is not read

 private:
  class Call;
  friend class Call;
  net::HttpRequest to_http(const ApiRequest& request) const;
  void admit(Call& call);
  void arm();
  void release();

  net::HttpTransport& transport_;
  Credentials& credentials_;
  Scheduler& scheduler_;
  std::string base_url_;
  std::string proxy_;
  bool gzip_;
  TokenBucket bucket_;
  std::list<Call*> waiting_;
  Timer timer_;
};

// "a b/c" -> "a%20b%2Fc" (RFC 3986 unreserved characters stay).
std::string percent_encode(std::string_view text);

}  // namespace hookd::kube
