// Keys that stand twice in one JSON object: the parsed tree no longer shows them. Thread: any.
#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>

#include "embedded/schema/decode.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {

namespace {

struct Level {
  std::vector<std::string> keys;  // of an object
  size_t path_size = 0;           // of what leads to this object or list
  size_t index = 0;               // the next item of a list
  bool list = false;
};

// Boost's event parser tells each key before its value.
struct Handler {
  static constexpr size_t max_object_size = static_cast<size_t>(-1);
  static constexpr size_t max_array_size = static_cast<size_t>(-1);
  static constexpr size_t max_key_size = static_cast<size_t>(-1);
  static constexpr size_t max_string_size = static_cast<size_t>(-1);
  using error_code = json::error_code;

  std::string path, key;
  std::vector<Level> levels;
  std::vector<std::string> found;
  size_t most = 0;

  // A value begins: the path of an item is its list's with the index.
  void begin() {
    if (levels.empty() || !levels.back().list) return;
    path.resize(levels.back().path_size);
    path.append("[").append(std::to_string(levels.back().index++)).append("]");
  }
  bool open(bool list) {
    begin();
    levels.push_back({{}, path.size(), 0, list});
    return true;
  }
  bool close() {
    levels.pop_back();
    return true;
  }
  bool scalar() {
    begin();
    return true;
  }

  bool on_key_part(std::string_view part, size_t, error_code&) {
    key.append(part);
    return true;
  }
  bool on_key(std::string_view part, size_t, error_code&) {
    key.append(part);
    Level& level = levels.back();
    path.resize(level.path_size);
    if (!path.empty()) path.push_back('.');
    path.append(key);
    if (std::find(level.keys.begin(), level.keys.end(), key) == level.keys.end()) {
      level.keys.push_back(key);
    } else if (std::string text = "duplicate field \"" + path + "\"";
               found.size() < most && std::find(found.begin(), found.end(), text) == found.end()) {
      found.push_back(std::move(text));
    }
    key.clear();
    return true;
  }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return open(false); }
  bool on_object_end(size_t, error_code&) { return close(); }
  bool on_array_begin(error_code&) { return open(true); }
  bool on_array_end(size_t, error_code&) { return close(); }
  bool on_string_part(std::string_view, size_t, error_code&) { return true; }
  bool on_string(std::string_view, size_t, error_code&) { return scalar(); }
  bool on_number_part(std::string_view, error_code&) { return true; }
  bool on_int64(int64_t, std::string_view, error_code&) { return scalar(); }
  bool on_uint64(uint64_t, std::string_view, error_code&) { return scalar(); }
  bool on_double(double, std::string_view, error_code&) { return scalar(); }
  bool on_bool(bool, error_code&) { return scalar(); }
  bool on_null(error_code&) { return scalar(); }
  bool on_comment_part(std::string_view, error_code&) { return true; }
  bool on_comment(std::string_view, error_code&) { return true; }
};

}  // namespace

std::vector<std::string> duplicate_fields(std::string_view text, size_t most) {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::basic_parser<Handler> parser(options);
  parser.handler().most = most;
  json::error_code error;
  parser.write_some(false, text.data(), text.size(), error);
  return error ? std::vector<std::string>() : std::move(parser.handler().found);
}

}  // namespace hookd::embedded
