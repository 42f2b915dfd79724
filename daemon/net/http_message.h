// Bytes to requests, answers to bytes. Thread: any. Boost.Beast stays in http_message.cc: it costs seconds in every
// file that includes it.
#pragma once

#include <boost/system/error_code.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "net/http_server.h"

namespace hookd::net {

struct ReceivedRequest {
  ServerRequest request;  // without peer and client certificate
  bool head_only = false;
  bool keep_alive = false;
  unsigned version = 11;  // 10 or 11
};

// Reads one request.
class RequestReader {
 public:
  enum class State {
    kMore,     // bytes are missing
    kExpects,  // told once: the client waits for "100 Continue" before it sends the body
    kWhole,    // take() it
    kRefused,  // see status() and why(); whatever follows on the connection makes no sense
  };

  RequestReader(size_t header_bytes, size_t body_bytes);
  RequestReader(RequestReader&&) noexcept;
  RequestReader& operator=(RequestReader&&) noexcept;
  ~RequestReader();

  // Takes what it can use off the front of `input`.
  State feed(std::string& input);
  bool in_body() const;
  ReceivedRequest take();
  int status() const { return status_; }
  const std::string& why() const { return why_; }

 private:
  struct Parser;
  State refuse(int status, std::string why);
  State refuse(const boost::system::error_code& error);

  std::unique_ptr<Parser> parser_;
  size_t header_bytes_;
  size_t body_bytes_;
  size_t header_seen_ = 0;
  bool expect_checked_ = false;
  int status_ = 0;
  std::string why_;
};

enum class Framing { kLength, kChunked, kUntilClose };

// Status line and header lines with the empty line that ends them.
std::string head_of(const ServerResponse& response, Framing framing, unsigned version, bool keep_alive);

// May an answer of this status have a body at all? (RFC 9110 6.4.1)
inline bool has_body(int status) { return status >= 200 && status != 204 && status != 304; }

}  // namespace hookd::net
