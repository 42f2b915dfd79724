#include "state/store.h"

namespace hookd::state {

Store::Rows Store::page(std::string_view table, std::string_view key_prefix, std::string_view after,
                        size_t limit) const {
  Rows rows;
  each(table, key_prefix, [&](std::string_view key, std::string_view value) {
    if (rows.size() < limit && key > after) rows.emplace_back(key, value);
  });
  return rows;
}

}  // namespace hookd::state
