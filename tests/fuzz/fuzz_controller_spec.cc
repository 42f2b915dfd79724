// Any resource is refused with a line, or read.
#include <cstdlib>

#include "compat/metacontroller/spec_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hookd::metacontroller;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const ControllerKind kind : {ControllerKind::kComposite, ControllerKind::kDecorator})
    if (const auto spec = read_controller(text, kind); !spec && spec.error().what.empty()) std::abort();
  return 0;
}
