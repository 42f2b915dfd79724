#include "state/config_map_text.h"

#include <boost/json.hpp>

#include "base/json_read.h"
#include "base/json_scanner.h"
#include "base/json_writer.h"

namespace hookd::state {

std::string rows_to_text(const TableRows& rows) {
  std::string text;
  for (const auto& [key, value] : rows) {
    append_json_string(text, key);
    text += ": ";
    for (const char c : value) text += c == '\n' || c == '\r' ? ' ' : c;
    text += '\n';
  }
  return text;
}

TableRows rows_from_text(std::string_view text, size_t& bad) {
  TableRows rows;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    JsonScanner scanner;
    const auto used = line.front() == '"' ? scanner.feed(line) : fail(Errc::kDecode, "no key");
    const auto key = used && scanner.done() ? parse_json(line.substr(0, *used)) : fail(Errc::kDecode, "no key");
    const std::string_view rest = key ? line.substr(*used) : std::string_view();
    if (!key || !rest.starts_with(": ") || !validate_json(rest.substr(2))) {
      ++bad;
      continue;
    }
    rows.insert_or_assign(std::string(key->as_string()), std::string(rest.substr(2)));
  }
  return rows;
}

}  // namespace hookd::state
