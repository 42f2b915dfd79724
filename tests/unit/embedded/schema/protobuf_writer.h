// Writes protobuf by hand: Message().text(1, "a").number(2, 7).message(3, Message()...).bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace hookd::embedded::testing {

struct Message {
  std::string bytes;

  Message& varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
    bytes.push_back(static_cast<char>(value));
    return *this;
  }
  Message& tag(uint64_t number, int type) { return varint(number << 3 | static_cast<uint64_t>(type)); }
  Message& number(uint64_t field, int64_t value) { return tag(field, 0).varint(static_cast<uint64_t>(value)); }
  Message& text(uint64_t field, std::string_view value) {
    tag(field, 2).varint(value.size());
    bytes += value;
    return *this;
  }
  Message& message(uint64_t field, const Message& value) { return text(field, value.bytes); }
  Message& fixed64(uint64_t field, uint64_t value) {
    tag(field, 1);
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
    return *this;
  }
  Message& real(uint64_t field, double value) { return fixed64(field, std::bit_cast<uint64_t>(value)); }
  Message& fixed32(uint64_t field, uint32_t value) {
    tag(field, 5);
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
    return *this;
  }
};

// A request's body.
inline std::string enveloped(std::string_view api_version, std::string_view kind, const Message& raw) {
  Message out;
  out.message(1, Message().text(1, api_version).text(2, kind)).message(2, raw).text(3, "").text(4, "");
  return std::string("k8s\0", 4) + out.bytes;
}

}  // namespace hookd::embedded::testing
