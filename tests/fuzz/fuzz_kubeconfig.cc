// The text parser of kubeconfigs: any bytes give entries or an error, and merging a file with itself adds nothing.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kube/kubeconfig_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMaxBytes = 64u << 10;
  if (size > kMaxBytes) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto parsed = hookd::kube::parse_kubeconfig(text, "/etc/kubeconfig");
  if (!parsed) {
    if (!parsed.error().what.starts_with("/etc/kubeconfig:")) std::abort();
    return 0;
  }
  const size_t users = parsed->users.size();
  hookd::kube::merge_kubeconfig(*parsed, *parsed);
  if (parsed->users.size() != users) std::abort();
  return 0;
}
