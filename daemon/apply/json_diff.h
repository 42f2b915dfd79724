// What differs between two objects, path by path, for people. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hookd::apply {

// One line a path, at most `max_lines` (then "… and N more"):
//   ~ .spec.replicas: 1 -> 3
//   + .metadata.labels.team: "x"
//   - .spec.paused: true
// `before` "" = there was no object. What the server keeps for itself (managedFields, resourceVersion, generation) is
// left out; the data of Secrets is shown as its length only. "" = no difference, or one of them cannot be read.
std::string json_diff(std::string_view before, std::string_view after, size_t max_lines = 100);

// The paths alone, of values that differ, with nothing of the values; at most `max`.
std::vector<std::string> changed_paths(std::string_view before, std::string_view after, size_t max);

}  // namespace hookd::apply
