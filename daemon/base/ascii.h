// Letters as protocols and names mean them: ASCII alone, whatever the locale. Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>

namespace hookd {

// With the letters A to Z in lower case; every other byte as it is.
inline std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

}  // namespace hookd
