// Any text either is refused or parses to a selector whose canonical text parses to the same selector.
#include <cstdlib>

#include "cache/label_selector.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using hookd::cache::LabelSelector;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto selector = LabelSelector::parse(text)) {
    const auto again = LabelSelector::parse(selector->to_string());
    if (!again || *again != *selector) std::abort();
    const LabelSelector::Labels labels{{"a", "1"}, {"b", ""}};
    if (selector->matches(labels) != again->matches(labels)) std::abort();
  }
  boost::system::error_code error;
  const auto json = boost::json::parse(text, error);
  if (!error && json.is_object()) {
    const auto selector = LabelSelector::from_json(json.get_object());
    if (selector) {
      const auto again = LabelSelector::parse(selector->to_string());
      if (!again || *again != *selector) std::abort();
    }
  }
  return 0;
}
