// Observed, last applied and desired of any form (three lines) give an error or a merge that is stable: applied once
// more it changes nothing, and the patch that leads to it does.
#include <cstdlib>

#include "compat/metacontroller/merge.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hookd::metacontroller;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t first = text.find('\n');
  if (first == std::string_view::npos) return 0;
  const size_t second = text.find('\n', first + 1);
  if (second == std::string_view::npos) return 0;
  const auto observed = Value::parse(text.substr(0, first));
  const auto last = Value::parse(text.substr(first + 1, second - first - 1));
  const auto desired = Value::parse(text.substr(second + 1));
  if (!observed || !last || !desired || !observed->is_object() || !last->is_object() || !desired->is_object()) return 0;
  if (const auto merged = merge(*observed, *last, *desired)) {
    const auto again = merge(*merged, *desired, *desired);
    if (!again || *again != *merged) std::abort();
    if (merge_patch(*merged, *merged)) std::abort();
  }
  if (const auto updated = apply_update(*observed, *desired)) {
    const auto again = apply_update(*updated, *desired);
    if (!again || *again != *updated) std::abort();
  }
  return 0;
}
