#include "net/curl_error.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <chrono>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>

namespace hookd::net {
namespace {

bool contains_any(std::string_view text, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    if (text.find(part) != std::string_view::npos) return true;
  return false;
}

std::string subject_of(X509* certificate) {
  std::unique_ptr<BIO, int (*)(BIO*)> out(BIO_new(BIO_s_mem()), BIO_free);
  X509_NAME_print_ex(out.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : "no subject";
}

std::string certificate_problem(const CurlFailure& f) {
  if (contains_any(f.detail, {"subject name", "common name", "host name"}))
    return fmt::format(
        "{}: the server's certificate is not valid for the name \"{}\": reach it by a name in the "
        "certificate, or set tls-server-name to one",
        f.target, f.checked_name);
  const std::string reason = f.verify_result != 0 ? X509_verify_cert_error_string(f.verify_result) : f.detail;
  switch (f.verify_result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return fmt::format("{}: the server's certificate has expired; renew it, or set the clock of this machine",
                         f.target);
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return fmt::format(
          "{}: the server's certificate is not valid yet; set the clock of this machine or of the server", f.target);
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return fmt::format("{}: the server's certificate is not signed by {}: {}; give the CA that signed it", f.target,
                         f.ca, reason);
    default:
      break;
  }
  return fmt::format("{}: the server's certificate was refused, checked with {} for the name \"{}\": {}", f.target,
                     f.ca, f.checked_name, reason);
}

std::string with_detail(std::string text, const std::string& detail) {
  if (!detail.empty()) text += " (" + detail + ")";
  return text;
}

Error tls_error(std::string what) { return {Errc::kTls, std::move(what), 0, {}, {}}; }

}  // namespace

std::string describe_ca(const TlsOptions* tls) {
  if (!tls || tls->ca_pem.empty()) return "the system's CAs";
  std::unique_ptr<BIO, int (*)(BIO*)> in(BIO_new_mem_buf(tls->ca_pem.data(), static_cast<int>(tls->ca_pem.size())),
                                         BIO_free);
  std::string first;
  int count = 0;
  while (true) {
    std::unique_ptr<X509, void (*)(X509*)> certificate(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr),
                                                       X509_free);
    if (!certificate) break;
    if (++count == 1) first = subject_of(certificate.get());
  }
  ERR_clear_error();
  if (count == 0) return "the CA given for it, which is not a PEM certificate";
  if (count == 1) return fmt::format("the CA given for it ({})", first);
  return fmt::format("the CAs given for it ({}, first {})", count, first);
}

Error describe(const CurlFailure& f) {
  const std::string detail = f.detail.empty() ? curl_easy_strerror(f.code) : f.detail;
  const auto transport = [&](std::string what) {
    if (!f.proxy.empty()) what += fmt::format(", through the proxy {}", f.proxy);
    if (f.outcome_unknown) what += kOutcomeUnknown;
    return Error{Errc::kTransport, std::move(what), 0, {}, {}};
  };

  switch (f.code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
      return tls_error(certificate_problem(f));
    case CURLE_SSL_CACERT_BADFILE:
      return tls_error(
          with_detail(fmt::format("{}: cannot use {}: it must be PEM certificates", f.target, f.ca), f.detail));
    case CURLE_SSL_CERTPROBLEM:
      return tls_error(with_detail(
          fmt::format("{}: the client certificate or its key cannot be used: both must be PEM and belong together",
                      f.target),
          f.detail));
    default:
      break;
  }
  // Under TLS 1.3 the server's verdict on the client certificate arrives with the first read, not in the handshake.
  const bool alert = contains_any(f.detail, {"alert"});
  if (alert && contains_any(f.detail, {"certificate required", "bad certificate", "unknown ca", "certificate unknown",
                                       "certificate expired", "alert unknown", "alert handshake failure"})) {
    if (!f.client_certificate)
      return tls_error(
          with_detail(fmt::format("{}: the server wants a client certificate and none is given", f.target), f.detail));
    return tls_error(with_detail(fmt::format("{}: the server refused the client certificate", f.target), f.detail));
  }

  switch (f.code) {
    case CURLE_SSL_CONNECT_ERROR:
      // Cut in the middle of a handshake, as by a load balancer whose servers restart, is no fault of a certificate.
      if (contains_any(f.detail, {"SSL_ERROR_SYSCALL", "Connection reset", "unexpected eof", "SSL_ERROR_ZERO_RETURN"}))
        return transport(fmt::format("{}: disconnected in the TLS handshake ({})", f.target, detail));
      if (contains_any(f.detail, {"wrong version number", "packet length too long", "http request"}))
        return tls_error(
            fmt::format("{}: the server does not speak TLS there: is the port right, or should the URL begin with "
                        "http:// ({})",
                        f.target, detail));
      return tls_error(fmt::format("{}: TLS handshake failed: {}", f.target, detail));
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_ENGINE_SETFAILED:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_USE_SSL_FAILED:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_CLIENTCERT:
      return tls_error(fmt::format("{}: {}", f.target, detail));

    case CURLE_COULDNT_RESOLVE_PROXY:
      return transport(fmt::format("{}: the proxy's name cannot be resolved", f.target));
    case CURLE_COULDNT_RESOLVE_HOST:
      return transport(
          fmt::format("{}: the name cannot be resolved: is it spelt right, and does DNS answer", f.target));
    case CURLE_COULDNT_CONNECT:
      return transport(fmt::format("{}: cannot connect ({})", f.target, detail));
    case CURLE_OPERATION_TIMEDOUT:  // only the connect timeout is left to libcurl
      return transport(fmt::format("{}: no connection within {} ms ({})", f.target,
                                   std::chrono::duration_cast<std::chrono::milliseconds>(f.connect_timeout).count(),
                                   detail));
    case CURLE_PROXY:
      return transport(fmt::format("{}: the proxy refused ({})", f.target, detail));

    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
      return transport(fmt::format("{}: what came back is not HTTP ({})", f.target, detail));
    case CURLE_BAD_CONTENT_ENCODING:
      return transport(fmt::format("{}: the compressed answer is damaged ({})", f.target, detail));
    case CURLE_URL_MALFORMAT:
      return {Errc::kConfig, fmt::format("{}: not a URL that can be used ({})", f.target, detail), 0, {}, {}};
    case CURLE_OUT_OF_MEMORY:
      // libcurl's own bound of 100 KiB a header line ends in this code.
      if (!f.head_seen)
        return {Errc::kTooLarge, fmt::format("{}: a header line of the answer is over 100 KiB", f.target), 0, {}, {}};
      return {Errc::kInternal, fmt::format("{}: {}", f.target, detail), 0, {}, {}};

    case CURLE_HTTP2:         // 16
    case CURLE_PARTIAL_FILE:  // 18
    case CURLE_GOT_NOTHING:   // 52
    case CURLE_SEND_ERROR:    // 55
    case CURLE_RECV_ERROR:    // 56
    case CURLE_HTTP2_STREAM:  // 92
      return transport(fmt::format("{}: disconnected ({})", f.target, detail));
    default:
      return transport(fmt::format("{}: {} (libcurl code {})", f.target, detail, static_cast<int>(f.code)));
  }
}

}  // namespace hookd::net
