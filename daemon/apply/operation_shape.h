// Which keys each operation takes and needs, and the words for messages about them. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apply/operation.h"
#include "base/result.h"

namespace hookd::apply {

using Words = std::vector<std::string_view>;

// What an operation takes beside `operation` and `repeat`, and what it cannot do without.
struct Shape {
  Words takes;
  Words needs;
};
Shape shape_of(Verb verb);

// "; did you mean "x"?", or which there are.
std::string nearest(std::string_view word, const Words& known);
// "an object", "text", … of a raw JSON value.
std::string_view json_type_name(std::string_view raw);
std::string shorten(std::string_view text);
// Can it be one segment of a URL's path? (IsValidPathSegmentName of the API server)
bool fits_path(std::string_view name);

// Reads apiVersion, kind and the names out of operation.object, the very text that is sent. Errors: kInvalid.
Result<void> read_manifest(Operation& operation);

}  // namespace hookd::apply
