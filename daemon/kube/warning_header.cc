#include "kube/warning_header.h"

namespace hookd::kube {
namespace {

void skip_space(std::string_view& rest) { rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size())); }

// A quoted-string at the beginning of `rest`, taken off it, with quoted pairs resolved; nullopt if there is none.
std::optional<std::string> take_quoted(std::string_view& rest) {
  if (!rest.starts_with('"')) return std::nullopt;
  std::string text;
  for (size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      return text;
    }
    if (rest[i] == '\\' && ++i == rest.size()) break;
    text += rest[i];
  }
  return std::nullopt;
}

}  // namespace

void parse_warning_header(std::string_view value, std::vector<std::string>& texts) {
  while (true) {
    value.remove_prefix(std::min(value.find_first_not_of(" \t,"), value.size()));
    // code SP agent SP quoted-text [SP quoted-date]
    const size_t after_code = value.find(' ');
    if (after_code == std::string_view::npos) return;
    const std::string_view code = value.substr(0, after_code);
    value.remove_prefix(after_code);
    skip_space(value);
    const size_t after_agent = value.find(' ');
    if (after_agent == std::string_view::npos) return;
    value.remove_prefix(after_agent);
    skip_space(value);
    auto text = take_quoted(value);
    if (!text) return;
    if (code == "299") texts.push_back(*std::move(text));
    skip_space(value);
    take_quoted(value);
  }
}

}  // namespace hookd::kube
