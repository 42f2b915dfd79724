#include "hook/native_loader.h"

#include <algorithm>

#include "base/fd.h"
#include "config/yaml_source.h"
#include "hook/hook_files.h"
#include "hook/native_document.h"

namespace hookd::hook {
namespace {

constexpr size_t kFileLimitBytes = 1u << 20;

// Each of two hooks would take the other's finalizer for its own, and let objects go that the other still holds.
const Hook* who_holds(const std::vector<const Hook*>& hooks, const Hook& hook) {
  const auto group = [](const HeldKind& held) { return held.api_version.substr(0, held.api_version.rfind('/') + 1); };
  for (const Hook* other : hooks)
    for (const HeldKind& one : other->holds)
      for (const HeldKind& held : hook.holds)
        if (one.finalizer == held.finalizer && one.kind == held.kind && group(one) == group(held)) return other;
  return nullptr;
}

bool share_a_name(const std::vector<std::string>& one, const std::vector<std::string>& other) {
  return one.empty() || other.empty() || std::ranges::any_of(one, [&](const std::string& name) {
           return std::ranges::find(other, name) != other.end();
         });
}

// Two that differ may be meant to tell objects apart; one that is not there selects them all.
bool may_select_the_same(const std::optional<cache::LabelSelector>& one,
                         const std::optional<cache::LabelSelector>& other) {
  return !one || !other || one->to_string() == other->to_string();
}

template <class Rule>
bool same_kind(const Rule& one, const Rule& other) {
  const auto group = [](const Rule& rule) { return rule.api_version.substr(0, rule.api_version.rfind('/') + 1); };
  return one.kind == other.kind && group(one) == group(other);
}

// Which children a parent has stands in their owner reference, not which hook made them: each of two hooks that own the
// same kind below the same parents would delete what the other makes.
std::string whose_children_too(const std::vector<const Hook*>& hooks, const Hook& hook) {
  if (!hook.reconcile) return {};
  const ParentRule& parent = hook.reconcile->parent;
  for (const Hook* other : hooks) {
    if (!other->reconcile) continue;
    const ParentRule& beside = other->reconcile->parent;
    if (!same_kind(parent, beside) || !share_a_name(parent.namespaces.names, beside.namespaces.names) ||
        !may_select_the_same(parent.namespaces.label_selector, beside.namespaces.label_selector) ||
        !may_select_the_same(parent.label_selector, beside.label_selector) || (parent.when && beside.when))
      continue;
    for (const ChildRule& child : hook.reconcile->children)
      for (const ChildRule& taken : other->reconcile->children)
        if (same_kind(child, taken) && share_a_name(child.namespaces, taken.namespaces) &&
            may_select_the_same(child.label_selector, taken.label_selector))
          return fmt::format(
              "spec.reconcile.children: {} below {} are children of the hook \"{}\" already, and each would delete "
              "what "
              "the other makes; make one hook of them, or tell objects apart by a labelSelector on both",
              child.kind, parent.kind, other->name);
  }
  return {};
}

}  // namespace

std::string clash(const std::vector<const Hook*>& others, const Hook& hook) {
  if (const Hook* holder = who_holds(others, hook))
    return fmt::format("spec.reconcile.finalizer: {} on {} is that of the hook \"{}\" already; give each its own",
                       hook.holds.front().finalizer, hook.holds.front().kind, holder->name);
  return whose_children_too(others, hook);
}

void load_hook_text(std::string_view text, const std::string& file, const LoadOptions& options, LoadResult& result) {
  config::Problems own(file);
  config::Problems& problems = options.record == nullptr ? own : *options.record;
  const std::vector<config::Node> documents = config::parse_yaml(text, problems);
  bool found = false;
  for (const config::Node& document : documents) {
    if (document.kind == config::Node::Kind::kNull) continue;
    found = true;
    if (auto hook = read_hook_document(document, file, options, problems)) result.hooks.push_back(std::move(hook));
  }
  if (!found && problems.empty()) problems.add({}, "", "declares no hook; expected a document with kind: Hook");
  for (config::Problem& problem : problems.sorted()) result.errors.push_back(std::move(problem));
}

LoadResult load_hooks(const std::vector<std::string>& directories, const LoadOptions& options) {
  LoadResult all;
  for (const std::string& file : find_hook_files(directories, all.errors)) {
    const auto text = read_file(file, kFileLimitBytes);
    if (!text) {
      all.errors.push_back({file, 0, 0, text.error().what});
      continue;
    }
    load_hook_text(*text, file, options, all);
  }
  std::map<std::string, std::string> first;  // name -> file
  std::vector<std::shared_ptr<const Hook>> unique;
  std::vector<const Hook*> known;
  for (auto& hook : all.hooks) {
    const auto [other, fresh] = first.emplace(hook->name, hook->path);
    const std::string wrong = fresh ? clash(known, *hook) : "";
    if (!wrong.empty()) {
      all.errors.push_back({hook->path, hook->line, hook->column, wrong});
    } else if (fresh) {
      known.push_back(hook.get());
      unique.push_back(std::move(hook));
    } else {
      all.errors.push_back({hook->path, hook->line, hook->column,
                            fmt::format("metadata.name: \"{}\" is the name of the hook in {} already; names are unique",
                                        hook->name, other->second)});
    }
  }
  all.hooks = std::move(unique);
  return all;
}

}  // namespace hookd::hook
