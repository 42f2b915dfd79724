#include "reconcile/content.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <string>

#include "hook/content_hash.h"

namespace hookd::reconcile {
namespace {

namespace ondemand = simdjson::ondemand;
using hook::content_hash;

constexpr int kMaxDepth = 256;  // as the server's own bound is 10,000, but no object of an API is so deep
constexpr size_t kMaxKeptCapacity = 4u << 20;
constexpr uint64_t kObject = 'o', kArray = 'a', kString = 's', kScalar = 'n';

struct Reader {
  ondemand::parser parser;
  std::string buffer;
};

// The value in `text`, put into a list (a scalar alone is no document that can be taken as a value). Not re-entrant:
// the tables are one parser's.
bool open(std::string_view text, ondemand::document& document, ondemand::value& value) {
  static thread_local Reader reader;
  // Five times the text: one huge object must not cost that for ever.
  if (reader.parser.capacity() > kMaxKeptCapacity && text.size() < kMaxKeptCapacity / 4)
    reader.parser = ondemand::parser();
  std::string& buffer = reader.buffer;
  buffer.reserve(text.size() + 2 + simdjson::SIMDJSON_PADDING);
  buffer.assign("[");
  buffer.append(text);
  buffer.push_back(']');
  ondemand::array list;
  if (reader.parser.iterate(buffer.data(), buffer.size(), buffer.capacity()).get(document) ||
      document.get_array().get(list))
    return false;
  for (auto element : list) return !element.get(value);
  return false;
}

bool hash_value(ondemand::value value, int depth, uint64_t& out);

// The sum of strong hashes of the members: the same in any order.
template <class Skip>
bool hash_members(ondemand::object object, int depth, uint64_t& out, Skip skip) {
  uint64_t sum = 0;
  for (auto field : object) {
    std::string_view key;
    ondemand::value value;
    uint64_t inner = 0;
    if (field.unescaped_key().get(key)) return false;
    const uint64_t name = content_hash(key, kObject);
    const bool left_out = skip(key);
    if (field.value().get(value)) return false;
    if (left_out) continue;
    if (!hash_value(value, depth + 1, inner)) return false;
    sum += combine(name, inner);
  }
  out = combine(kObject, sum);
  return true;
}

bool hash_value(ondemand::value value, int depth, uint64_t& out) {
  ondemand::json_type type{};
  if (depth > kMaxDepth || value.type().get(type)) return false;
  switch (type) {
    case ondemand::json_type::object: {
      ondemand::object object;
      return !value.get_object().get(object) &&
             hash_members(object, depth, out, [](std::string_view) { return false; });
    }
    case ondemand::json_type::array: {
      ondemand::array array;
      if (value.get_array().get(array)) return false;
      out = kArray;
      for (auto element : array) {
        ondemand::value one;
        uint64_t inner = 0;
        if (element.get(one) || !hash_value(one, depth + 1, inner)) return false;
        out = combine(out, inner);
      }
      return true;
    }
    case ondemand::json_type::string: {
      std::string_view text;
      if (value.get_string().get(text)) return false;
      out = content_hash(text, kString);
      return true;
    }
    default: {
      std::string_view token = value.raw_json_token();
      const size_t end = token.find_first_of(" \t\r\n,]}");
      out = content_hash(token.substr(0, end), kScalar);
      return true;
    }
  }
}

constexpr std::array<std::string_view, 6> kServersOwn{"uid",           "resourceVersion",   "generation",
                                                      "managedFields", "creationTimestamp", "selfLink"};

bool hash_object(ondemand::object root, bool with_status, uint64_t& out) {
  uint64_t sum = 0;
  for (auto field : root) {
    std::string_view key;
    ondemand::value value;
    uint64_t inner = 0;
    if (field.unescaped_key().get(key)) return false;
    const bool status = key == "status", metadata = key == "metadata";
    const uint64_t name = content_hash(key, kObject);
    if (field.value().get(value)) return false;
    if (status && !with_status) continue;
    ondemand::object meta;
    if (metadata) {
      if (value.get_object().get(meta) || !hash_members(meta, 1, inner, [](std::string_view member) {
            return std::ranges::find(kServersOwn, member) != kServersOwn.end();
          }))
        return false;
    } else if (!hash_value(value, 1, inner)) {
      return false;
    }
    sum += combine(name, inner);
  }
  out = combine(kObject, sum);
  return true;
}

}  // namespace

uint64_t combine(uint64_t one, uint64_t other) {
  std::array<char, sizeof one> bytes{};  // little endian, the same on every machine
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(one >> 8 * i & 0xff);
  return content_hash({bytes.data(), bytes.size()}, other);
}

uint64_t content_of(std::string_view json) {
  ondemand::document document;
  ondemand::value value;
  uint64_t out = 0;
  return open(json, document, value) && hash_value(value, 0, out) ? out : content_hash(json);
}

uint64_t object_content(std::string_view object, bool with_status) {
  ondemand::document document;
  ondemand::value value;
  ondemand::object root;
  uint64_t out = 0;
  const bool read =
      open(object, document, value) && !value.get_object().get(root) && hash_object(root, with_status, out);
  return read ? out : content_hash(object);
}

}  // namespace hookd::reconcile
