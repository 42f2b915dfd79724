// Boost.Beast is compiled once, here (BOOST_BEAST_SEPARATE_COMPILATION).
#include <boost/beast/src.hpp>
