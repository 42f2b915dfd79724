#include "kube/status.h"

#include <charconv>

#include "base/json_field.h"
#include "base/json_read.h"

namespace hookd::kube {
namespace {

constexpr size_t kMaxText = 2048;
constexpr std::string_view kTooLargeWords = "Too large resource version";

// R29: by reason first, by code only when the reason says nothing; 429 and 413 by code alone.
Errc code_of(int http_status, std::string_view reason, std::string_view method) {
  static constexpr std::pair<std::string_view, Errc> kReasons[] = {{"Unauthorized", Errc::kUnauthorized},
                                                                   {"Forbidden", Errc::kForbidden},
                                                                   {"NotFound", Errc::kNotFound},
                                                                   {"AlreadyExists", Errc::kExists},
                                                                   {"Conflict", Errc::kConflict},
                                                                   {"Gone", Errc::kGone},
                                                                   {"Expired", Errc::kGone},
                                                                   {"Invalid", Errc::kInvalid},
                                                                   {"BadRequest", Errc::kInvalid},
                                                                   {"MethodNotAllowed", Errc::kInvalid},
                                                                   {"NotAcceptable", Errc::kInvalid},
                                                                   {"RequestEntityTooLarge", Errc::kInvalid},
                                                                   {"UnsupportedMediaType", Errc::kInvalid},
                                                                   {"TooManyRequests", Errc::kThrottled},
                                                                   {"Timeout", Errc::kTimeout},
                                                                   {"ServerTimeout", Errc::kUnavailable},
                                                                   {"ServiceUnavailable", Errc::kUnavailable},
                                                                   {"InternalError", Errc::kUnavailable},
                                                                   {"StorageReadError", Errc::kUnavailable}};
  if (http_status == 429) return Errc::kThrottled;
  if (http_status == 413) return Errc::kInvalid;
  for (const auto& [name, code] : kReasons)
    if (name == reason) return code;
  switch (http_status) {
    case 401:
      return Errc::kUnauthorized;
    case 403:
      return Errc::kForbidden;
    case 404:
      return Errc::kNotFound;
    case 409:
      return method == "POST" ? Errc::kExists : Errc::kConflict;
    case 410:
      return Errc::kGone;
    case 429:
      return Errc::kThrottled;
    case 504:
      return Errc::kTimeout;
    default:
      return http_status >= 500 ? Errc::kUnavailable : http_status >= 400 ? Errc::kInvalid : Errc::kDecode;
  }
}

constexpr int64_t kMaxRetryAfterSeconds = 86'400;  // more is a mistake of somebody between us and the server

// Whole seconds only: a date is not taken (R34).
std::optional<std::chrono::milliseconds> seconds_of(std::string_view text) {
  int64_t seconds = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || seconds < 0) return std::nullopt;
  return std::chrono::seconds(std::min(seconds, kMaxRetryAfterSeconds));
}

// A refusal for the content can come as a bare 500 (section 11): no reason, and a message about fields or types.
bool speaks_of_content(std::string_view message) {
  static constexpr std::string_view kSigns[] = {"failed to create typed patch object",
                                                "failed to convert new object",
                                                ".spec.",
                                                "field not declared in schema",
                                                "duplicate entries for key",
                                                "expected string, got",
                                                "expected map, got",
                                                "expected list, got",
                                                "expected numeric",
                                                "errors:\n",
                                                "cannot unmarshal"};
  return std::ranges::any_of(kSigns,
                             [&](std::string_view sign) { return message.find(sign) != std::string_view::npos; });
}

}  // namespace

Error error_from_answer(int http_status, std::string_view body, std::string_view retry_after, std::string_view method) {
  Error error;
  error.http_status = http_status;
  error.retry_after = seconds_of(retry_after);
  const auto parsed = body.size() <= (1u << 20) ? parse_json(body) : fail(Errc::kDecode, "too long");
  const auto* status = parsed && parsed->is_object() ? &parsed->get_object() : nullptr;
  if (!status || text_field(*status, "kind") != "Status") {
    while (!body.empty() && (body.back() == '\n' || body.back() == ' ')) body.remove_suffix(1);
    error.code = code_of(http_status, {}, method);
    error.what = fmt::format("HTTP {}{}{}", http_status, body.empty() ? "" : ": ", body.substr(0, kMaxText));
    return error;
  }
  error.reason = text_field(*status, "reason");
  if (http_status == 0 || http_status / 100 == 2) {
    if (const auto* code = status->if_contains("code"); code && code->is_int64())
      error.http_status = static_cast<int>(code->get_int64());
  }
  error.code = code_of(error.http_status, error.reason, method);
  error.what = text_field(*status, "message").substr(0, kMaxText);
  if (error.what.empty()) error.what = fmt::format("HTTP {} {}", error.http_status, error.reason);
  const bool told_to_wait = error.retry_after.has_value();
  if (const auto* details = status->if_contains("details"); details && details->is_object()) {
    const auto& object = details->get_object();
    if (const auto* seconds = object.if_contains("retryAfterSeconds");
        seconds && seconds->is_int64() && seconds->get_int64() > 0 && !error.retry_after)
      error.retry_after = std::chrono::seconds(std::min(seconds->get_int64(), kMaxRetryAfterSeconds));
    if (const auto* causes = object.if_contains("causes"); causes && causes->is_array()) {
      for (const auto& cause : causes->get_array()) {
        if (!cause.is_object()) continue;
        const std::string reason = text_field(cause.get_object(), "reason");
        // These say more than the Status's own reason, and callers act on them.
        if (reason == "ResourceVersionTooLarge" || reason == "FieldManagerConflict" ||
            reason == "NamespaceTerminating" || reason == "DisruptionBudget")
          error.reason = reason;
        // Servers before 1.18.6 say it in words only (R30).
        if (error.http_status == 504 &&
            text_field(cause.get_object(), "message").find(kTooLargeWords) != std::string::npos)
          error.reason = "ResourceVersionTooLarge";
      }
    }
  }
  if (error.http_status == 500 && error.reason.empty() && !told_to_wait && speaks_of_content(error.what))
    error.code = Errc::kInvalid;
  return error;
}

Error error_from_status(std::string_view status_json, std::string_view method) {
  Error error = error_from_answer(0, status_json, {}, method);
  if (error.code == Errc::kDecode) error.code = Errc::kUnavailable;
  return error;
}

bool is_failed_status(std::string_view body) {
  // Cheap first: nearly no answer is a Status.
  if (body.size() > (1u << 16) || body.find("\"Status\"") == std::string_view::npos) return false;
  if (json_string_at(body, {"kind"}) != "Status") return false;
  // A custom resource may be named Status too.
  const auto api_version = json_string_at(body, {"apiVersion"});
  if (api_version && *api_version != "v1" && *api_version != "meta.k8s.io/v1") return false;
  return json_string_at(body, {"status"}) != "Success";
}

bool is_resource_version_too_large(const Error& error) {
  return error.reason == "ResourceVersionTooLarge" ||
         (error.http_status == 504 && error.what.find(kTooLargeWords) != std::string::npos);
}

}  // namespace hookd::kube
