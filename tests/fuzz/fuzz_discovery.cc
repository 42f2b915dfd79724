// Any discovery document is refused or read, and any name can be looked up in what came of it.
#include <cstdlib>

#include "kube/discovery_documents.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hookd::kube;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t line = std::min(text.find('\n'), text.size());
  const std::string_view name = text.substr(0, line), body = text.substr(line);
  ResourceTable table, before;
  is_aggregated(name);
  if (read_aggregated(body, table)) {
    for (const auto& entry : table.entries) {
      if (entry.type.kind.empty()) std::abort();
      if (!table.find(entry.type.api_version(), entry.type.kind)) std::abort();
    }
  }
  if (const auto versions = read_group_versions("", body))
    for (const auto& version : *versions) version.path();
  (void)read_resource_list(body, {"example.com", "v1", true}, before);
  table.failed_groups.push_back("example.com/v1");
  table.keep_failed(before);
  for (const auto api_version : {std::string_view{}, std::string_view("v1"), name}) (void)table.find(api_version, name);
  return 0;
}
