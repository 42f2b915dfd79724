#include "hook/url_files.h"

#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"
#include "kube/pem.h"
#include "kube/token_file.h"

namespace hookd::hook {
namespace {

constexpr size_t kMaxBytes = 1u << 20;

Result<std::string> read_named(const char* key, const std::string& path) {
  auto content = read_file(path, kMaxBytes);
  if (content) return content;
  return fail(Errc::kConfig, "{}: {}", key, content.error().what);
}

}  // namespace

std::vector<uint64_t> UrlFiles::versions() const {
  std::vector<uint64_t> all;
  for (const std::string* path :
       {&target_.ca_file, &target_.certificate_file, &target_.key_file, &target_.bearer_file, &target_.hmac_file}) {
    struct stat status{};
    if (path->empty() || ::stat(path->c_str(), &status) != 0) {
      all.push_back(0);
      continue;
    }
    for (const auto number :
         {static_cast<uint64_t>(status.st_dev), static_cast<uint64_t>(status.st_ino),
          static_cast<uint64_t>(status.st_size), static_cast<uint64_t>(status.st_mtim.tv_sec),
          static_cast<uint64_t>(status.st_mtim.tv_nsec), static_cast<uint64_t>(status.st_ctim.tv_sec),
          static_cast<uint64_t>(status.st_ctim.tv_nsec)})
      all.push_back(number);
  }
  return all;
}

Result<UrlSecrets> UrlFiles::read() const {
  UrlSecrets secrets;
  auto tls = std::make_shared<net::TlsOptions>();
  tls->server_name = target_.server_name;
  tls->insecure = target_.insecure;
  if (!target_.ca_file.empty()) {
    HOOKD_TRY(const std::string pem, read_named("run.tls.ca", target_.ca_file));
    auto certificates = kube::read_certificates(pem);
    if (!certificates) return fail(certificates.error().with("run.tls.ca: " + target_.ca_file));
    tls->ca_pem = std::move(certificates->pem);
  }
  if (!target_.certificate_file.empty()) {
    HOOKD_TRY(tls->certificate_pem, read_named("run.tls.certificate", target_.certificate_file));
    HOOKD_TRY(tls->key_pem, read_named("run.tls.key", target_.key_file));
    if (auto pair = kube::check_key_pair(tls->certificate_pem, tls->key_pem); !pair)
      return fail(pair.error().with(
          fmt::format("run.tls.certificate: {} with run.tls.key: {}", target_.certificate_file, target_.key_file)));
  }
  secrets.tls = std::move(tls);
  if (!target_.bearer_file.empty()) {
    auto token = kube::read_token_file(target_.bearer_file);
    if (!token) return fail(token.error().with("run.auth.bearer"));
    secrets.bearer = *std::move(token);
  }
  if (!target_.hmac_file.empty()) {
    HOOKD_TRY(const std::string key, read_named("run.auth.hmac", target_.hmac_file));
    secrets.hmac_key = kube::trim(key);
    if (secrets.hmac_key.empty())
      return fail(Errc::kConfig, "run.auth.hmac: {}: the file is empty; it must hold the key", target_.hmac_file);
  }
  return secrets;
}

Result<std::shared_ptr<const UrlSecrets>> UrlFiles::current() {
  auto now = versions();
  if (now == seen_) {
    if (good_) return good_;
    return fail(Errc::kConfig, "{}", problem_);
  }
  auto fresh = read();
  seen_ = std::move(now);
  if (fresh) {
    good_ = std::make_shared<const UrlSecrets>(*std::move(fresh));
    problem_.clear();
    return good_;
  }
  const bool known = std::exchange(problem_, fresh.error().what) == fresh.error().what;
  if (!good_) return fail(Errc::kConfig, "{}", problem_);
  if (!known)
    log::warn("a changed file of the hook's URL is not good, the former content stays in use",
              {{"hook", hook_}, {"error", problem_}});
  return good_;
}

}  // namespace hookd::hook
