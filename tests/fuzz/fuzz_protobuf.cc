// No body in protobuf crashes the API server: what it is read as is JSON, which decode() then takes or refuses. The
// first byte chooses the kind, for the envelope's own would nearly never be one; the whole input is tried as a body
// too.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "embedded/schema/builtin.h"
#include "embedded/schema/decode.h"
#include "embedded/schema/protobuf.h"
#include "embedded/wire/json_text.h"

namespace {

using namespace hookd::embedded;

void try_message(std::string_view raw, const Schema& schema) {
  auto object = decode_protobuf(raw, schema);
  if (!object) {
    if (object.error().empty()) std::abort();
    return;
  }
  if (!parse_text(to_text(*object))) std::abort();
  // Types are right already: only quantities and times may be refused.
  const auto report = decode(*object, schema);
  if (report && !report->unknown.empty()) std::abort();
  if (!report && report.error().find("cannot unmarshal") != std::string::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > (16u << 10)) return 0;
  static const auto kinds = builtin_kinds();
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto& [group, version, kind] = kinds[*data % kinds.size()];
  try_message(body.substr(1), *builtin_schema(group, version, kind));
  if (const auto envelope = open_protobuf(body)) {
    const auto slash = envelope->api_version.find('/');
    const bool core = slash == std::string::npos;
    const auto* schema =
        builtin_schema(core ? "" : envelope->api_version.substr(0, slash),
                       core ? envelope->api_version : envelope->api_version.substr(slash + 1), envelope->kind);
    if (schema != nullptr) try_message(envelope->raw, *schema);
  }
  return 0;
}
