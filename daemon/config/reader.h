// Reads one map of a YAML tree into typed values and collects everything that is wrong with it, unknown keys too,
// instead of stopping at the first. Every problem names the key's path: "spec.watch[0].for: …". Thread: any.
//
//   Reader r(node, "spec.run", problems);
//   r.duration("timeout", run.timeout, 0s, 24h);
//   r.finish();
#pragma once

#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/scheduler.h"
#include "config/problem.h"
#include "config/yaml_source.h"

namespace hookd::config {

class Reader {
 public:
  // A node that is no map is reported here, and everything after reads as absent.
  Reader(const Node& node, std::string path, Problems& problems);

  // All readers below: false = absent or wrong (then reported); `out` is only changed when they return true.
  bool string(std::string_view key, std::string& out);  // not ""
  bool required_string(std::string_view key, std::string& out);
  bool boolean(std::string_view key, bool& out);
  template <std::integral T>
  bool integer(std::string_view key, T& out, T min, T max) {
    int64_t value = 0;
    if (!whole_number(key, value, static_cast<int64_t>(min), static_cast<int64_t>(max))) return false;
    out = static_cast<T>(value);
    return true;
  }
  bool number(std::string_view key, double& out, double min, double max);
  bool duration(std::string_view key, Duration& out, Duration min, Duration max);  // "30s", and a bare 0
  bool quantity(std::string_view key, uint64_t& out, uint64_t min = 1, uint64_t max = uint64_t{1} << 62);  // bytes
  template <class E>
  bool one_of(std::string_view key, E& out,
              std::initializer_list<std::pair<std::string_view, std::type_identity_t<E>>> choices) {
    std::set<std::string, std::less<>> names;
    for (const auto& choice : choices) names.emplace(choice.first);
    std::string name;
    if (!choice_name(key, name, names)) return false;
    for (const auto& choice : choices)
      if (choice.first == name) out = choice.second;
    return true;
  }
  bool string_list(std::string_view key, std::vector<std::string>& out);  // elements not "", no double
  bool words(std::string_view key, std::vector<std::string>& out);        // a command: doubles and "" are fine
  bool string_map(std::string_view key, std::map<std::string, std::string>& out);
  // The map or the elements of the list under `key`, each with its path.
  std::optional<Reader> map(std::string_view key);
  std::vector<Reader> maps(std::string_view key);
  // The value as it is; nullptr = absent.
  const Node* raw(std::string_view key);
  bool has(std::string_view key) const { return node_.find(key) != nullptr; }

  // A key that is meant for a later version: an error where it stands, so that nobody believes that it works.
  void unsupported(std::string_view key);
  void require(std::string_view key);                                          // reports `key` if it is missing
  void problem(std::string_view key, std::string_view message);                // at the value of `key`, or at the map
  void problem(std::string_view key, size_t index, std::string_view message);  // at an element of the list of `key`
  void problem_here(std::string_view message);
  bool is_map() const { return node_.kind == Node::Kind::kMap; }
  // Reports the keys that nobody asked for.
  void finish();

  std::string path_of(std::string_view key) const;
  const std::string& path() const { return path_; }
  Position at() const { return node_.at; }
  Position at(std::string_view key) const;
  Problems& problems() { return problems_; }

 private:
  const Node* take(std::string_view key);
  bool wrong(std::string_view key, const Node& node, std::string_view expected);
  bool whole_number(std::string_view key, int64_t& out, int64_t min, int64_t max);
  bool choice_name(std::string_view key, std::string& out, const std::set<std::string, std::less<>>& names);
  bool texts(std::string_view key, std::vector<std::string>& out, bool is_set);

  const Node& node_;
  std::string path_;
  Problems& problems_;
  std::set<std::string, std::less<>> known_;
  std::set<std::string, std::less<>> unsupported_;
};

}  // namespace hookd::config
