#include "net/curl_transfer.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <new>

#include "base/ascii.h"
#include "net/curl_error.h"

namespace hookd::net {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

std::string part(CURLU* url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, which, &text, flags) != CURLUE_OK) return {};
  std::string result(text);
  curl_free(text);
  return result;
}

std::string bracketed(const std::string& host) {
  return host.find(':') != std::string::npos && !host.starts_with('[') ? "[" + host + "]" : host;
}

std::string unbracketed(const std::string& host) {
  return host.size() > 2 && host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

bool has_line_break(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
}

// A peer that vanished without a word is noticed in about a minute although nothing is sent (R52), and a child process
// never inherits the socket.
int tune_socket(void*, curl_socket_t socket, curlsocktype) noexcept {
  const auto option = [&](int level, int name, int value) { setsockopt(socket, level, name, &value, sizeof value); };
  option(SOL_SOCKET, SO_KEEPALIVE, 1);
  option(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  option(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  option(IPPROTO_TCP, TCP_KEEPCNT, 3);
  option(IPPROTO_TCP, TCP_USER_TIMEOUT, 45'000);
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  return CURL_SOCKOPT_OK;
}

// Is there one file with the distribution's roots, where libcurl looks for it?
bool has_bundle() {
  const char* file = curl_version_info(CURLVERSION_NOW)->cainfo;
  return file && access(file, R_OK) == 0;
}

curl_blob borrowed(const std::string& text) { return {const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY}; }

}  // namespace

CurlTransfer::CurlTransfer(HttpRequest request, HttpHandlers handlers, std::shared_ptr<const CurlOptions> options,
                           const Scheduler& clock)
    : request_(std::move(request)),
      handlers_(std::move(handlers)),
      options_(std::move(options)),
      clock_(clock),
      last_byte_(clock.now()) {}

template <class Value>
void CurlTransfer::set(CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(easy_.get(), option, value);
  if (code != CURLE_OK && !failure_)
    failure_ = Error{Errc::kInternal,
                     fmt::format("libcurl refused option {}: {}", static_cast<int>(option), curl_easy_strerror(code)),
                     0,
                     {},
                     {}};
}

void CurlTransfer::append(List& list, const std::string& line) {
  curl_slist* grown = curl_slist_append(list.get(), line.c_str());
  if (!grown) throw std::bad_alloc();
  static_cast<void>(list.release());
  list.reset(grown);
}

Result<void> CurlTransfer::prepare() {
  target_ = without_userinfo(request_.url);
  easy_.reset(curl_easy_init());
  if (!easy_) return fail(Errc::kInternal, "libcurl: no easy handle");
  if (!is_token(request_.method)) return fail(Errc::kInvalid, "\"{}\" is not an HTTP method", request_.method);
  HOOKD_CHECK(set_url());
  HOOKD_CHECK(set_headers());
  set_method_and_body();
  set_connection();
  if (https_) set_tls();
  set_callbacks();
  if (failure_) return fail(*failure_);
  return {};
}

Result<void> CurlTransfer::set_url() {
  std::unique_ptr<CURLU, FreeUrl> url(curl_url());
  if (!url) throw std::bad_alloc();
  // Paths go out as they are: a name may hold dots.
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, request_.url.c_str(), CURLU_PATH_AS_IS);
  const std::string scheme = part(url.get(), CURLUPART_SCHEME);
  if (code != CURLUE_OK || (scheme != "http" && scheme != "https"))
    return fail(Errc::kConfig, "{}: not an http:// or https:// URL{}{}", target_, code == CURLUE_OK ? "" : ": ",
                code == CURLUE_OK ? "" : curl_url_strerror(code));
  https_ = scheme == "https";
  const std::string host = part(url.get(), CURLUPART_HOST);  // an IPv6 address in brackets
  const std::string port = part(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
  target_ = host + ":" + port;
  checked_name_ = unbracketed(host);

  const std::string name = request_.tls && https_ ? bracketed(request_.tls->server_name) : "";
  if (!name.empty() && name != host) {
    // A11: the URL's name drives SNI and the check; the connection goes, and the Host header stays, where they belong.
    const std::string explicit_port = part(url.get(), CURLUPART_PORT);
    host_header_ = explicit_port.empty() ? host : host + ":" + explicit_port;
    if (curl_url_set(url.get(), CURLUPART_HOST, name.c_str(), 0) != CURLUE_OK || has_line_break(name))
      return fail(Errc::kConfig, "{}: tls-server-name \"{}\" is not a host name", target_, request_.tls->server_name);
    append(connect_to_, fmt::format("{}:{}:{}:{}", name, port, host, port));
    set(CURLOPT_CONNECT_TO, connect_to_.get());
    checked_name_ = unbracketed(name);
  }
  set(CURLOPT_URL, part(url.get(), CURLUPART_URL).c_str());

  uint16_t port_number = 0;
  std::from_chars(port.data(), port.data() + port.size(), port_number);
  // An explicit proxy wins over everything, NO_PROXY and loopback included (A12).
  std::string proxy = request_.proxy;
  if (proxy.empty()) proxy = options_->proxies.proxy_for(scheme, unbracketed(host), port_number);
  if (!proxy.empty()) {
    HOOKD_TRY(proxy, proxy_url_for_curl(proxy));
    proxy_ = without_userinfo(proxy);
  }
  set(CURLOPT_PROXY, proxy.c_str());  // "" keeps libcurl from looking at the environment
  set(CURLOPT_NOPROXY, "");
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  return {};
}

Result<void> CurlTransfer::set_headers() {
  bool expect_given = false;
  bool type_given = false;
  bool host_given = false;
  for (const auto& [name, value] : request_.headers) {
    if (!is_token(name) || has_line_break(value))
      return fail(Errc::kInvalid,
                  "{}: header \"{}\" cannot be sent: its name is no token or its value has a line break", target_,
                  is_token(name) ? name : "?");
    const std::string key = lower(name);
    expect_given |= key == "expect";
    type_given |= key == "content-type";
    host_given |= key == "host";
    append(headers_, value.empty() ? name + ";" : name + ": " + value);  // "name;" is libcurl's way to send none
  }
  if (!host_header_.empty() && !host_given) append(headers_, "Host: " + host_header_);
  // What libcurl would add by itself: a round trip before bodies over 1 MiB, and a type for form fields.
  if (!expect_given) append(headers_, "Expect:");
  if (!type_given) append(headers_, "Content-Type:");
  set(CURLOPT_HTTPHEADER, headers_.get());
  set(CURLOPT_USERAGENT, "hookd");  // a header of the request takes precedence
  set(CURLOPT_ACCEPT_ENCODING, request_.accept_gzip ? "gzip" : "identity");
  return {};
}

void CurlTransfer::set_method_and_body() {
  const std::string& method = request_.method;
  if (request_.body_source.open) {
    source_ = request_.body_source.open();
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body_source.bytes));
    set(CURLOPT_READDATA, this);
    set(
        CURLOPT_READFUNCTION, +[](char* to, size_t size, size_t count, void* self) noexcept -> size_t {
          return static_cast<CurlTransfer*>(self)->on_read(to, size * count);
        });
    set(CURLOPT_SEEKDATA, this);
    set(
        CURLOPT_SEEKFUNCTION, +[](void* self, curl_off_t offset, int origin) noexcept -> int {
          auto& transfer = *static_cast<CurlTransfer*>(self);
          if (offset != 0 || origin != SEEK_SET) return CURL_SEEKFUNC_CANTSEEK;
          transfer.source_ = transfer.request_.body_source.open();
          transfer.piece_.clear();
          transfer.piece_at_ = 0;
          transfer.body_sent_ = 0;
          return CURL_SEEKFUNC_OK;
        });
    if (method != "POST") set(CURLOPT_CUSTOMREQUEST, method.c_str());
  } else if (!request_.body.empty() || method == "POST" || method == "PUT" || method == "PATCH") {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    set(CURLOPT_POSTFIELDS, request_.body.data());  // not copied
    if (method != "POST") set(CURLOPT_CUSTOMREQUEST, method.c_str());
  } else if (method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
  } else {
    set(CURLOPT_HTTPGET, 1L);
    if (method != "GET") set(CURLOPT_CUSTOMREQUEST, method.c_str());
  }
}

void CurlTransfer::set_connection() {
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(https_ ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  set(CURLOPT_PIPEWAIT, request_.pool == Pool::kRest ? 0L : 1L);
  set(CURLOPT_FRESH_CONNECT, request_.fresh_connection ? 1L : 0L);
  set(CURLOPT_CONNECTTIMEOUT_MS,
      static_cast<long>(std::max<int64_t>(1, duration_cast<milliseconds>(request_.connect_timeout).count())));
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_NOSIGNAL, 1L);
  // Ending a transfer must not wait for its getaddrinfo thread, which may hang for half a minute while DNS is down.
  set(CURLOPT_QUICK_EXIT, 1L);
  set(CURLOPT_BUFFERSIZE, 256L * 1024);
  set(CURLOPT_SOCKOPTFUNCTION, &tune_socket);
}

void CurlTransfer::set_tls() {
  static const TlsOptions kDefaults;
  const TlsOptions& tls = request_.tls ? *request_.tls : kDefaults;
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_SSL_VERIFYPEER, tls.insecure ? 0L : 1L);
  set(CURLOPT_SSL_VERIFYHOST, tls.insecure ? 0L : 2L);
  const auto path = [](const std::string& text) -> const char* { return text.empty() ? nullptr : text.c_str(); };
  if (!options_->system_ca_file.empty() || !options_->system_ca_dir.empty()) {
    set(CURLOPT_CAINFO, path(options_->system_ca_file));
    set(CURLOPT_CAPATH, path(options_->system_ca_dir));
  } else if (has_bundle()) {
    // Reading the distribution's 140 roots holds up the loop for tens of milliseconds. libcurl keeps them for the next
    // handshakes, but only if there is no folder of roots beside the bundle; Debian's folder holds the same ones.
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    set(CURLOPT_CA_CACHE_TIMEOUT, 300L);
  }
  if (!tls.ca_pem.empty()) {
    // A10: a CA file or blob alone leaves the distribution's folder of roots trusted.
    set(CURLOPT_CAINFO, static_cast<const char*>(nullptr));
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    curl_blob blob = borrowed(tls.ca_pem);
    set(CURLOPT_CAINFO_BLOB, &blob);
  }
  if (!tls.certificate_pem.empty()) {
    curl_blob certificate = borrowed(tls.certificate_pem);
    curl_blob key = borrowed(tls.key_pem.empty() ? tls.certificate_pem : tls.key_pem);
    set(CURLOPT_SSLCERT_BLOB, &certificate);
    set(CURLOPT_SSLKEY_BLOB, &key);
  }
}

