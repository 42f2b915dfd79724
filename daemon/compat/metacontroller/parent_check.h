// May a CompositeController have this parent? Its CRD says so. Pure. Thread: any. Source: controllers.md 1.1.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace hookd::metacontroller {

enum class CrdAnswer { kGood, kNotServed, kNoStatus };

// `crd`: the CustomResourceDefinition as JSON; `version` without its group. Errors: kDecode.
Result<CrdAnswer> look_at_crd(std::string_view crd, std::string_view version);

// "ctl.example.com/v1" -> group and version; "v1" -> "" and version.
std::pair<std::string, std::string> split_api_version(std::string_view api_version);

}  // namespace hookd::metacontroller
