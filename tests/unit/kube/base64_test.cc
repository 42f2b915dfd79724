// RFC 4648 sections 4 and 10.
#include "kube/base64.h"

#include <gtest/gtest.h>

namespace hookd::kube {
namespace {

TEST(Base64, KnownVectorsBothWays) {
  const std::pair<const char*, const char*> kVectors[] = {{"", ""},
                                                          {"f", "Zg=="},
                                                          {"fo", "Zm8="},
                                                          {"foo", "Zm9v"},
                                                          {"foob", "Zm9vYg=="},
                                                          {"\xff\xfe\xfd", "//79"},
                                                          {"\xfb\xef", "++8="}};
  for (const auto& [bytes, text] : kVectors) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(base64_decode(text), bytes);
  }
}

TEST(Base64, LineBreaksAreSkipped) { EXPECT_EQ(base64_decode("Zm\r\n9v\n"), "foo"); }

TEST(Base64, EverythingElseIsRefused) {
  for (const char* bad : {"Zg", "Zg=", "Z", "=", "Zg==Zg==", "Zg=a", "Zm9v!", "Zm 9v", "-_-_", "Zg===", "===="})
    EXPECT_EQ(base64_decode(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace hookd::kube
