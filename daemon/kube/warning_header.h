// Warning headers of API answers (RFC 7234 5.5; k8s-client.md W14). Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hookd::kube {

// Appends the texts of `299 agent "text"` entries of one header value, several per header, quoted pairs resolved.
void parse_warning_header(std::string_view value, std::vector<std::string>& texts);

}  // namespace hookd::kube