void CurlTransfer::set_callbacks() {
  set(CURLOPT_ERRORBUFFER, detail_);
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_NOPROGRESS, 1L);
  set(CURLOPT_HEADERDATA, this);
  set(
      CURLOPT_HEADERFUNCTION, +[](char* data, size_t size, size_t count, void* self) noexcept -> size_t {
        return static_cast<CurlTransfer*>(self)->on_header_line({data, size * count});
      });
  set(CURLOPT_WRITEDATA, this);
  set(
      CURLOPT_WRITEFUNCTION, +[](char* data, size_t size, size_t count, void* self) noexcept -> size_t {
        return static_cast<CurlTransfer*>(self)->on_body({data, size * count});
      });
  // libcurl sends a request again when a pooled connection dies before the first byte of the answer, whatever the
  // method. The server may have carried it out: only reads may be repeated (R55, k8s-client.md A25).
  set(CURLOPT_PREREQDATA, this);
  set(
      CURLOPT_PREREQFUNCTION, +[](void* self, char*, char*, int, int) noexcept -> int {
        auto& transfer = *static_cast<CurlTransfer*>(self);
        if (++transfer.tries_ == 1 || transfer.may_be_sent_twice()) return CURL_PREREQFUNC_OK;
        transfer.failure_ = Error{Errc::kTransport,
                                  fmt::format("{}: disconnected before an answer{}", transfer.target_, kOutcomeUnknown),
                                  0,
                                  {},
                                  {}};
        return CURL_PREREQFUNC_ABORT;
      });
}

