// The files that a call by URL needs: CA, client certificate and key, bearer token, HMAC key. Looked at (stat) at each
// call and read anew when they changed, so that a rotated Secret needs no reload. A bad new version never replaces what
// worked; it is logged once. Nothing of their content is ever in an error or in the log. Thread: loop only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/model.h"
#include "net/http_transport.h"

namespace hookd::hook {

struct UrlSecrets {
  std::shared_ptr<const net::TlsOptions> tls;
  std::string bearer;    // "" = none
  std::string hmac_key;  // "" = none
};

class UrlFiles {
 public:
  UrlFiles(std::string hook, const UrlTarget& target) : hook_(std::move(hook)), target_(target) {}

  // Errors: kConfig "run.auth.bearer: /run/token: no such file", while there is no good version yet.
  Result<std::shared_ptr<const UrlSecrets>> current();

 private:
  Result<UrlSecrets> read() const;
  std::vector<uint64_t> versions() const;

  std::string hook_;
  UrlTarget target_;
  std::shared_ptr<const UrlSecrets> good_;
  std::vector<uint64_t> seen_;  // of what `good_` was read from, or `problem_` came from
  std::string problem_;
};

}  // namespace hookd::hook
