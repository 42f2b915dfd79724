// HMAC SHA-256, as webhooks are signed with it (X-Hub-Signature-256). Thread: any. Source: RFC 2104, FIPS 180-4.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace hookd::net {

class HmacSha256 {
 public:
  explicit HmacSha256(std::string_view key);
  HmacSha256(HmacSha256&&) noexcept;
  ~HmacSha256();

  void update(std::string_view bytes);
  std::string hex();  // 64 lower case digits; once, last

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string hmac_sha256_hex(std::string_view key, std::string_view bytes);

// In a time that tells nothing of where they differ (only whether their lengths do).
bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace hookd::net