size_t CurlTransfer::on_read(char* to, size_t room) {
  if (silent_) return CURL_READFUNC_ABORT;
  const uint64_t left = request_.body_source.bytes - body_sent_;
  if (left == 0) return 0;
  if (piece_at_ == piece_.size()) {
    piece_ = source_();
    piece_at_ = 0;
    if (piece_.empty()) {
      failure_ = Error{Errc::kInternal,
                       fmt::format("{}: the request's body ended {} bytes before its length", target_, left),
                       0,
                       {},
                       {}};
      return CURL_READFUNC_ABORT;
    }
  }
  const size_t size = static_cast<size_t>(std::min<uint64_t>({room, piece_.size() - piece_at_, left}));
  piece_.copy(to, size, piece_at_);
  piece_at_ += size;
  body_sent_ += size;
  return size;
}

size_t CurlTransfer::on_header_line(std::string_view line) {
  const size_t size = line.size();
  if (silent_) return stop();
  last_byte_ = clock_.now();
  header_bytes_ += size;
  if (header_bytes_ > options_->max_header_bytes) {
    failure_ = Error{Errc::kTooLarge,
                     fmt::format("{}: the answer's header is over {} bytes", target_, options_->max_header_bytes),
                     0,
                     {},
                     {}};
    return stop();
  }
  if (head_done_) return size;  // trailers
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);

  if (line.starts_with("HTTP/")) {
    head_ = {};
    const auto space = line.find(' ');
    if (space != std::string_view::npos)
      std::from_chars(line.data() + space + 1, line.data() + line.size(), head_.status);
    return size;
  }
  if (!line.empty()) {
    const auto colon = line.find(':');
    const auto strip = [](std::string_view text) {
      while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
      while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
      return std::string(text);
    };
    if (line.front() == ' ' || line.front() == '\t') {  // folded: goes on from the line before
      if (!head_.headers.empty()) head_.headers.back().second += " " + strip(line);
    } else if (colon != std::string_view::npos) {
      head_.headers.emplace_back(lower(line.substr(0, colon)), strip(line.substr(colon + 1)));
    }
    return size;
  }
  if (head_.status >= 100 && head_.status < 200 && head_.status != 101) return size;  // interim: the real one follows
  head_done_ = true;
  if (handlers_.on_head) handlers_.on_head(head_);
  return silent_ ? stop() : size;
}

