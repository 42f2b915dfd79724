#include "kube/credentials.h"

#include <algorithm>

#include "base/fd.h"
#include "base/log.h"
#include "kube/base64.h"
#include "kube/pem.h"
#include "kube/token_file.h"

namespace hookd::kube {
namespace {

constexpr size_t kMaxPemBytes = 4u << 20;

// RFC 9110 token characters stay, but not %, which begins an escape (A13).
std::string escape_header_name(std::string_view key) {
  constexpr std::string_view kPlain = "!#$&'*+-.^_`|~";
  std::string out;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    const bool alphanumeric = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (alphanumeric || kPlain.find(c) != kPlain.npos)
      out += c;
    else
      out += fmt::format("%{:02X}", byte);
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> headers_of(const Impersonation& as) {
  std::vector<std::pair<std::string, std::string>> out;
  if (as.user.empty()) return out;
  out.emplace_back("Impersonate-User", as.user);
  if (!as.uid.empty()) out.emplace_back("Impersonate-Uid", as.uid);
  for (const std::string& group : as.groups) out.emplace_back("Impersonate-Group", group);
  for (const auto& [key, values] : as.extra)
    for (const std::string& value : values) out.emplace_back("Impersonate-Extra-" + escape_header_name(key), value);
  return out;
}

Result<std::string> certificates_in(const std::string& path) {
  HOOKD_TRY(const std::string text, read_file(path, kMaxPemBytes));
  auto read = read_certificates(text);
  if (!read) return fail(read.error().with(path));
  return std::move(read->pem);
}

// The client certificate and key as their files (or the inline texts) are now; the two must belong together, since
// they are not written in one step.
Result<std::pair<std::string, std::string>> pair_in(const PemText& certificate, const PemText& key) {
  std::pair<std::string, std::string> out{certificate.pem, key.pem};
  if (!certificate.file.empty()) {
    HOOKD_TRY(out.first, certificates_in(certificate.file));
  }
  if (!key.file.empty()) {
    HOOKD_TRY(out.second, read_file(key.file, kMaxPemBytes));
  }
  if (auto pair = check_key_pair(out.first, out.second); !pair)
    return fail(pair.error().with(key.file.empty() ? certificate.file : key.file));
  return out;
}

}  // namespace

Credentials::Credentials(ConnectionConfig config, Scheduler& scheduler)
    : config_(std::move(config)), scheduler_(scheduler), impersonation_(headers_of(config_.impersonation)) {
  make_tls();
  tls_checked_ = scheduler_.now();
  tls_check_due_ = tls_checked_ + kFilePeriod;
  token_due_ = scheduler_.now();
  if (!config_.token_file.empty() && config_.is_https()) read_token_file();
}

std::shared_ptr<const net::TlsOptions> Credentials::tls() {
  if (scheduler_.now() >= tls_check_due_) check_tls_files();
  return tls_;
}

std::optional<std::string> Credentials::authorization_header() {
  if (!config_.is_https()) return std::nullopt;  // A7
  if (!config_.token_file.empty() && scheduler_.now() >= token_due_) read_token_file();
  const std::string& token = file_token_.empty() ? config_.token : file_token_;
  if (!token.empty()) return "Bearer " + token;
  if (config_.username.empty() && config_.password.empty()) return std::nullopt;
  return "Basic " + base64_encode(config_.username + ":" + config_.password);
}

void Credentials::unauthorized() {
  token_due_ = scheduler_.now();
  tls_failed();  // an expired client certificate gives a 401 too
}

void Credentials::tls_failed() { tls_check_due_ = std::min(tls_check_due_, tls_checked_ + std::chrono::seconds(1)); }

void Credentials::read_token_file() {
  auto token = kube::read_token_file(config_.token_file);
  if (!token) {  // the last good one stays, and every request tries again (A21)
    token_due_ = scheduler_.now();
    report(token_problem_, token.error().what, "token file");
    return;
  }
  file_token_ = std::move(*token);
  token_due_ = scheduler_.now() + kTokenPeriod - kTokenLeeway;
  report(token_problem_, "", "token file");
}

void Credentials::check_tls_files() {
  tls_checked_ = scheduler_.now();
  bool changed = false;
  if (!config_.ca.file.empty() && !config_.insecure) {
    auto ca = certificates_in(config_.ca.file);
    report(ca_problem_, ca ? "" : ca.error().what, "certificate authority file");
    if (ca && *ca != config_.ca.pem) {
      config_.ca.pem = std::move(*ca);
      changed = true;
    }
  }
  if (!config_.certificate.file.empty() || !config_.key.file.empty()) {
    auto pair = pair_in(config_.certificate, config_.key);
    report(pair_problem_, pair ? "" : pair.error().what, "client certificate files");
    if (pair && (pair->first != config_.certificate.pem || pair->second != config_.key.pem)) {
      config_.certificate.pem = std::move(pair->first);
      config_.key.pem = std::move(pair->second);
      changed = true;
    }
  }
  tls_check_due_ = tls_checked_ + (ca_problem_.empty() && pair_problem_.empty() ? kFilePeriod : kBadFilePeriod);
  if (!changed) return;
  make_tls();
  log::info("certificate files changed: new connections use them", {{"server", config_.server}});
}

void Credentials::make_tls() {
  auto options = std::make_shared<net::TlsOptions>();
  options->ca_pem = config_.ca.pem;
  options->server_name = config_.tls_server_name;
  options->insecure = config_.insecure;
  if (config_.is_https()) {  // A7
    options->certificate_pem = config_.certificate.pem;
    options->key_pem = config_.key.pem;
  }
  tls_ = std::move(options);
}

void Credentials::report(std::string& last, std::string problem, std::string_view what) {
  if (problem == last) return;
  if (problem.empty())
    log::info(fmt::format("{} can be read again", what));
  else
    log::warn(fmt::format("{} cannot be used; what was read before stays in use", what), {{"error", problem}});
  last = std::move(problem);
}

}  // namespace hookd::kube
