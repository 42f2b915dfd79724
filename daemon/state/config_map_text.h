// How rows stand in the data of a ConfigMap: one entry a table, in it one line a row, readable and exact. Pure.
// Thread: any.
//
//   state: |
//     "cleanup": {"seen": 12}
//     "labels\npods./a/x": {"uid":"…","value":1}
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace hookd::state {

using TableRows = std::map<std::string, std::string, std::less<>>;  // key, value (JSON)

// Line ends between the tokens of a value become spaces: inside JSON strings there are none (RFC 8259 section 7).
std::string rows_to_text(const TableRows& rows);
// Lines that are none of ours are left out and counted in `bad`.
TableRows rows_from_text(std::string_view text, size_t& bad);

}  // namespace hookd::state
