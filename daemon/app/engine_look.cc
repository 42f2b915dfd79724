// The hooks of an engine as people see them.
#include "app/engine.h"

namespace hookd::app {

HookUnit* Engine::find(const std::string& hook) const {
  if (const auto unit = units_.find(hook); unit != units_.end()) return unit->second.get();
  if (const auto replacing = replacing_.find(hook); replacing != replacing_.end()) return replacing->second.old.get();
  return nullptr;
}

std::vector<HookLook> Engine::looks() const {
  std::map<std::string, HookLook> by_name;
  for (const HookUnit* unit : all_units()) by_name.try_emplace(unit->hook().name, unit->look());
  std::vector<HookLook> looks;
  for (auto& [name, look] : by_name) looks.push_back(std::move(look));
  return looks;
}

std::vector<QueueRow> Engine::rows(const std::string& hook, size_t limit) const {
  std::vector<QueueRow> rows;
  for (const HookUnit* unit : all_units()) {
    if (!hook.empty() && unit->hook().name != hook) continue;
    if (rows.size() >= limit) break;
    for (QueueRow& row : unit->rows(limit - rows.size())) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace hookd::app
