// Any bytes, in pieces of any size: the same result as in one piece, and every item is one whole JSON object.
#include <cstdlib>

#include "base/json_read.h"
#include "kube/list_reader.h"

namespace {

struct Reading {
  std::vector<std::string> items;
  bool whole = false;
  std::string version;
  bool operator==(const Reading&) const = default;
};

Reading read(std::string_view text, size_t piece) {
  Reading out;
  hookd::kube::ListReader reader(
      [&](std::string item) -> hookd::Result<void> {
        if (item.empty() || item.front() != '{' || !hookd::validate_json(item)) std::abort();
        out.items.push_back(std::move(item));
        return {};
      },
      1 << 16);
  while (!text.empty()) {
    const auto part = text.substr(0, piece);
    if (!reader.feed(part)) return out;
    text.remove_prefix(part.size());
  }
  out.whole = reader.finish().has_value();
  if (out.whole && reader.resource_version().empty()) std::abort();
  if (out.whole) out.version = reader.resource_version();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Reading whole = read(text, size);
  if (whole != read(text, 1) || whole != read(text, size_t{data[0]} + 1)) std::abort();
  // What is taken as a list is JSON as a whole.
  if (whole.whole && !hookd::validate_json(text)) std::abort();
  return 0;
}
