#include "embedded/schema/base64.h"

#include <gtest/gtest.h>

namespace hookd::embedded {
namespace {

TEST(Base64, RoundTrips) {
  for (const std::string_view bytes : {"", "a", "ab", "abc", "abcd", "\xff\xfe\x00\x01"}) {
    EXPECT_EQ(decode_base64(encode_base64(bytes)), bytes);
  }
  EXPECT_EQ(encode_base64("hi"), "aGk=");
  EXPECT_EQ(decode_base64("aG\r\nk=\n"), "hi");
}

TEST(Base64, TellsWhereItBreaks) {
  const auto offset = [](std::string_view text) {
    const auto bytes = decode_base64(text);
    return bytes ? -1 : static_cast<int>(bytes.error());
  };
  EXPECT_EQ(offset("!!"), 0);
  EXPECT_EQ(offset("aGk"), 0);
  EXPECT_EQ(offset("aGk=x"), 4);
  EXPECT_EQ(offset("aG=k"), 2);
  EXPECT_EQ(offset("a"), 0);
  EXPECT_EQ(offset("="), 0);
}

}  // namespace
}  // namespace hookd::embedded
