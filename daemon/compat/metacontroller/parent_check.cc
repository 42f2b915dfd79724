#include "compat/metacontroller/parent_check.h"

#include "apply/json_text.h"
#include "base/json_read.h"

namespace hookd::metacontroller {

Result<CrdAnswer> look_at_crd(std::string_view crd, std::string_view version) {
  const auto versions = json_raw_at(crd, {"spec", "versions"});
  if (!versions) return fail(Errc::kDecode, "a CustomResourceDefinition without spec.versions");
  HOOKD_TRY(const auto all, apply::json_elements(*versions));
  for (const std::string_view one : all) {
    if (json_string_at(one, {"name"}) != version) continue;
    if (json_raw_at(one, {"served"}).value_or("true") == "false") return CrdAnswer::kNotServed;
    const auto status = json_raw_at(one, {"subresources", "status"});
    return status && *status != "null" ? CrdAnswer::kGood : CrdAnswer::kNoStatus;
  }
  return CrdAnswer::kNotServed;
}

std::pair<std::string, std::string> split_api_version(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) return {"", std::string(api_version)};
  return {std::string(api_version.substr(0, slash)), std::string(api_version.substr(slash + 1))};
}

}  // namespace hookd::metacontroller
