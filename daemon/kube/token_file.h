// The bearer token in a file. Thread: any. Source: k8s-client.md A20-A22.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace hookd::kube {

// Opened by path each time, so that symlink swaps are seen (A22); white space around it is cut off (A20).
// Errors: kConfig "PATH: …" (unreadable, empty, not one printable word), without the content.
Result<std::string> read_token_file(const std::string& path);

// `text` without white space around it.
std::string_view trim(std::string_view text);
// Fit for a header's value: no control characters.
bool is_header_value(std::string_view text);

}  // namespace hookd::kube
