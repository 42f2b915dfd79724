// What became of one operation, and how an error of the API server is to be taken. Thread: any.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "apply/operation.h"
#include "base/error.h"

namespace hookd::apply {

struct Outcome {
  enum class Kind {
    kDone,
    kNotNeeded,  // the world is as wanted, or the object meant is no more; counts as success
    kRetry,      // may go well later without anybody changing the answer
    kRefused,    // the same operation will never go well
  };
  size_t index = 0;  // of the operation in the request
  Kind kind = Kind::kDone;
  bool unknown = false;  // with kRetry: it may have been carried out, the answer was lost (k8s-client.md A25)
  std::string text{};    // one line for the log: "deleted Pod a/b (uid …)"
  int http_status = 0;
  std::string reason{};            // of the server's Status
  std::string uid{};               // of the object written or deleted, "" = not known
  std::string resource_version{};  // after the write, "" = not known
  std::string object{};            // with Operation::keep_object: its text after the write, "" = not known
  // Did this write make that version? kNo: nothing changed, it is somebody else's. Of a deletion: did it (and not
  // somebody before) set the object going?
  enum class Made { kUnknown, kYes, kNo } made = Made::kUnknown;
  std::optional<std::chrono::milliseconds> retry_after{};
  std::string diff{};                       // dry run: what would change, a line a path
  std::optional<Duration> requeue_after{};  // Requeue
  std::optional<MetricSample> metric{};     // Metric

  bool ok() const { return kind == Kind::kDone || kind == Kind::kNotNeeded; }
};

std::string_view to_string(Outcome::Kind kind);  // "done", "not needed", "retry", "refused"

// What an error means for a write, by the text where the Status has no better sign.
bool is_field_conflict(const Error& error);         // server-side apply: others manage the fields (W5)
bool is_uid_mismatch(const Error& error);           // the precondition named another object (W8)
bool is_no_object(const Error& error);              // is_uid_mismatch(), as nothing has the name any more
bool is_version_mismatch(const Error& error);       // the precondition named another version
bool is_escalation(const Error& error);             // a role or binding would give rights that we do not have
bool is_namespace_terminating(const Error& error);  // W6
bool is_missing_namespace(const Error& error);
bool is_unserved_type(const Error& error);    // 404 of the path, not of the object (R46)
bool is_content_refusal(const Error& error);  // also the bare 500 of server-side apply (section 11)
bool is_unknown_outcome(const Error& error);  // of a request other than GET (A25)

// kRetry or kRefused for an error that no special rule took; http_status, reason and retry_after are filled in.
// `doing` says what was tried: "delete", "apply".
Outcome failed_outcome(const Operation& operation, std::string_view doing, const Error& error);

// A text as it stands in the error of a call, in Events and in `hookd status`: cut to kBriefBytes. The whole stands in
// the operation's own line of the log.
std::string brief(std::string_view text);
inline constexpr size_t kBriefBytes = 300;

}  // namespace hookd::apply
