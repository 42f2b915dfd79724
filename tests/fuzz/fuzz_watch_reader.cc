// Any bytes, in pieces of any size: the same events as in one piece, each with a whole JSON object.
#include <cstdlib>

#include "base/json_read.h"
#include "kube/watch_reader.h"

namespace {

struct Reading {
  std::vector<std::pair<int, std::string>> events;
  bool ok = true;
  bool operator==(const Reading&) const = default;
};

Reading read(std::string_view text, size_t piece) {
  Reading out;
  hookd::kube::WatchReader reader(
      [&](hookd::kube::WatchEvent event) -> hookd::Result<void> {
        if (event.object.empty() || event.object.front() != '{' || !hookd::validate_json(event.object)) std::abort();
        out.events.emplace_back(static_cast<int>(event.type), std::move(event.object));
        return {};
      },
      1 << 16);
  while (!text.empty() && out.ok) {
    const auto part = text.substr(0, piece);
    out.ok = reader.feed(part).has_value();
    text.remove_prefix(part.size());
  }
  if (reader.events() != out.events.size()) std::abort();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Reading whole = read(text, size);
  if (whole != read(text, 1) || whole != read(text, size_t{data[0]} + 1)) std::abort();
  return 0;
}
