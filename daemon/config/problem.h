// What is wrong in a file that a person wrote, collected so that one look shows all of it. Thread: any.
#pragma once

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hookd::config {

struct Position {
  int line = 0;    // from 1; 0 = the file as a whole
  int column = 0;  // from 1, in bytes
  auto operator<=>(const Position&) const = default;
};

struct Problem {
  std::string file;
  int line = 0;
  int column = 0;
  std::string message;  // "spec.watch[0].when: what was wrong; what was expected"

  // "FILE:LINE:COLUMN: message", "FILE: message" without a position.
  std::string text() const;
  bool operator==(const Problem&) const = default;
};

class Problems {
 public:
  static constexpr size_t kMost = 100;  // a file with more is not worth a longer list

  explicit Problems(std::string file) : file_(std::move(file)) {}

  // `path` names the key ("spec.watch[0].when"), "" = none.
  template <class... Args>
  void add(Position at, std::string_view path, fmt::format_string<Args...> format, Args&&... args) {
    add_text(at, path, fmt::format(format, std::forward<Args>(args)...));
  }
  void add_text(Position at, std::string_view path, std::string_view message);

  const std::string& file() const { return file_; }
  bool empty() const { return list_.empty(); }
  size_t size() const { return list_.size(); }
  // In the order of the file.
  std::vector<Problem> sorted() const;
  std::string text() const;  // one a line

  // Readers write down here which keys they know in which map ("spec.watch[]" -> names), so that a test can hold
  // config/*.schema.json against the code. Off unless asked for.
  void record_keys() { recording_ = true; }
  void known_keys(std::string_view path, const std::set<std::string, std::less<>>& keys);
  const std::map<std::string, std::set<std::string, std::less<>>>& recorded() const { return recorded_; }

 private:
  std::string file_;
  std::vector<Problem> list_;
  bool recording_ = false;
  std::map<std::string, std::set<std::string, std::less<>>> recorded_;
};

}  // namespace hookd::config
