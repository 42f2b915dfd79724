#include "base/json_read.h"

#include <simdjson.h>

#include "base/json_scanner.h"

namespace hookd {
namespace {

namespace ondemand = simdjson::ondemand;

// simdjson reads up to SIMDJSON_PADDING bytes past the end: the text is copied into a buffer that has them.
struct Reader {
  ondemand::parser parser;
  std::string buffer;

  ondemand::document open(std::string_view text, simdjson::error_code& error) {
    buffer.reserve(text.size() + simdjson::SIMDJSON_PADDING);
    buffer.assign(text);
    ondemand::document document;
    error = parser.iterate(buffer.data(), buffer.size(), buffer.capacity()).get(document);
    return document;
  }
};

Reader& reader() {
  static thread_local Reader instance;
  return instance;
}

}  // namespace

std::optional<std::string_view> json_raw_at(std::string_view text, std::initializer_list<std::string_view> path) {
  Reader& read = reader();
  simdjson::error_code error{};
  auto document = read.open(text, error);
  if (error) return std::nullopt;
  ondemand::value value;
  if (document.get_value().get(value)) return std::nullopt;
  for (const auto key : path) {
    ondemand::object object;
    if (value.get_object().get(object) || object.find_field_unordered(key).get(value)) return std::nullopt;
  }
  std::string_view raw;
  ondemand::json_type type{};
  if (value.type().get(type)) return std::nullopt;
  if (type == ondemand::json_type::object || type == ondemand::json_type::array) {
    if (type == ondemand::json_type::object) {
      ondemand::object object;
      if (value.get_object().get(object) || object.raw_json().get(raw)) return std::nullopt;
    } else {
      ondemand::array array;
      if (value.get_array().get(array) || array.raw_json().get(raw)) return std::nullopt;
    }
  } else {
    raw = value.raw_json_token();
  }
  // What simdjson gives reaches up to the next token.
  while (!raw.empty() && (raw.back() == ' ' || raw.back() == '\n' || raw.back() == '\r' || raw.back() == '\t'))
    raw.remove_suffix(1);
  const auto offset = static_cast<size_t>(raw.data() - read.buffer.data());
  return text.substr(offset, raw.size());
}

std::optional<std::string> json_string_at(std::string_view text, std::initializer_list<std::string_view> path) {
  const auto raw = json_raw_at(text, path);
  if (!raw || raw->empty() || raw->front() != '"') return std::nullopt;
  boost::system::error_code error;
  const auto value = boost::json::parse(*raw, error);
  if (error || !value.is_string()) return std::nullopt;
  return std::string(value.get_string());
}

Result<boost::json::value> parse_json(std::string_view text, size_t limit_bytes) {
  if (text.size() > limit_bytes)
    return fail(Errc::kTooLarge, "JSON text of {} bytes, at most {} are taken", text.size(), limit_bytes);
  boost::json::parse_options options;
  options.max_depth = 256;
  boost::json::stream_parser parser({}, options);
  boost::system::error_code error;
  const size_t used = parser.write_some(text.data(), text.size(), error);
  if (!error && used == text.size())
    parser.finish(error);
  else if (!error) {
    const auto rest = text.substr(used);
    if (rest.find_first_not_of(" \t\r\n") != std::string_view::npos)
      error = boost::json::error::extra_data;
    else
      parser.finish(error);
  }
  if (!error) return parser.release();
  const auto before = text.substr(0, used);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const auto start = before.rfind('\n');
  const auto column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return fail(Errc::kDecode, "not JSON at line {}, column {}: {}", line, column, error.message());
}

Result<void> validate_json(std::string_view text, size_t max_depth) {
  JsonScanner scanner(max_depth);
  const auto used = scanner.feed(text);
  if (!used) return fail(Errc::kDecode, "not JSON: {}", used.error().what);
  if (!scanner.finish()) return fail(Errc::kDecode, "JSON ends too early after {} bytes", text.size());
  if (text.substr(*used).find_first_not_of(" \t\r\n") != std::string_view::npos)
    return fail(Errc::kDecode, "more text after the JSON value, at byte {}", *used);
  return {};
}

bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

}  // namespace hookd
