// What can go wrong, as a value. Thread: any.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace hookd {

// Only what code reacts to; everything finer goes into `what`.
enum class Errc {
  kCancelled,     // the caller stopped it
  kTimeout,       // no answer in time; the outcome of a write is unknown
  kTransport,     // connection refused, reset, cut, name not found
  kTls,           // certificate or handshake
  kUnauthorized,  // 401
  kForbidden,     // 403
  kNotFound,      // 404
  kConflict,      // 409 Conflict
  kExists,        // 409 AlreadyExists
  kGone,          // 410 Gone or Expired
  kThrottled,     // 429
  kUnavailable,   // 5xx that may pass
  kInvalid,       // refused for its content: 400, 405, 406, 413, 415, 422, and 500 about the content
  kDecode,        // bytes that are not what they should be
  kConfig,        // a file that a person wrote
  kHookFailed,    // the hook's process
  kTooLarge,      // a bound of ours was crossed
  kInternal,      // ours
};

std::string_view to_string(Errc code);

struct Error {
  Errc code = Errc::kInternal;
  std::string what;                                      // for people: what, where, what to do
  int http_status = 0;                                   // 0 = no HTTP answer
  std::string reason;                                    // `reason` of a Kubernetes Status, "" = none
  std::optional<std::chrono::milliseconds> retry_after;  // the server's Retry-After

  // The same error with `context` put before its text: "context: what".
  Error with(std::string_view context) const;

  // May the same request succeed later without anybody changing anything? (k8s-client.md W16)
  bool retryable() const;
};

}  // namespace hookd
