// Boost.Asio and Boost.JSON are compiled once, here.
#include <boost/asio/impl/src.hpp>
#include <boost/json/src.hpp>
