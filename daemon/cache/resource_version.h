// Which of two resource versions is the newer one: whole numbers that grow (KEP-5504). Pure. Thread: any.
#pragma once

#include <optional>
#include <string_view>

namespace hookd::cache {

// -1, 0, 1 for whole numbers; nullopt where one is none.
std::optional<int> compare_versions(std::string_view one, std::string_view other);

// Of two that cannot be compared the first is taken, unless they are the same.
bool newer_version(std::string_view one, std::string_view than);

}  // namespace hookd::cache
