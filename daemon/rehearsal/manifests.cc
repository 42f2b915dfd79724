#include "rehearsal/manifests.h"

#include <filesystem>

#include "base/fd.h"
#include "base/json_read.h"
#include "hook/hook_files.h"

namespace hookd::rehearsal {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFileLimitBytes = 64u << 20;
constexpr size_t kMostFiles = 10'000;

Result<std::vector<apply::Operation>> operations_of(std::string_view json, apply::Verb verb) {
  HOOKD_TRY(auto operations, apply::manifest_operations(json));
  for (apply::Operation& op : operations) op.verb = verb;
  return operations;
}

bool has_end(std::string_view name, std::initializer_list<std::string_view> ends) {
  return std::ranges::any_of(ends, [&](std::string_view end) { return name.ends_with(end); });
}

// Regular files below `folder` in the order of names, hidden ones and the twins of ConfigMap mounts left out.
void walk(const fs::path& folder, const std::function<bool(const std::string&)>& wanted,
          std::vector<std::string>& out) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (!it->path().filename().string().starts_with('.')) entries.push_back(it->path());
  std::ranges::sort(entries);
  for (const fs::path& entry : entries) {
    if (out.size() >= kMostFiles) return;
    if (fs::is_directory(entry, error) && !fs::is_symlink(entry, error))
      walk(entry, wanted, out);
    else if (fs::is_regular_file(entry, error) && wanted(entry.filename().string()))
      out.push_back(entry.string());
  }
}

// Every document names a kind of Kubernetes.
bool holds_manifests(const std::string& path) {
  const auto text = read_file(path, kFileLimitBytes);
  if (!text) return false;
  const auto documents = config::yaml_to_json(*text, path);
  if (!documents || documents->empty()) return false;
  return std::ranges::all_of(*documents, [](const std::string& json) {
    const auto version = json_string_at(json, {"apiVersion"});
    return version && json_string_at(json, {"kind"}) && !version->starts_with("hookd/") &&
           !version->starts_with("kustomize.config.k8s.io/");
  });
}

}  // namespace

Result<std::vector<apply::Operation>> manifests_in_file(const std::string& path, apply::Verb verb) {
  HOOKD_TRY(const std::string text, read_named_file(path, kFileLimitBytes));
  HOOKD_TRY(const auto documents, config::yaml_to_json(text, path, {.bytes = kFileLimitBytes, .values = 5'000'000}));
  std::vector<apply::Operation> all;
  for (size_t i = 0; i < documents.size(); ++i) {
    auto operations = operations_of(documents[i], verb);
    if (!operations) return fail(Errc::kConfig, "{}: document {}: {}", path, i + 1, operations.error().what);
    std::ranges::move(*operations, std::back_inserter(all));
  }
  if (all.empty()) return fail(Errc::kConfig, "{}: holds no manifest", path);
  return all;
}

Result<std::vector<apply::Operation>> manifests_in_node(const config::Node& node, apply::Verb verb) {
  std::string json;
  HOOKD_CHECK(config::append_json(json, node));
  return operations_of(json, verb);
}

std::vector<std::string> find_manifest_files(const std::string& folder) {
  std::vector<std::string> files;
  walk(
      folder,
      [](const std::string& name) {
        return has_end(name, {".yaml", ".yml", ".json"}) && !hook::is_hook_file(name) && !is_test_file(name) &&
               name != "scenario.yaml" && name != "scenario.yml";
      },
      files);
  std::erase_if(files, [](const std::string& file) { return !holds_manifests(file); });
  return files;
}

bool is_test_file(std::string_view name) { return has_end(name, {".test.yaml", ".test.yml"}); }

Result<std::vector<std::string>> find_test_files(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return fail(Errc::kConfig, "{}: no such file or folder", folder);
  std::vector<std::string> files;
  if (fs::is_regular_file(folder, error)) return std::vector{folder};
  walk(folder, is_test_file, files);
  return files;
}

}  // namespace hookd::rehearsal
