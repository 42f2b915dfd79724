#include "net/http_address.h"

#include <boost/asio/ip/v6_only.hpp>
#include <charconv>
#include <optional>

namespace hookd::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

struct ListenAddress {
  std::optional<asio::ip::address> address;  // none = every one
  uint16_t port = 0;
};

Result<ListenAddress> parse_listen_address(std::string_view text) {
  const auto wrong = [&] {
    return fail(Errc::kConfig,
                "\"{}\" is not an address to listen on; write \":9115\", \"127.0.0.1:9115\" or \"[::1]:9115\"", text);
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  ListenAddress result;
  const auto digits = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result.port);
  if (error != std::errc() || end != digits.data() + digits.size()) return wrong();
  std::string_view host = text.substr(0, colon);
  if (host.empty()) return result;
  if (host == "localhost") host = "127.0.0.1";
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  error_code parse_error;
  result.address = asio::ip::make_address(host, parse_error);
  if (parse_error || result.address->is_v6() != brackets) return wrong();
  return result;
}

error_code open_and_listen(tcp::acceptor& acceptor, const tcp::endpoint& endpoint, bool dual_stack) {
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(!dual_stack), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    error_code ignored;
    acceptor.close(ignored);
  }
  return error;
}

}  // namespace

Result<void> listen_on(tcp::acceptor& acceptor, std::string_view text) {
  HOOKD_TRY(const ListenAddress wanted, parse_listen_address(text));
  error_code error;
  if (wanted.address) {
    error = open_and_listen(acceptor, {*wanted.address, wanted.port}, false);
  } else {
    error = open_and_listen(acceptor, {tcp::v6(), wanted.port}, true);
    if (error == asio::error::address_family_not_supported || error == asio::error::no_protocol_option)
      error = open_and_listen(acceptor, {tcp::v4(), wanted.port}, false);  // a kernel without IPv6
  }
  if (error == asio::error::address_in_use)
    return fail(Errc::kConfig, "cannot listen on {}: the port is taken; stop what uses it, or choose another", text);
  if (error) return fail(Errc::kConfig, "cannot listen on {}: {}", text, error.message());
  return {};
}

std::string to_text(const tcp::endpoint& endpoint) {
  auto address = endpoint.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  return address.is_v6() ? fmt::format("[{}]:{}", address.to_string(), endpoint.port())
                         : fmt::format("{}:{}", address.to_string(), endpoint.port());
}

}  // namespace hookd::net
