// The query parameters (and for deletes the body) of each verb, checked as the real server does. Thread: any.
// Source: API reference "ListOptions", "CreateOptions", "UpdateOptions", "PatchOptions", "DeleteOptions".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "embedded/wire/request.h"
#include "embedded/wire/selector.h"

namespace hookd::embedded {

struct ListOptions {
  LabelQuery labels;
  FieldSelector fields;
  bool watch = false;
  bool bookmarks = false;
  std::optional<bool> send_initial_events;
  std::string resource_version, resource_version_match, continue_token;
  int64_t limit = 0;  // 0 = none
  std::optional<int64_t> timeout_seconds;
};
// Errors: 400 what cannot be read, 422 what does not go together.
Answer<ListOptions> list_options(const Request& request, bool watch);

enum class FieldValidation { kIgnore, kWarn, kStrict };

struct WriteOptions {
  bool dry_run = false;
  std::string field_manager;  // "" = from the user agent
  FieldValidation validation = FieldValidation::kWarn;
  std::optional<bool> force;
};
enum class WriteKind { kCreate, kUpdate, kPatch, kApply };
Answer<WriteOptions> write_options(const Request& request, WriteKind kind);

struct DeleteOptions {
  std::optional<int64_t> grace_period_seconds;
  std::optional<std::string> uid, resource_version;  // preconditions
  std::optional<bool> orphan_dependents;
  std::string propagation;  // "" | Background | Foreground | Orphan
  bool dry_run = false;
};
// From `body` (a decoded DeleteOptions) if it is there, else from the query.
Answer<DeleteOptions> delete_options(const Request& request, const json::object* body);

// "name/1.2 (linux)" -> "name"; at most 128 printable characters.
std::string manager_of_user_agent(std::string_view user_agent);

// Strings of Go's strconv: errors as `strconv.ParseInt: parsing "x": invalid syntax`.
std::expected<int64_t, std::string> go_parse_int(std::string_view text);
std::expected<uint64_t, std::string> go_parse_uint(std::string_view text);

}  // namespace hookd::embedded
