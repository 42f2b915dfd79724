// Who owns which field: managedFields on every write, and server-side apply. Thread: any.
// Source: API docs "Server-Side Apply", KEP-555; FieldsV1 format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/scheduler.h"
#include "embedded/schema/schema.h"
#include "embedded/wire/status.h"

namespace hookd::embedded {

struct Writer {
  std::string manager;      // field manager; "" becomes "unknown"
  std::string api_version;  // of the request
  // "" | "status" | "scale" | ...; for scale the objects are those of the scaled kind, which hold the replicas.
  std::string subresource;
  WallTime now{};
  std::string kind{};  // of the request, for messages of apply
  // The kind's served API versions; entries of others vanish. Empty = every version is known.
  std::vector<std::string> served_versions{};
  // If not empty: this writer owns nothing but these paths. FieldsV1, {} = all below, "*" = any element:
  // {"f:spec":{"f:containers":{"*":{"f:resources":{}}}}} for pods/resize.
  json::object only_fields{};
};

// Call it once the new object is decoded and has its defaults, before the strategy prepares it and admission changes it
// (what these set, such as a Service's clusterIP or a ServiceAccount's volume, has no owner).
// `live` is the object as it was, {} when it is created; `next` what the client wants (its managedFields are what the
// client sent). Sets next.metadata.managedFields: the writer owns (operation Update) what it changed; what others owned
// and this write changed or removed is taken from them. A client that sends an empty managedFields list ([] or [{}])
// resets them; from then on nothing is tracked until the next apply. `reset_fields` (FieldsV1) are never owned by this
// writer: status when the main resource is written, everything but status for the status subresource.
// Never fails: an object that does not fit its schema loses its managedFields, as in the real server.
void update_managed_fields(const json::object& live, json::object& next, const Schema& schema, const Writer& writer,
                           const json::object& reset_fields);

// Server-side apply: `config` is the decoded patch as it was sent (no defaults; nulls and unknown fields stay), `live`
// the current object, or {} to create (then `live` may also hold apiVersion and kind).
// Result: the merged object with managedFields set, without defaults for new fields and with the config's nulls and
// quantities as they were written: decode() or pruning and defaults come next, then prepare and validate.
// Errors: 409 Conflict with causes FieldManagerConflict (`Apply failed with 1 conflict: conflict with "x" using
// apps/v1: .spec.replicas`); 400 for a config of another kind or version and for one with managedFields; 500 without a
// reason for wrong types, unknown fields and duplicate keys of a list-map, as the real server answers them.
Answer<json::object> apply_patch(const json::object& live, const json::object& config, const Schema& schema,
                                 const Writer& writer, bool force, const json::object& reset_fields);

// Last before a write is stored (after prepare and validate): if `next` differs from `live` only in the times of
// managedFields, they go back to what they were, and the write is none.
void keep_managed_times_if_unchanged(const json::object& live, json::object& next);

}  // namespace hookd::embedded
