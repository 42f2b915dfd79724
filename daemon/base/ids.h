// Short unique ids for calls. Thread: loop only.
#pragma once

#include <string>

#include "base/random.h"

namespace hookd {

// 13 characters of Crockford base32: 65 random bits, fit for log search and environment variables.
std::string make_id(Random& random);

}  // namespace hookd
