#include "net/http_wire.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>

namespace hookd::net {
namespace {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using Certificate = std::unique_ptr<X509, void (*)(X509*)>;

class PlainWire final : public HttpWire {
 public:
  explicit PlainWire(WireSocket socket) : socket_(std::move(socket)) {}
  void handshake(Done done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done({}); });
  }
  void read_some(asio::mutable_buffer into, Moved done) override { socket_.async_read_some(into, std::move(done)); }
  void write_some(const Gather& from, Moved done) override { socket_.async_write_some(from, std::move(done)); }
  void finish_sending(Done done) override {
    Error error;
    socket_.shutdown(WireSocket::shutdown_send, error);
    asio::post(socket_.get_executor(), [done = std::move(done), error] { done(error); });
  }

 protected:
  WireSocket& socket() override { return socket_; }

 private:
  WireSocket socket_;
};

// Subject fields of one kind, in their order.
std::vector<std::string> subject_fields(const X509* certificate, int nid) {
  std::vector<std::string> result;
  const X509_NAME* subject = X509_get_subject_name(certificate);
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, nid, at)) >= 0;) {
    unsigned char* text = nullptr;
    const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (size >= 0) result.emplace_back(reinterpret_cast<const char*>(text), static_cast<size_t>(size));
    OPENSSL_free(text);
  }
  return result;
}

class TlsWire final : public HttpWire {
 public:
  TlsWire(WireSocket socket, ssl::context& context) : stream_(std::move(socket), context) {}
  void handshake(Done done) override { stream_.async_handshake(ssl::stream_base::server, std::move(done)); }
  void read_some(asio::mutable_buffer into, Moved done) override { stream_.async_read_some(into, std::move(done)); }
  void write_some(const Gather& from, Moved done) override { stream_.async_write_some(from, std::move(done)); }
  // Sends the close_notify at once, then waits for the client's; a read may be pending meanwhile.
  void finish_sending(Done done) override { stream_.async_shutdown(std::move(done)); }

  ClientCertificate client_certificate() const override {
    auto& stream = const_cast<ssl::stream<WireSocket>&>(stream_);  // Asio has no const way to the handle
    const Certificate certificate(SSL_get1_peer_certificate(stream.native_handle()), X509_free);
    if (!certificate) return {};
    ClientCertificate result;
    const auto names = subject_fields(certificate.get(), NID_commonName);
    const long verdict = SSL_get_verify_result(stream.native_handle());
    if (verdict != X509_V_OK) {
      result.problem = fmt::format("the client certificate{} is not taken: {}",
                                   names.empty() ? "" : fmt::format(" of \"{}\"", names.front()),
                                   X509_verify_cert_error_string(verdict));
      return result;
    }
    if (!names.empty()) result.common_name = names.front();
    result.organizations = subject_fields(certificate.get(), NID_organizationName);
    return result;
  }

 protected:
  WireSocket& socket() override { return stream_.next_layer(); }

 private:
  ssl::stream<WireSocket> stream_;
};

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                    unsigned offered_size, void*) {
  static constexpr unsigned char kOurs[] = "\x08http/1.1";
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, size, kOurs, sizeof kOurs - 1, offered, offered_size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;  // RFC 7301 3.2: no_application_protocol
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

// A bad client certificate does not end the handshake: that would tell a person nothing. The owner of the server sees
// the problem in the request and answers 401.
int take_any_certificate(int, X509_STORE_CTX*) { return 1; }

Failure tls_failure(std::string_view what) {
  const auto code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return fail(Errc::kConfig, "{}{}{}", what, reason ? ": " : "", reason ? reason : "");
}

Result<void> ask_for_client_certificates(SSL_CTX* context, const std::string& ca_pem) {
  const std::unique_ptr<BIO, int (*)(BIO*)> in(BIO_new_mem_buf(ca_pem.data(), static_cast<int>(ca_pem.size())),
                                               BIO_free);
  int count = 0;
  while (const Certificate ca{PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr), X509_free}) {
    ++count;
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca.get()) != 1 ||
        SSL_CTX_add_client_CA(context, ca.get()) != 1)
      return tls_failure("a CA of client certificates cannot be used");
  }
  if (count == 0) return tls_failure("the CA of client certificates is no PEM certificate");
  ERR_clear_error();  // reading ends with "no start line"
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, take_any_certificate);
  return {};
}

}  // namespace

void HttpWire::close(bool reset) {
  Error ignored;
  if (reset) socket().set_option(asio::socket_base::linger(true, 0), ignored);
  socket().close(ignored);
}

void HttpWire::write_raw(std::string_view bytes) {
  Error ignored;
  socket().non_blocking(true, ignored);
  socket().write_some(asio::buffer(bytes), ignored);
}

std::unique_ptr<HttpWire> plain_wire(WireSocket socket) { return std::make_unique<PlainWire>(std::move(socket)); }

std::unique_ptr<HttpWire> tls_wire(WireSocket socket, ssl::context& context) {
  return std::make_unique<TlsWire>(std::move(socket), context);
}

bool is_plain_http(const boost::system::error_code& error) {
  return error.category() == asio::error::get_ssl_category() &&
         ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_HTTP_REQUEST;
}

Result<std::shared_ptr<ssl::context>> make_tls_context(const ServerTls& tls) {
  ERR_clear_error();
  auto result = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* context = result->native_handle();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);  // idle connections keep no buffers
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  static constexpr unsigned char kSessions[] = "hookd";  // needed where sessions with client certificates are resumed
  SSL_CTX_set_session_id_context(context, kSessions, sizeof kSessions - 1);

  boost::system::error_code error;
  result->use_certificate_chain(asio::buffer(tls.certificate_pem), error);
  if (error) return fail(Errc::kConfig, "the server's certificate cannot be used: {}", error.message());
  result->use_private_key(asio::buffer(tls.key_pem), ssl::context::pem, error);
  if (error) return fail(Errc::kConfig, "the key of the server's certificate cannot be used: {}", error.message());
  if (!tls.client_ca_pem.empty()) HOOKD_CHECK(ask_for_client_certificates(context, tls.client_ca_pem));
  return result;
}

}  // namespace hookd::net
