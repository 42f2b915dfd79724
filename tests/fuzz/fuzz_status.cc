// Any body and any headers make an Error with bounded text, and warnings in bounded time.
#include <cstdlib>

#include "kube/status.h"
#include "kube/warning_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const int status = (data[0] << 8 | data[1]) % 700;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const size_t cut = text.size() / 3;
  for (const std::string_view body : {text, text.substr(cut)}) {
    const auto error = hookd::kube::error_from_answer(status, body, text.substr(0, cut), "POST");
    if (error.what.size() > 4096 || error.what.empty()) std::abort();
    if (error.retry_after &&
        (*error.retry_after < std::chrono::seconds(0) || *error.retry_after > std::chrono::hours(24)))
      std::abort();
    hookd::kube::is_resource_version_too_large(error);
    hookd::kube::is_failed_status(body);
    if (hookd::kube::error_from_status(body, "GET").code == hookd::Errc::kDecode) std::abort();
    std::vector<std::string> warnings;
    hookd::kube::parse_warning_header(body, warnings);
    if (warnings.size() > body.size()) std::abort();
  }
  return 0;
}
