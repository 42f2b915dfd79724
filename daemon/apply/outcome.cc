#include "apply/outcome.h"

#include <algorithm>
#include <initializer_list>

namespace hookd::apply {
namespace {

bool has_any(std::string_view text, std::initializer_list<std::string_view> phrases) {
  return std::ranges::any_of(phrases,
                             [&](std::string_view phrase) { return text.find(phrase) != std::string_view::npos; });
}

}  // namespace

std::string_view to_string(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::kDone:
      return "done";
    case Outcome::Kind::kNotNeeded:
      return "not needed";
    case Outcome::Kind::kRetry:
      return "retry";
    case Outcome::Kind::kRefused:
      return "refused";
  }
  return "?";
}

bool is_field_conflict(const Error& error) {
  return error.reason == "FieldManagerConflict" ||
         (error.code == Errc::kConflict &&
          has_any(error.what, {"Apply failed with", "conflict with \"", "conflicts with \""}));
}

bool is_uid_mismatch(const Error& error) {
  // The registry's text, the storage layer's, that of an update with another metadata.uid, and that of an apply where
  // nothing is.
  return (error.http_status == 409 || error.http_status == 422) &&
         has_any(error.what, {"UID in the precondition", "UID in precondition", "metadata.uid:", "uid mismatch:"});
}

// The storage layer compares with an object without uid where there is none.
bool is_no_object(const Error& error) {
  if (!is_uid_mismatch(error)) return false;
  std::string_view text = error.what;
  while (text.ends_with(' ') || text.ends_with('\n')) text.remove_suffix(1);
  return text.ends_with("UID in object meta:") || has_any(text, {"no existing object was found"});
}

bool is_version_mismatch(const Error& error) {
  return error.http_status == 409 &&
         has_any(error.what, {"ResourceVersion in the precondition", "ResourceVersion in precondition",
                              "object has been modified"});
}

// Source: rbac.authorization.k8s.io, "Privilege escalation prevention and bootstrapping".
bool is_escalation(const Error& error) {
  return error.code == Errc::kForbidden &&
         has_any(error.what, {"attempting to grant RBAC permissions not currently held"});
}

bool is_namespace_terminating(const Error& error) {
  return error.reason == "NamespaceTerminating" ||
         (error.code == Errc::kForbidden && has_any(error.what, {"because it is being terminated"}));
}

bool is_missing_namespace(const Error& error) {
  return error.code == Errc::kNotFound && has_any(error.what, {"namespaces \""});
}

bool is_unserved_type(const Error& error) {
  return error.code == Errc::kNotFound &&
         has_any(error.what, {"page not found", "could not find the requested resource"});
}

bool is_content_refusal(const Error& error) {
  if (error.code == Errc::kInvalid) return true;
  if (error.http_status != 500 || !error.reason.empty() || error.retry_after) return false;
  return has_any(error.what, {"typed patch object", "typed live object", "field not declared in schema",
                              "duplicate entries for key", "cannot unmarshal", "unable to decode", "error decoding",
                              "unrecognized type", "expected map, got", "expected list, got", "expected string, got",
                              "expected numeric", "expected boolean"});
}

bool is_unknown_outcome(const Error& error) {
  if (error.code == Errc::kTransport || error.code == Errc::kTimeout) return true;
  return error.http_status >= 500 && !error.retry_after && !is_content_refusal(error);
}

std::string brief(std::string_view text) {
  if (text.size() <= kBriefBytes) return std::string(text);
  size_t end = kBriefBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // no half of a character
  return fmt::format("{}… ({} bytes more, in the log)", text.substr(0, end), text.size() - end);
}

Outcome failed_outcome(const Operation& operation, std::string_view doing, const Error& error) {
  Outcome outcome;
  outcome.http_status = error.http_status;
  outcome.reason = error.reason;
  outcome.retry_after = error.retry_after;
  const std::string subject = operation.display();
  const auto refused = [&](std::string_view hint) {
    outcome.kind = Outcome::Kind::kRefused;
    outcome.text = fmt::format("{}: {} refused: {}{}", subject, doing, error.what, hint);
  };
  if (is_content_refusal(error)) {
    if (error.http_status == 415 && operation.verb == Verb::kStrategicMergePatch)
      refused(" (strategic merge is for built-in kinds only; use MergePatch or Apply for custom resources)");
    else
      refused("");
  } else if (is_namespace_terminating(error)) {
    refused(" (the namespace is being deleted)");
  } else if (error.code == Errc::kNotFound && !is_unserved_type(error) && !is_missing_namespace(error)) {
    refused("");
  } else if (error.code == Errc::kNotFound || error.code == Errc::kCancelled || error.retryable()) {
    outcome.kind = Outcome::Kind::kRetry;
    outcome.unknown = is_unknown_outcome(error);
    // The hint first: the server goes on with every right, for kilobytes.
    outcome.text =
        fmt::format("{}: {} failed{}, to be tried again: {}{}", subject, doing,
                    outcome.unknown ? " (it may have happened all the same)" : "",
                    is_escalation(error) ? "the daemon may give only rights that it has itself: give it these, "
                                           "or the verbs `escalate` (roles) and `bind` (bindings): "
                                         : "",
                    error.what);
  } else {
    refused("");
  }
  return outcome;
}

}  // namespace hookd::apply
