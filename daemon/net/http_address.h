// The address that a server listens on, as people write it. Thread: any.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hookd::net {

// Opens, binds and listens. `address`: see HttpServer::listen(). Errors: kConfig.
Result<void> listen_on(boost::asio::ip::tcp::acceptor& acceptor, std::string_view address);

// "10.0.0.7:41022", "[::1]:80"; an IPv4 address that is mapped into IPv6 as IPv4.
std::string to_text(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace hookd::net
