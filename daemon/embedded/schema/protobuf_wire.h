// Protobuf's wire format, as far as Kubernetes uses it, and the envelope around its objects. Thread: any.
// Source: protobuf.dev "Encoding"; API concepts "Kubernetes Protobuf encoding".
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace hookd::embedded {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kGroup = 3, kGroupEnd = 4, kFixed32 = 5 };

// One field of a message as it stands there, not knowing what it means.
struct WireField {
  int32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;      // kVarint, kFixed64 and kFixed32: the bits
  std::string_view bytes;  // kBytes: into the message
};

// The fields of one message, one after the other. All errors are in the words of the real server's decoder.
class WireReader {
 public:
  // `message` names the Go type in errors and must live as long as the reader, as must `bytes`.
  WireReader(std::string_view bytes, std::string_view message) : rest_(bytes), message_(message) {}

  // Nothing at the end of the message. Groups come with type kGroup and nothing in them.
  std::expected<std::optional<WireField>, std::string> next();
  // What is left, read as varints without tags (packed lists).
  std::expected<std::optional<uint64_t>, std::string> next_packed();

 private:
  std::expected<uint64_t, std::string> varint();
  std::expected<std::string_view, std::string> cut(uint64_t length);
  // The value behind a tag; false for the end of a group.
  std::expected<bool, std::string> value(WireType type, WireField& field);
  std::expected<void, std::string> skip_group();

  std::string_view rest_, message_;
};

// `proto: wrong wireType = 0 for field Name`
std::string wrong_wire_type(WireType found, std::string_view field);

// {apiVersion, kind} and the message of an object.
struct ProtobufEnvelope {
  std::string api_version, kind;  // "" = the client did not tell
  std::string_view raw;           // into the body
};
// Errors: `provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]` and the reader's.
std::expected<ProtobufEnvelope, std::string> open_protobuf(std::string_view body);

}  // namespace hookd::embedded
