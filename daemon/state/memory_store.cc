#include "state/memory_store.h"

namespace hookd::state {
namespace {

std::pair<std::string, std::string> place(std::string_view table, std::string_view key) {
  return {std::string(table), std::string(key)};
}

}  // namespace

Result<std::optional<std::string>> MemoryStore::read(std::string_view table, std::string_view key) const {
  const auto row = rows_.find(place(table, key));
  return row == rows_.end() ? std::optional<std::string>() : row->second;
}

void MemoryStore::put(std::string_view table, std::string_view key, std::string_view value) {
  rows_.insert_or_assign(place(table, key), std::string(value));
}

void MemoryStore::erase(std::string_view table, std::string_view key) { rows_.erase(place(table, key)); }

Result<void> MemoryStore::each(std::string_view table, std::string_view key_prefix,
                               const std::function<void(std::string_view, std::string_view)>& visit) const {
  for (auto row = rows_.lower_bound(place(table, key_prefix)); row != rows_.end(); ++row) {
    if (row->first.first != table || !std::string_view(row->first.second).starts_with(key_prefix)) break;
    visit(row->first.second, row->second);
  }
  return {};
}

}  // namespace hookd::state
