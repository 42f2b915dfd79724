// Any body of a webhook is refused, or its children are whole; a strict reader takes no more than a loose one.
#include <cstdlib>

#include "base/json_read.h"
#include "compat/metacontroller/response.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hookd::metacontroller;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const ControllerKind kind : {ControllerKind::kComposite, ControllerKind::kDecorator}) {
    const auto loose = decode_sync(kind, Unmarshal::kLoose, text), strict = decode_sync(kind, Unmarshal::kStrict, text);
    if (strict && !loose) std::abort();
    if (!loose) continue;
    for (const auto& child : loose->children)
      if (child.kind.empty() || child.name.empty() || !hookd::validate_json(child.text)) std::abort();
    if (loose->status && !hookd::validate_json(*loose->status)) std::abort();
  }
  if (decode_customize(Unmarshal::kStrict, text) && !decode_customize(Unmarshal::kLoose, text)) std::abort();
  return 0;
}
