// Kubernetes Status answers, and other error bodies, as Errors. Thread: any.
// Source: k8s-client.md R29, R30, W11, W15, W16 and section 11.
#pragma once

#include <string_view>

#include "base/error.h"

namespace hookd::kube {

// `body` may be a Status, plain text or HTML; at most 2 KiB of it are kept. `retry_after` is the header's text.
Error error_from_answer(int http_status, std::string_view body, std::string_view retry_after, std::string_view method);

// The same for a Status that came as an ERROR event of a watch, or as the body of a 2xx answer.
Error error_from_status(std::string_view status_json, std::string_view method);

// Is `body` a Status whose status is not "Success"? (W11: such a body can come with a 2xx.)
bool is_failed_status(std::string_view body);

// "Too large resource version" (R30).
bool is_resource_version_too_large(const Error& error);

}  // namespace hookd::kube
