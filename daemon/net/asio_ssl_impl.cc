// Boost.Asio's TLS part is compiled once, here; the rest of Asio comes with daemon/base.
#include <boost/asio/ssl/impl/src.hpp>
