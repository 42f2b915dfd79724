// Requests to one API server: address, credentials, retries, and Status answers as Errors. Thread: loop only.
// Source: k8s-client.md A (connection), A24-A25 and the table before them (retries), W11, W14, W15 (Status, warnings).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "net/http_transport.h"

namespace hookd::kube {

struct ApiRequest {
  std::string method = "GET";
  std::string path;                                        // "/api/v1/pods"; path segments already valid in a URL
  std::vector<std::pair<std::string, std::string>> query;  // values are percent-encoded by the client
  std::string content_type;                                // of the body
  std::string accept = "application/json";
  std::string body;
  net::Pool pool = net::Pool::kRest;
  Duration total_timeout = std::chrono::seconds(60);
  Duration idle_timeout{0};
  bool accept_gzip = false;
  bool retry = true;  // by the rules of the table "REST retry rules"; false: one try
  bool fresh_connection = false;
  std::string if_none_match{};  // an ApiResponse::etag of before; then 304 without a body is a response, not an error
};

struct ApiResponse {
  int status = 0;
  std::string body;
  std::string content_type;
  std::vector<std::string> warnings;  // texts of the Warning headers
  std::string etag{};
};

using ApiCallback = std::function<void(Result<ApiResponse>)>;

// A request or stream under way; destroying it stops it silently.
class ApiCall {
 public:
  virtual ~ApiCall() = default;
};

struct StreamHandlers {
  std::function<void(const net::HttpHead&)> on_head;  // only for a 200
  std::function<bool(std::string_view)> on_data;
  std::function<void(Result<void>)> on_done;  // once, last; not 200 = the decoded Error
};

// The seam that apply, discovery and the reflector use; tests script it. Callbacks come on the loop, never from inside
// request() or stream(); each of them may destroy its own ApiCall.
class Api {
 public:
  virtual ~Api() = default;
  // 2xx whose body is no failed Status = a response; everything else = an Error with http_status and reason.
  [[nodiscard]] virtual std::unique_ptr<ApiCall> request(ApiRequest request, ApiCallback callback) = 0;
  // The body in pieces as it comes; one try, no retry.
  [[nodiscard]] virtual std::unique_ptr<ApiCall> stream(ApiRequest request, StreamHandlers handlers) = 0;
};

}  // namespace hookd::kube
