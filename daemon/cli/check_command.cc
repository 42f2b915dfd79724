#include <cstdio>

#include "app/load_hooks.h"
#include "cli/cli.h"

namespace hookd::cli {
namespace {

void print_reconcile(const hook::Reconcile& reconcile) {
  fmt::print("; reconcile {}", reconcile.parent.kind);
  for (const auto& child : reconcile.children) fmt::print("; children {}", child.kind);
  for (const auto& related : reconcile.related) fmt::print("; related {} ({})", related.name, related.kind);
  if (reconcile.finalizer) fmt::print("; finalizer {}", reconcile.finalizer_name);
}

}  // namespace

int run_check(const std::vector<std::string>& folders, const std::string& config_file) {
  bool good = true;
  if (!config_file.empty()) {
    if (auto config = config::load_daemon_config(config_file, [](const std::string&) { return std::nullopt; });
        !config) {
      fmt::print(stderr, "{}\n", config.error().what);
      good = false;
    }
  }
  const auto loaded = app::load_hooks(folders);
  for (const auto& error : loaded.errors) fmt::print(stderr, "{}\n", error.text());
  for (const auto& hook : loaded.hooks) {
    fmt::print("{}: ok ({}", hook->name, hook->path);
    for (const auto& watch : hook->watches) fmt::print("; watch {}", watch.name);
    for (const auto& schedule : hook->schedules) fmt::print("; schedule {}", schedule.name);
    for (const auto& source : hook->sources) fmt::print("; source {}", source.name);
    if (hook->startup) fmt::print("; startup");
    if (hook->reconcile) print_reconcile(*hook->reconcile);
    fmt::print(")\n");
  }
  good &= loaded.errors.empty();
  if (good && loaded.hooks.empty()) {
    fmt::print(stderr, "no hook was found; hooks are files named hook.yaml or NAME.hook.yaml\n");
    return 1;
  }
  if (!good) fmt::print(stderr, "{} problem(s)\n", std::max<size_t>(loaded.errors.size(), 1));
  return good ? 0 : 1;
}

}  // namespace hookd::cli
