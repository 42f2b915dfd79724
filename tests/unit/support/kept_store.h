// A store that outlives what stands on it, in memory, and counts what is written.
#pragma once

#include <gtest/gtest.h>

#include "state/memory_store.h"

namespace hookd::test {

struct KeptStore final : state::MemoryStore {
  void put(std::string_view table, std::string_view key, std::string_view value) override {
    ++writes;
    MemoryStore::put(table, key, value);
  }
  void erase(std::string_view table, std::string_view key) override {
    ++writes;
    MemoryStore::erase(table, key);
  }
  bool durable() const override { return true; }
  size_t rows(std::string_view table) const {
    size_t count = 0;
    EXPECT_TRUE(each(table, "", [&](std::string_view, std::string_view) { ++count; }));
    return count;
  }
  int writes = 0;
};

}  // namespace hookd::test
