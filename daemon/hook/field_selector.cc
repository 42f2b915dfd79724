#include "hook/field_selector.h"

namespace hookd::hook {
namespace {

Result<void> check_term(std::string_view term) {
  const size_t equals = term.find('=');
  if (equals == std::string_view::npos)
    return fail(Errc::kConfig, "\"{}\" is no field selector; expected FIELD=VALUE or FIELD!=VALUE", term);
  const size_t name_end = equals > 0 && term[equals - 1] == '!' ? equals - 1 : equals;
  const std::string_view name = term.substr(0, name_end);
  if (name.empty()) return fail(Errc::kConfig, "the field's name is missing in \"{}\"; expected FIELD=VALUE", term);
  if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/[]'") !=
      std::string_view::npos)
    return fail(Errc::kConfig, "\"{}\" is no field's name; expected one such as metadata.name or spec.nodeName", name);
  std::string_view value = term.substr(equals + 1);
  if (name_end == equals && value.starts_with('=')) value.remove_prefix(1);
  for (size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '=') return fail(Errc::kConfig, "\"=\" in the value of \"{}\"; write \\=", term);
    if (value[i] != '\\') continue;
    if (++i == value.size() || (value[i] != '\\' && value[i] != ',' && value[i] != '='))
      return fail(Errc::kConfig, "a \\ in the value of \"{}\" that escapes nothing; write \\\\", term);
  }
  return {};
}

}  // namespace

Result<void> check_field_selector(std::string_view text) {
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i + 1 < text.size() && text[i] == '\\') {
      ++i;
      continue;
    }
    if (i < text.size() && text[i] != ',') continue;
    HOOKD_CHECK(check_term(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return {};
}

}  // namespace hookd::hook
