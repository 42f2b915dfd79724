// The form of a field selector; whether the server knows the fields, it says itself. Thread: any.
#pragma once

#include <string_view>

#include "base/result.h"

namespace hookd::hook {

// "a=b,c!=d,e==f"; in values the characters , = and \ are written \, \= and \\. Source: apimachinery
// fields.ParseSelector. Errors: kConfig naming the part.
Result<void> check_field_selector(std::string_view text);

}  // namespace hookd::hook
