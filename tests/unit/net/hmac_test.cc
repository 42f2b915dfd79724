#include "net/hmac.h"

#include <gtest/gtest.h>

namespace hookd::net {
namespace {

TEST(HmacSha256, GivesWhatRfc4231Says) {
  // Test cases 1, 2 and 6 (a key longer than a block).
  EXPECT_EQ(hmac_sha256_hex(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac_sha256_hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac_sha256_hex(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(HmacSha256, IsTheSameInPieces) {
  HmacSha256 hmac("key");
  for (const char* piece : {"one ", "", "two"}) hmac.update(piece);
  EXPECT_EQ(hmac.hex(), hmac_sha256_hex("key", "one two"));
  EXPECT_NE(hmac_sha256_hex("", "one two"), hmac_sha256_hex("key", "one two"));
}

TEST(EqualSecrets, SaysWhetherTheyAre) {
  EXPECT_TRUE(equal_secrets("abc", "abc"));
  EXPECT_TRUE(equal_secrets("", ""));
  EXPECT_FALSE(equal_secrets("abc", "abd"));
  EXPECT_FALSE(equal_secrets("abc", "ab"));
}

}  // namespace
}  // namespace hookd::net
