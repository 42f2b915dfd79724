// Status errors with the code, reason, message and details of the real API server. Thread: any.
// Source: API conventions "Response Status Kind"; apimachinery api/errors and util/validation/field.
#pragma once

#include <boost/json.hpp>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace hookd::embedded {

namespace json = boost::json;

struct StatusError {
  int code = 500;
  std::string reason;  // "NotFound"
  std::string message;
  json::object details{};        // {} = none
  bool empty_details = false;    // "details":{} is shown though nothing is in it
  std::string continue_token{};  // metadata.continue: how to go on with a list that has expired
};

template <class T>
using Answer = std::expected<T, StatusError>;
using Refusal = std::unexpected<StatusError>;
inline Refusal refuse(StatusError error) { return Refusal(std::move(error)); }

// {"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",...}
json::object to_status(const StatusError& error);

// Text in quotes, escaped as Go's %q does.
std::string go_quote(std::string_view text);

// Which object an error is about. `resource` is the plural, `kind` the Kind.
struct About {
  std::string group;
  std::string resource;
  std::string kind;
  std::string name;
  std::string uid{};
};

StatusError bad_request(std::string message);                     // 400 BadRequest
StatusError unauthorized();                                       // 401 Unauthorized
StatusError forbidden(const About& about, std::string_view why);  // 403: pods "x" is forbidden: why
StatusError not_found(const About& about);                        // 404: pods "x" not found
StatusError path_not_found();      // 404: "the server could not find the requested resource"
StatusError method_not_allowed();  // 405: on this path, whatever is there
StatusError method_not_allowed(const About& about, std::string_view verb);  // 405: of a kind that cannot do it
StatusError not_acceptable(std::string_view accepted);                      // 406
StatusError already_exists(const About& about);                             // 409 AlreadyExists
StatusError conflict(const About& about, std::string_view why);  // 409 Conflict: Operation cannot be fulfilled on ...
StatusError expired(std::string message);                        // 410 Expired
StatusError too_large(std::string message);                      // 413 RequestEntityTooLarge
StatusError generate_name_conflict(const About& about);          // 409 AlreadyExists, of a name made by the server
StatusError too_large_resource_version(uint64_t wanted, uint64_t current);  // 504 Timeout
StatusError plain_error(int code, std::string message);   // an error that the real server gives no reason
StatusError unsupported_media_type(std::string message);  // 415 UnsupportedMediaType
StatusError too_many_requests(std::string message, int retry_after_seconds);  // 429 TooManyRequests
StatusError internal_error(std::string message);                              // 500 InternalError
StatusError timeout(const About& about, std::string_view verb);               // 504 Timeout

// One thing that is wrong in an object.
struct FieldError {
  enum class Type {
    kRequired,
    kInvalid,
    kDuplicate,
    kNotSupported,
    kForbidden,
    kTooLong,
    kTooMany,
    kTypeInvalid,
    kNotFound,
    kInternal,
    kTooShort,
    kTooFew
  };
  Type type = Type::kInvalid;
  std::string field;                     // "spec.containers[0].name"
  std::string detail;                    // after the body, "" = none
  json::value bad_value{};               // as it is shown; kRequired, kForbidden show none
  std::vector<std::string> supported{};  // kNotSupported
  // `spec.x: Invalid value: "v": detail`
  std::string text() const;
  std::string body() const;  // the same without the field: message of a cause
};
using FieldErrors = std::vector<FieldError>;

// 422 Invalid: `Pod "x" is invalid: ...`, one cause a field error. `about.kind` may carry the group
// ("Deployment.apps").
StatusError invalid(const About& about, const FieldErrors& errors);

}  // namespace hookd::embedded
