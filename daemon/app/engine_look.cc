// The hooks of an engine as people see them.
#include "app/engine.h"

#include "base/log.h"

namespace hookd::app {

HookUnit* Engine::find(const std::string& hook) const {
  if (const auto unit = units_.find(hook); unit != units_.end()) return unit->second.get();
  if (const auto replacing = replacing_.find(hook); replacing != replacing_.end()) return replacing->second.old.get();
  return nullptr;
}

std::vector<const hook::Hook*> Engine::hooks() const {
  std::vector<const hook::Hook*> hooks;
  for (const auto& [name, unit] : units_) hooks.push_back(&unit->hook());
  for (const auto& [name, replacing] : replacing_)
    if (replacing.next) hooks.push_back(replacing.next.get());
  return hooks;
}

std::vector<LeftFinalizers::Use> Engine::finalizers_left() const {
  auto left = left_finalizers_.left(hooks());
  if (controllers_) std::erase_if(left, [&](const auto& use) { return controllers_->may_come(use.hook); });
  std::erase_if(left, [&](const auto& use) { return why_not_loaded(use) != nullptr; });
  return left;
}

const hook::LoadError* Engine::why_not_loaded(const LeftFinalizers::Use& use) const {
  if (find(use.hook)) return nullptr;
  const auto found = std::ranges::find_if(load_errors_, [&](const hook::LoadError& error) {
    return use.file.empty() || use.file == error.file || use.file.starts_with(error.file + "/");
  });
  return found == load_errors_.end() ? nullptr : &*found;
}

void Engine::tell_finalizers_left(const std::string& hook) {
  auto left = finalizers_left();
  std::erase_if(left, [&](const auto& use) { return use.hook != hook; });
  // One that does without now takes it off itself.
  for (const hook::Hook* loaded : hooks())
    if (loaded->name == hook && loaded->holds.empty()) return;
  if (left.empty()) return;
  left_finalizers_.count(std::move(left), [hook](const std::vector<LeftFinalizers::Found>& found) {
    for (const auto& one : found) {
      const std::string objects = !one.trouble.empty() ? "objects may"
                                  : one.whole          ? fmt::format("{} object(s)", one.objects)
                                                       : fmt::format("at least {} object(s)", one.objects);
      std::vector<log::Field> fields{{"hook", hook}, {"kind", one.use.held.kind}};
      if (!one.trouble.empty()) fields.emplace_back("error", one.trouble);
      log::write(
          log::Level::kWarn,
          fmt::format("{} still carry the finalizer {} of a hook that does not look after them any more, and cannot "
                      "be deleted; take it off by: hookd finalizers drop {}",
                      objects, one.use.held.finalizer, hook),
          fields);
    }
  });
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
