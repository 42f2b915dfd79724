// SHA-1 (FIPS 180-4) for names that must be those of Metacontroller; nothing secret rests on it. Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>

namespace hookd::metacontroller {

std::string sha1_hex(std::string_view bytes);

}  // namespace hookd::metacontroller
