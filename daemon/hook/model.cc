#include "hook/model.h"

#include <algorithm>

namespace hookd::hook {

const WatchBinding* Hook::find_watch(std::string_view binding) const {
  const auto found = std::ranges::find(watches, binding, &WatchBinding::name);
  return found == watches.end() ? nullptr : &*found;
}

}  // namespace hookd::hook
