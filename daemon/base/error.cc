#include "base/error.h"

namespace hookd {

std::string_view to_string(Errc code) {
  switch (code) {
    case Errc::kCancelled:
      return "cancelled";
    case Errc::kTimeout:
      return "timeout";
    case Errc::kTransport:
      return "transport";
    case Errc::kTls:
      return "tls";
    case Errc::kUnauthorized:
      return "unauthorized";
    case Errc::kForbidden:
      return "forbidden";
    case Errc::kNotFound:
      return "not_found";
    case Errc::kConflict:
      return "conflict";
    case Errc::kExists:
      return "exists";
    case Errc::kGone:
      return "gone";
    case Errc::kThrottled:
      return "throttled";
    case Errc::kUnavailable:
      return "unavailable";
    case Errc::kInvalid:
      return "invalid";
    case Errc::kDecode:
      return "decode";
    case Errc::kConfig:
      return "config";
    case Errc::kHookFailed:
      return "hook_failed";
    case Errc::kTooLarge:
      return "too_large";
    case Errc::kInternal:
      return "internal";
  }
  return "unknown";
}

Error Error::with(std::string_view context) const {
  Error copy = *this;
  copy.what = std::string(context) + ": " + what;
  return copy;
}

bool Error::retryable() const {
  switch (code) {
    case Errc::kTimeout:
    case Errc::kTransport:
    case Errc::kTls:
    case Errc::kUnauthorized:  // the credential may be refreshed
    case Errc::kForbidden:     // rights may be granted
    case Errc::kConflict:
    case Errc::kGone:
    case Errc::kThrottled:
    case Errc::kUnavailable:
    case Errc::kDecode:
      return true;
    default:
      return false;
  }
}

}  // namespace hookd
