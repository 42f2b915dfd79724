#include "apply/json_diff.h"

#include <algorithm>
#include <boost/json.hpp>
#include <vector>

#include "base/json_read.h"

namespace hookd::apply {
namespace {

using boost::json::value;

// ".spec.replicas", ".metadata.annotations[\"a/b\"]", ".containers[0]"
std::string step(std::string_view key) {
  const bool plain = !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  return plain ? fmt::format(".{}", key) : fmt::format("[{}]", boost::json::serialize(value(key)));
}

class Diff {
 public:
  explicit Diff(bool secret) : secret_(secret) {}

  void compare(const std::string& path, const value* before, const value* after) {
    if (servers_own(path)) return;
    if (before && after) {
      if (*before == *after) return;
      if (before->is_object() && after->is_object()) return members(path, before->get_object(), after->get_object());
      if (before->is_array() && after->is_array()) return elements(path, before->get_array(), after->get_array());
      add(path, fmt::format("~ {}: {} -> {}", path, show(path, *before), show(path, *after)));
      return;
    }
    const value* only = before ? before : after;
    if (!only) return;
    if (only->is_object() && !only->get_object().empty()) {
      for (const auto& [key, child] : only->get_object())
        compare(path + step(key), before ? &child : nullptr, after ? &child : nullptr);
      return;
    }
    add(path, fmt::format("{} {}: {}", before ? '-' : '+', path, show(path, *only)));
  }

  std::vector<std::string> lines, paths;

 private:
  void add(const std::string& path, std::string line) {
    paths.push_back(path);
    lines.push_back(std::move(line));
  }
  static bool servers_own(std::string_view path) {
    for (const std::string_view own : {".metadata.managedFields", ".metadata.resourceVersion", ".metadata.generation",
                                       ".metadata.uid", ".metadata.creationTimestamp"})
      if (path == own) return true;
    return false;
  }

  void members(const std::string& path, const boost::json::object& before, const boost::json::object& after) {
    for (const auto& [key, child] : before) compare(path + step(key), &child, after.if_contains(key));
    for (const auto& [key, child] : after)
      if (!before.contains(key)) compare(path + step(key), nullptr, &child);
  }

  void elements(const std::string& path, const boost::json::array& before, const boost::json::array& after) {
    for (size_t i = 0; i < std::max(before.size(), after.size()); ++i)
      compare(fmt::format("{}[{}]", path, i), before.if_contains(i), after.if_contains(i));
  }

  std::string show(std::string_view path, const value& shown) const {
    const std::string text = boost::json::serialize(shown);
    const bool hidden = secret_ && (path.starts_with(".data") || path.starts_with(".stringData") ||
                                    path.starts_with(".metadata.annotations[\"kubectl.kubernetes.io/last-applied") ||
                                    path.starts_with(".metadata.annotations[\"metacontroller.k8s.io/last-applied"));
    if (hidden) return fmt::format("*** ({} bytes)", text.size());
    return text.size() > 200 ? fmt::format("{}… ({} bytes)", text.substr(0, 200), text.size()) : text;
  }

  bool secret_;
};

}  // namespace

std::string json_diff(std::string_view before, std::string_view after, size_t max_lines) {
  const auto old = before.empty() ? Result<value>(value()) : parse_json(before);
  const auto now = parse_json(after);
  if (!old || !now || !now->is_object()) return {};
  const auto kind = now->get_object().if_contains("kind");
  Diff diff(kind && kind->is_string() && kind->get_string() == "Secret");
  diff.compare("", before.empty() ? nullptr : &*old, &*now);
  std::string text;
  for (size_t i = 0; i < diff.lines.size() && i < max_lines; ++i) text += (i ? "\n" : "") + diff.lines[i];
  if (diff.lines.size() > max_lines) text += fmt::format("\n… and {} more", diff.lines.size() - max_lines);
  return text;
}

std::vector<std::string> changed_paths(std::string_view before, std::string_view after, size_t max) {
  const auto old = parse_json(before), now = parse_json(after);
  if (!old || !now) return {};
  Diff diff(true);
  diff.compare("", &*old, &*now);
  if (diff.paths.size() > max) diff.paths.resize(max);
  return std::move(diff.paths);
}

}  // namespace hookd::apply
