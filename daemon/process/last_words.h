// The last line that a child wrote on its standard error, for the message of its end. Plain value. Thread: loop only.
#pragma once

#include <string>
#include <string_view>

namespace hookd::process {

class LastWords {
 public:
  static constexpr size_t kBytes = 200;

  void note(std::string_view line) {  // a blank one says nothing
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) words_ = line.substr(0, kBytes);
  }
  void clear() { words_.clear(); }
  bool empty() const { return words_.empty(); }
  // "exit code 1; its last words: no such table"
  std::string after(std::string text) const {
    return words_.empty() ? text : std::move(text) + "; its last words: " + words_;
  }

 private:
  std::string words_;
};

}  // namespace hookd::process
