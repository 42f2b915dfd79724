// An object of a built-in kind from protobuf ─► the JSON that a client would have sent. Thread: any.
// Source: field numbers of Kubernetes 1.36 (builtin.api); the protobuf forms of Quantity, Time, IntOrString,
// RawExtension and the like. Only decoding: answers are JSON.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "embedded/schema/protobuf_wire.h"
#include "embedded/schema/schema.h"

namespace hookd::embedded {

// Messages nested deeper are refused.
inline constexpr int kMaxProtobufDepth = 64;

// `raw` of an envelope by the schema of its kind. Fields that the schema does not have are skipped, as the real server
// does: field validation knows nothing of them. Go's protobuf does not tell absent from zero where a field is no
// pointer: zeros stay here, and decode() drops what is not printed when empty. Text that is not UTF-8 gets U+FFFD.
// Errors: the text of the real server's decoder, "unexpected EOF", `proto: wrong wireType = 0 for field Name`.
std::expected<json::object, std::string> decode_protobuf(std::string_view raw, const Schema& schema);

}  // namespace hookd::embedded
