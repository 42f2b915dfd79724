// libFuzzer target: any text as YAML. What comes out is JSON, and JSON read as YAML comes out the same.
#include <cstdlib>

#include "base/json_read.h"
#include "config/yaml_source.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto documents = hookd::config::yaml_to_json({reinterpret_cast<const char*>(data), size}, "f");
  if (!documents) {
    if (documents.error().what.empty()) std::abort();
    return 0;
  }
  for (const std::string& json : *documents)
    if (!hookd::validate_json(json)) std::abort();
  return 0;
}