size_t CurlTransfer::on_body(std::string_view piece) {
  if (silent_) return stop();
  last_byte_ = clock_.now();
  if (!handlers_.on_data) return piece.size();
  const bool go_on = handlers_.on_data(piece);
  if (silent_) return stop();
  if (!go_on) {
    failure_ = Error{Errc::kCancelled, target_ + ": stopped by the receiver of the answer", 0, {}, {}};
    return stop();
  }
  return piece.size();
}

bool CurlTransfer::outcome_unknown() const {
  if (is_read() || head_done_) return false;
  long sent = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_REQUEST_SIZE, &sent);
  return sent > 0;
}

Result<void> CurlTransfer::outcome(CURLcode code) const {
  if (failure_) return fail(*failure_);
  if (code == CURLE_OK) {
    if (head_done_) return {};
    return fail(Errc::kTransport, "{}: disconnected before an answer", target_);
  }
  CurlFailure failure;
  failure.code = code;
  failure.detail = detail_;
  failure.target = target_;
  failure.checked_name = checked_name_;
  failure.proxy = proxy_;
  failure.ca = describe_ca(request_.tls.get());
  curl_easy_getinfo(easy_.get(), CURLINFO_SSL_VERIFYRESULT, &failure.verify_result);
  failure.client_certificate = request_.tls && !request_.tls->certificate_pem.empty();
  failure.head_seen = head_done_;
  failure.outcome_unknown = outcome_unknown();
  failure.connect_timeout = request_.connect_timeout;
  return fail(describe(failure));
}

long CurlTransfer::local_port() const {
  long port = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_LOCAL_PORT, &port);
  return port;
}

size_t CurlTransfer::stop() {
  distrust_connection();  // libcurl drops the connection or puts it back before anyone else is asked
  return CURL_WRITEFUNC_ERROR;
}

void CurlTransfer::done(Result<void> result) {
  if (silent_) return;
  silent_ = true;
  const HttpHandlers handlers = std::exchange(handlers_, {});
  if (handlers.on_done) handlers.on_done(std::move(result));
}

void CurlTransfer::release() {
  idle_timer.cancel();
  total_timer.cancel();
  easy_.reset();
  headers_.reset();
  connect_to_.reset();
}

}  // namespace hookd::net
