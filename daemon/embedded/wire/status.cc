#include "embedded/wire/status.h"

#include <fmt/format.h>

#include <cstdint>

#include "embedded/wire/json_text.h"

namespace hookd::embedded {
namespace {

std::string qualified(const About& about) {
  return about.group.empty() ? about.resource : about.resource + "." + about.group;
}

// "kind" of details holds the plural, as in the real server.
json::object details_of(const About& about) {
  json::object details;
  if (!about.name.empty()) details["name"] = about.name;
  if (!about.group.empty()) details["group"] = about.group;
  details["kind"] = about.resource;
  if (!about.uid.empty()) details["uid"] = about.uid;
  return details;
}

}  // namespace

json::object to_status(const StatusError& error) {
  json::object status;
  status["kind"] = "Status";
  status["apiVersion"] = "v1";
  status["metadata"] = json::object{};
  if (!error.continue_token.empty()) status["metadata"].as_object()["continue"] = error.continue_token;
  status["status"] = "Failure";
  if (!error.message.empty()) status["message"] = error.message;
  if (!error.reason.empty()) status["reason"] = error.reason;
  if (!error.details.empty() || error.empty_details) status["details"] = error.details;
  status["code"] = error.code;
  return status;
}

StatusError bad_request(std::string message) { return {400, "BadRequest", std::move(message)}; }

StatusError unauthorized() { return {401, "Unauthorized", "Unauthorized"}; }

StatusError forbidden(const About& about, std::string_view why) {
  if (about.resource.empty() && about.group.empty())
    return {403, "Forbidden", fmt::format("forbidden: {}", why), {}, true};
  auto message = about.name.empty()
                     ? fmt::format("{} is forbidden: {}", qualified(about), why)
                     : fmt::format("{} {} is forbidden: {}", qualified(about), go_quote(about.name), why);
  return {403, "Forbidden", std::move(message), details_of(about)};
}

StatusError not_found(const About& about) {
  return {404, "NotFound", fmt::format("{} {} not found", qualified(about), go_quote(about.name)), details_of(about)};
}

StatusError path_not_found() { return {404, "NotFound", "the server could not find the requested resource", {}, true}; }

StatusError method_not_allowed() {
  return {405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {}, true};
}

StatusError method_not_allowed(const About& about, std::string_view verb) {
  auto bare = about;
  bare.name.clear();
  bare.uid.clear();
  return {405, "MethodNotAllowed",
          fmt::format("{} is not supported on resources of kind {}", verb, go_quote(qualified(about))),
          details_of(bare)};
}

StatusError not_acceptable(std::string_view accepted) {
  return {406, "NotAcceptable", fmt::format("only the following media types are accepted: {}", accepted)};
}

StatusError already_exists(const About& about) {
  return {409, "AlreadyExists", fmt::format("{} {} already exists", qualified(about), go_quote(about.name)),
          details_of(about)};
}

StatusError generate_name_conflict(const About& about) {
  auto error = already_exists(about);
  error.message += ", the server was not able to generate a unique name for the object";
  error.details["retryAfterSeconds"] = 1;
  return error;
}

StatusError conflict(const About& about, std::string_view why) {
  return {409, "Conflict",
          fmt::format("Operation cannot be fulfilled on {} {}: {}", qualified(about), go_quote(about.name), why),
          details_of(about)};
}

StatusError expired(std::string message) { return {410, "Expired", std::move(message)}; }

StatusError too_large(std::string message) {
  return {413, "RequestEntityTooLarge", "Request entity too large: " + message};
}

StatusError unsupported_media_type(std::string message) { return {415, "UnsupportedMediaType", std::move(message)}; }

StatusError too_many_requests(std::string message, int retry_after_seconds) {
  StatusError error{429, "TooManyRequests", std::move(message), {}, true};
  if (retry_after_seconds > 0) error.details["retryAfterSeconds"] = retry_after_seconds;
  return error;
}

StatusError internal_error(std::string message) {
  StatusError error{500, "InternalError", "Internal error occurred: " + message};
  error.details["causes"] = json::array{json::object{{"message", std::move(message)}}};
  return error;
}

StatusError plain_error(int code, std::string message) { return {code, "", std::move(message)}; }

StatusError timeout(const About& about, std::string_view verb) {
  return {504, "Timeout",
          fmt::format("Timeout: the {} of {} did not complete within the allotted timeout", verb, qualified(about)),
          details_of(about)};
}

StatusError too_large_resource_version(uint64_t wanted, uint64_t current) {
  StatusError error{504, "Timeout",
                    fmt::format("Timeout: Too large resource version: {}, current: {}", wanted, current)};
  error.details["causes"] =
      json::array{json::object{{"reason", "ResourceVersionTooLarge"}, {"message", "Too large resource version"}}};
  error.details["retryAfterSeconds"] = 1;
  return error;
}

StatusError invalid(const About& about, const FieldErrors& errors) {
  StatusError error{422, "Invalid", {}};
  const auto kind =
      about.group.empty() || about.kind.find('.') != std::string::npos ? about.kind : about.kind + "." + about.group;
  const auto dot = kind.find('.');
  if (!about.name.empty()) error.details["name"] = about.name;
  if (dot != std::string::npos) error.details["group"] = kind.substr(dot + 1);
  if (!kind.empty()) error.details["kind"] = kind.substr(0, dot);
  json::array causes;
  std::vector<std::string> texts;
  for (const auto& one : errors) {
    static constexpr std::string_view kReasons[] = {
        "FieldValueRequired",  "FieldValueInvalid", "FieldValueDuplicate", "FieldValueNotSupported",
        "FieldValueForbidden", "FieldValueTooLong", "FieldValueTooMany",   "FieldValueTypeInvalid",
        "FieldValueNotFound",  "InternalError",     "FieldValueTooShort",  "FieldValueTooFew"};
    causes.push_back(json::object{
        {"reason", kReasons[static_cast<size_t>(one.type)]}, {"message", one.body()}, {"field", one.field}});
    auto text = one.text();  // told once, though each has its cause
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  if (!causes.empty()) error.details["causes"] = std::move(causes);
  error.message = fmt::format("{} {} is invalid", kind, go_quote(about.name));
  if (texts.size() == 1)
    error.message += ": " + texts.front();
  else if (!texts.empty())
    error.message += fmt::format(": [{}]", fmt::join(texts, ", "));
  return error;
}

std::string FieldError::body() const {
  static constexpr std::string_view kTexts[] = {
      "Required value", "Invalid value", "Duplicate value", "Unsupported value", "Forbidden", "Too long",
      "Too many",       "Invalid value", "Not found",       "Internal error",    "Too short", "Too few"};
  std::string text(kTexts[static_cast<size_t>(type)]);
  switch (type) {
    case Type::kRequired:
    case Type::kForbidden:
    case Type::kTooLong:
    case Type::kTooShort:
    case Type::kInternal:
      break;
    default:
      text += ": ";
      text += bad_value.is_string() ? go_quote(bad_value.get_string()) : to_text(bad_value);
  }
  if (!supported.empty()) {
    text += ": supported values: ";
    for (size_t i = 0; i < supported.size(); ++i) text += (i ? ", " : "") + go_quote(supported[i]);
  }
  if (!detail.empty()) text += ": " + detail;
  return text;
}

std::string FieldError::text() const { return field + ": " + body(); }

std::string go_quote(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\a':
        out += "\\a";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\v':
        out += "\\v";
        break;
      default:
        if (c < 0x20 || c == 0x7f)
          out += fmt::format("\\x{:02x}", c);
        else
          out += static_cast<char>(c);
    }
  }
  return out + "\"";
}

}  // namespace hookd::embedded
