// The one YAML edge: text -> a tree that remembers where everything stands. Nothing else includes yaml-cpp.
// Scalars follow the core schema of YAML 1.2.2 (section 10.3): `on` and `yes` are text; merge keys (`<<`) and aliases
// are resolved. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/problem.h"

namespace hookd::config {

struct Entry;

struct Node {
  enum class Kind { kNull, kBool, kInt, kFloat, kString, kList, kMap };
  Kind kind = Kind::kNull;
  bool plain = false;  // a scalar without quotes
  Position at;
  std::string text;            // a scalar as it is written ("0x1F", "TRUE"); quotes and escapes of a string resolved
  std::vector<Node> items;     // kList
  std::vector<Entry> entries;  // kMap, in the order of the file, keys unique; merged ones last

  const Entry* find(std::string_view key) const;  // nullptr also if this is no map
  bool is_true() const;                           // of a kBool
  std::string describe() const;                   // for messages: `text "x"`, `the number 3`, `a map`, `nothing`
};

struct Entry {
  std::string key;  // as written, also where it looks like a number
  Position at;
  Node value;
};

struct YamlLimits {
  size_t bytes = 4u << 20;  // up to 3 s of work when it is made for that: parse large texts in the pool
  size_t depth = 64;
  size_t values = 500'000;            // scalars, lists and maps
  size_t expanded_bytes = 32u << 20;  // memory for what aliases repeat: a bomb ends here
};

// Every document of `text` (an empty one is a kNull). Broken YAML, duplicate keys, a crossed limit go to `problems`
// with their position; what was whole before them is still returned.
std::vector<Node> parse_yaml(std::string_view text, Problems& problems, const YamlLimits& limits = {});

// A number as JSON writes it: digits are kept ("0x1F" -> 31, "+1.50" -> 1.50, any length of decimal digits).
// Errors: kConfig for what has no one meaning: a leading zero (octal in YAML 1.1, decimal in 1.2), .inf, .nan.
Result<std::string> json_number(const Node& node);

// Appends `node` as JSON text. Errors: kConfig "LINE:COLUMN: …".
Result<void> append_json(std::string& out, const Node& node);

// Each document as one JSON text; empty documents are left out. `file` is for messages ("" = only LINE:COLUMN).
// Errors: kDecode, kTooLarge; every problem on a line of its own.
Result<std::vector<std::string>> yaml_to_json(std::string_view text, const std::string& file,
                                              const YamlLimits& limits = {});

}  // namespace hookd::config
