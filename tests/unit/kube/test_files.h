// Temporary folders and fresh certificates for the tests of this room.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace hookd::kube::test {

class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string path(std::string_view name = {}) const;
  // Writes NAME (folders on the way are made) and returns its path.
  std::string write(std::string_view name, std::string_view content) const;
  void remove(std::string_view name) const;

 private:
  std::filesystem::path folder_;
};

struct TestCertificate {
  std::string pem;
  std::string key;
};

// Self-signed, P-256, a new key each time.
TestCertificate make_certificate(const std::string& common_name);
// The key under a passphrase.
std::string encrypt_key(const std::string& key_pem);

}  // namespace hookd::kube::test
