#include "net/http_transport.h"

namespace hookd::net {

std::string_view HttpHead::header(std::string_view lower_name) const {
  for (const auto& [name, value] : headers)
    if (name == lower_name) return value;
  return {};
}

}  // namespace hookd::net
