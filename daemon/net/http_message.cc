#include "net/http_message.h"

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <charconv>

#include "base/ascii.h"
#include "base/log.h"

namespace hookd::net {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

}  // namespace

std::string_view ServerRequest::header(std::string_view lower_name) const {
  for (const auto& [name, value] : headers)
    if (name == lower_name) return value;
  return {};
}

struct RequestReader::Parser : http::request_parser<http::string_body> {};

RequestReader::RequestReader(size_t header_bytes, size_t body_bytes)
    : parser_(std::make_unique<Parser>()), header_bytes_(header_bytes), body_bytes_(body_bytes) {
  parser_->header_limit(static_cast<uint32_t>(header_bytes));
  parser_->body_limit(body_bytes);
}
RequestReader::RequestReader(RequestReader&&) noexcept = default;
RequestReader& RequestReader::operator=(RequestReader&&) noexcept = default;
RequestReader::~RequestReader() = default;

bool RequestReader::in_body() const { return parser_->is_header_done(); }

RequestReader::State RequestReader::feed(std::string& input) {
  while (true) {
    if (parser_->got_some() && parser_->is_done()) return State::kWhole;
    if (parser_->is_header_done() && !std::exchange(expect_checked_, true) &&
        lower(parser_->get()[http::field::expect]) == "100-continue")
      return State::kExpects;
    if (input.empty()) return State::kMore;
    const bool header = !parser_->is_header_done();
    parser_->eager(!header);  // stops after the header, for the sake of `Expect`
    error_code error;
    const size_t used = parser_->put(boost::asio::buffer(input), error);
    input.erase(0, used);
    if (header) header_seen_ += used;
    if (error && error != http::error::need_more) return refuse(error);
    // The parser's own limit is for what came at once.
    if (header && header_seen_ + (parser_->is_header_done() ? 0 : input.size()) > header_bytes_)
      return refuse(http::error::header_limit);
    if (!error) continue;
    if (!header && input.size() > header_bytes_)
      return refuse(400, fmt::format("the header of a chunk is over {} bytes", header_bytes_));
    return State::kMore;
  }
}

RequestReader::State RequestReader::refuse(const error_code& error) {
  if (error == http::error::body_limit) return refuse(413, fmt::format("the body is over {} bytes", body_bytes_));
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return refuse(431, fmt::format("the header is over {} bytes", header_bytes_));
  return refuse(400, "not a request that can be understood: " + error.message());
}

RequestReader::State RequestReader::refuse(int status, std::string why) {
  status_ = status;
  why_ = std::move(why);
  return State::kRefused;
}

ReceivedRequest RequestReader::take() {
  auto message = parser_->release();
  ReceivedRequest result;
  result.version = message.version();
  result.keep_alive = message.keep_alive();
  result.head_only = message.method() == http::verb::head;
  ServerRequest& request = result.request;
  request.method = message.method_string();
  std::string_view target(message.target().data(), message.target().size());
  if (const auto scheme = target.find("://"); !target.starts_with('/') && scheme != std::string_view::npos) {
    const auto path = target.find('/', scheme + 3);  // absolute form, as sent to proxies
    target = path == std::string_view::npos ? std::string_view("/") : target.substr(path);
  }
  const auto question = target.find('?');
  request.path = target.substr(0, question);
  if (question != std::string_view::npos) request.query = target.substr(question + 1);
  for (const auto& field : message) request.headers.emplace_back(lower(field.name_string()), field.value());
  request.body = std::move(message.body());
  return result;
}

std::string head_of(const ServerResponse& response, Framing framing, unsigned version, bool keep_alive) {
  const auto status = static_cast<unsigned>(response.status);
  std::string head = fmt::format("HTTP/{}.{} {} {}\r\n", version / 10, version % 10, status,
                                 std::string_view(http::obsolete_reason(http::int_to_status(status))));
  for (const auto& [name, value] : response.headers) {
    const std::string key = lower(name);
    if (key == "content-length" || key == "transfer-encoding" || key == "connection" ||
        (key == "content-type" && !response.content_type.empty()))
      continue;
    if ((name + value).find_first_of("\r\n") != std::string::npos)
      log::warn("a header of an answer has a line break and was left out", {{"header", name}});
    else
      head += fmt::format("{}: {}\r\n", name, value);
  }
  if (!response.content_type.empty()) head += fmt::format("Content-Type: {}\r\n", response.content_type);
  if (version == 11 && !keep_alive) head += "Connection: close\r\n";
  if (version == 10 && keep_alive) head += "Connection: keep-alive\r\n";
  if (framing == Framing::kChunked)
    head += "Transfer-Encoding: chunked\r\n";
  else if (framing == Framing::kLength && has_body(response.status))
    head += fmt::format("Content-Length: {}\r\n", response.body.size());
  return head + "\r\n";
}

}  // namespace hookd::net
