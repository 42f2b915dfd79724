// Takes JSON objects apart and puts them together as text, so that what a hook or the server wrote stays as it was
// written (digits, order). Thread: any.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hookd::apply {

struct Member {
  std::string key;         // decoded
  std::string_view value;  // raw JSON, without white space around it; a view into the text
};

// The members of one JSON object, in order. A key twice is an error: readers differ on which one counts, so what is
// checked (`allow`) might not be what the server takes. Errors: kDecode.
Result<std::vector<Member>> json_members(std::string_view object);
// Of a key that stands twice the last counts, and it is named in `twice`: for readers that have to be so lenient.
Result<std::vector<Member>> json_members_lenient(std::string_view object, std::vector<std::string>& twice);
// The elements of one JSON array. Errors: kDecode.
Result<std::vector<std::string_view>> json_elements(std::string_view array);

const Member* find_member(const std::vector<Member>& members, std::string_view key);  // null if there is none

// `object` with members set (a raw JSON value) or taken away (nullopt); new ones come last. What is no object is
// returned as it is.
using Changes = std::vector<std::pair<std::string, std::optional<std::string>>>;
std::string with_members(std::string_view object, const Changes& changes);
// The same for the members of its "metadata", which is made if it is missing.
std::string with_metadata(std::string_view object, const Changes& changes);

bool is_json_object(std::string_view raw);
bool is_json_array(std::string_view raw);
// The text of a raw JSON string; nullopt if it is no string.
std::optional<std::string> json_text_of(std::string_view raw);

}  // namespace hookd::apply
