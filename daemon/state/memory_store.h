// A store that forgets with the process. Thread: loop only.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "state/store.h"

namespace hookd::state {

class MemoryStore : public Store {
 public:
  Result<std::optional<std::string>> read(std::string_view table, std::string_view key) const override;
  void put(std::string_view table, std::string_view key, std::string_view value) override;
  void erase(std::string_view table, std::string_view key) override;
  Result<void> each(std::string_view table, std::string_view key_prefix,
                    const std::function<void(std::string_view, std::string_view)>& visit) const override;
  void flush() override {}
  bool durable() const override { return false; }
  bool keeps(std::string_view) const override { return true; }
  std::optional<Error> trouble() const override { return std::nullopt; }

 private:
  std::map<std::pair<std::string, std::string>, std::string, std::less<>> rows_;
};

}  // namespace hookd::state
