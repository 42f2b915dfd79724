// JSON as a client sent it ─► JSON as the server would print it: what Go's typed decoding and encoding do to a built-in
// kind's object. Thread: any.
// Source: API docs "Field validation" (KEP-2885); Go's encoding/json rules (omitempty, null, case of names); the JSON
// forms of Quantity, IntOrString, Time.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/schema/schema.h"
#include "embedded/wire/status.h"

namespace hookd::embedded {

struct DecodeReport {
  // `unknown field "spec.containers[0].foo"`, in the order in which they stand: warnings, or errors of
  // fieldValidation=Strict.
  std::vector<std::string> unknown;
};

// Drops unknown fields, nulls and what is not printed when empty; adds what is always printed (status: {}); makes
// quantities and times canonical. Errors: the text of Go's decoder, `json: cannot unmarshal string into Go struct field
// PodSpec.spec.nodeSelector of type map[string]string`; `object` is then half done.
std::expected<DecodeReport, std::string> decode(json::object& object, const Schema& schema);

// The same for a request's body. Errors: 400 `Pod in version "v1" cannot be handled as a Pod: json: ...`.
Answer<DecodeReport> normalise(json::object& object, const Schema& schema);

// Only the printing: drops what is empty, adds what is always printed. For objects that defaults and strategies
// changed. Does nothing to a CRD's object.
void complete(json::object& object, const Schema& schema);
// The same but for [] where null would be printed, which only storing makes null: whoever sends it owns the field.
void complete_decoded(json::object& object, const Schema& schema);

// `duplicate field "spec.containers[0].name"` for each key that stands twice in one object of a JSON text, in order; at
// most `most`. Nothing if the text is not JSON.
std::vector<std::string> duplicate_fields(std::string_view text, size_t most = 100);

}  // namespace hookd::embedded
