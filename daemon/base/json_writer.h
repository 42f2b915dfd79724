// Writes JSON text; raw spans of other people's JSON are spliced in unchanged. Thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hookd {

// Appends `text` as a JSON string with quotes. Bytes that are not UTF-8 become U+FFFD, so that the result is always
// JSON.
void append_json_string(std::string& out, std::string_view text);
std::string json_string(std::string_view text);

class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);
  JsonWriter& string(std::string_view text);
  JsonWriter& number(int64_t value);
  JsonWriter& number(double value);  // NaN and infinities become null
  JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
  JsonWriter& null() { return raw("null"); }
  JsonWriter& raw(std::string_view json);  // one whole JSON value

  std::string& text() { return out_; }  // for callers that drain it in pieces: clear() it, the nesting is kept
  std::string take() && { return std::move(out_); }

 private:
  void separate();
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  std::string out_;
  std::vector<bool> has_items_;  // one per open bracket
  bool after_key_ = false;
};

}  // namespace hookd
