#include "base/ids.h"

namespace hookd {

std::string make_id(Random& random) {
  static constexpr char kAlphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
  std::string id;
  uint64_t bits = random.bits();
  for (int i = 0; i < 13; ++i) {
    id += kAlphabet[bits & 31];
    bits >>= 5;
    if (bits == 0) bits = random.bits();
  }
  return id;
}

}  // namespace hookd
