#include "hook/native_loader.h"

#include "base/fd.h"
#include "config/yaml_source.h"
#include "hook/hook_files.h"
#include "hook/native_document.h"

namespace hookd::hook {
namespace {

constexpr size_t kFileLimitBytes = 1u << 20;

}  // namespace

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
  for (auto& hook : all.hooks) {
    const auto [other, fresh] = first.emplace(hook->name, hook->path);
    if (fresh) {
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
