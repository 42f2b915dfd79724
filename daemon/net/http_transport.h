// The seam for HTTP: one request, answered in pieces. CurlTransport is the real one (net/curl_transport.h);
// unit tests script one. Thread: loop only; callbacks come on the loop, never from inside start().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/scheduler.h"

namespace hookd::net {

// How to reach and check one server; shared by all requests of a kube client. Replace the whole when a file changed.
struct TlsOptions {
  std::string ca_pem;           // "" = the system's roots; else only these (k8s-client.md A10)
  std::string certificate_pem;  // client certificate, "" = none
  std::string key_pem;
  std::string server_name;  // SNI and name check; "" = the URL's host (A11)
  bool insecure = false;    // no check at all
};

// Each pool has connections of its own, so that watches never starve writes (R54), nor hooks the API.
enum class Pool { kWatch, kRest, kHook };

// A body that is made while it is sent: never held whole.
struct BodySource {
  uint64_t bytes = 0;  // of all pieces, exactly: it becomes Content-Length
  // Pieces from the front, in order, "" = end; opened anew if libcurl has to send the request a second time.
  std::function<std::function<std::string()>()> open{};
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};
  std::shared_ptr<const TlsOptions> tls{};  // null = defaults
  std::string proxy{};                      // URL; "" = from the environment
  Pool pool = Pool::kRest;
  bool accept_gzip = false;
  bool fresh_connection = false;  // do not reuse a pooled connection
  Duration connect_timeout = std::chrono::seconds(30);
  Duration total_timeout{0};  // 0 = none
  Duration idle_timeout{0};   // no byte for this long = Errc::kTimeout; 0 = none
  BodySource body_source{};   // instead of `body`
  // The receiver bears to get it twice: sent again when a pooled connection was lost before the first byte of an
  // answer.
  bool repeatable = false;
};

struct HttpHead {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;    // names in lower case
  std::string_view header(std::string_view lower_name) const;  // first of that name, "" if none
};

struct HttpHandlers {
  std::function<void(const HttpHead&)> on_head;
  std::function<bool(std::string_view)> on_data;  // false = end the transfer with Errc::kCancelled
  // Exactly once, last, unless the call was destroyed before. Errors: kTransport, kTls, kTimeout, kCancelled.
  std::function<void(Result<void>)> on_done;
};

// A request under way; destroying it ends the transfer and no callback comes any more.
class HttpCall {
 public:
  virtual ~HttpCall() = default;
};

class HttpTransport {
 public:
  virtual ~HttpTransport() = default;
  [[nodiscard]] virtual std::unique_ptr<HttpCall> start(HttpRequest request, HttpHandlers handlers) = 0;
};

}  // namespace hookd::net
