// A second look at the text behind yaml-cpp's events. Version 0.7 takes some broken texts without a word: quotes that
// are never closed, a key without its ':' at the end of the file, "[a,,b]". A file or an answer that was cut must not
// pass as a whole one. Thread: any.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "config/yaml_source.h"

namespace hookd::config {

class YamlText {
 public:
  explicit YamlText(std::string_view text);

  std::string_view line(int number) const;  // from 1; "" outside

  // What is wrong with the scalar, key or null that yaml-cpp reports at this place; "" = nothing.
  std::string_view check_scalar(Position at) const;   // quotes are closed
  std::string_view check_key(const Node& key) const;  // is followed by ':', if it is no `? key`
  std::string_view check_null_in_flow_list(Position at) const;
  char at(Position position) const;                    // 0 outside
  bool nothing_after(const Node& plain_scalar) const;  // but blanks
  // Does `---` or `...` stand between the document before and the one that begins here?
  bool separated(Position start) const;

 private:
  size_t offset(Position at) const;
  size_t after_properties(size_t offset) const;             // past &anchor and !tag
  std::optional<size_t> after_quotes(size_t offset) const;  // nullopt = never closed

  std::string_view text_;
  std::vector<size_t> starts_;  // of the lines
};

}  // namespace hookd::config
