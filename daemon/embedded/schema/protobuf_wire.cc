#include "embedded/schema/protobuf_wire.h"

#include <fmt/format.h>

#include <limits>

namespace hookd::embedded {
namespace {

constexpr std::string_view kMagic("k8s\0", 4);

std::unexpected<std::string> broken(std::string text) { return std::unexpected(std::move(text)); }
std::unexpected<std::string> cut_short() { return broken("unexpected EOF"); }

uint64_t little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  return value;
}

}  // namespace

std::expected<uint64_t, std::string> WireReader::varint() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) return cut_short();
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return broken("proto: integer overflow");
}

std::expected<std::string_view, std::string> WireReader::cut(uint64_t length) {
  if (length > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return broken("proto: negative length found during unmarshaling");
  if (length > rest_.size()) return cut_short();
  const auto bytes = rest_.substr(0, static_cast<size_t>(length));
  rest_.remove_prefix(bytes.size());
  return bytes;
}

std::expected<bool, std::string> WireReader::value(WireType type, WireField& field) {
  switch (type) {
    case WireType::kVarint: {
      const auto value = varint();
      if (!value) return broken(value.error());
      field.value = *value;
      return true;
    }
    case WireType::kFixed64:
    case WireType::kFixed32: {
      const auto bytes = cut(type == WireType::kFixed64 ? 8 : 4);
      if (!bytes) return broken(bytes.error());
      field.value = little_endian(*bytes);
      return true;
    }
    case WireType::kBytes: {
      const auto length = varint();
      if (!length) return broken(length.error());
      const auto bytes = cut(*length);
      if (!bytes) return broken(bytes.error());
      field.bytes = *bytes;
      return true;
    }
    case WireType::kGroup:
      return true;
    case WireType::kGroupEnd:
      return false;
  }
  return broken(fmt::format("proto: illegal wireType {}", static_cast<int>(type)));
}

// Without recursion: groups in groups are counted.
std::expected<void, std::string> WireReader::skip_group() {
  for (size_t depth = 1; depth > 0;) {
    const auto tag = varint();
    if (!tag) return broken(tag.error());
    const auto type = static_cast<WireType>(*tag & 7);
    WireField ignored;
    const auto more = value(type, ignored);
    if (!more) return broken(more.error());
    if (!*more) --depth;
    if (type == WireType::kGroup) ++depth;
  }
  return {};
}

std::expected<std::optional<WireField>, std::string> WireReader::next() {
  if (rest_.empty()) return std::nullopt;
  const auto tag = varint();
  if (!tag) return broken(tag.error());
  WireField field;
  field.type = static_cast<WireType>(*tag & 7);
  field.number = static_cast<int32_t>(static_cast<uint32_t>(*tag >> 3));
  if (field.type == WireType::kGroupEnd)
    return broken(fmt::format("proto: {}: wiretype end group for non-group", message_));
  if (field.number <= 0)
    return broken(fmt::format("proto: {}: illegal tag {} (wire type {})", message_, field.number, *tag));
  if (const auto read = value(field.type, field); !read) return broken(read.error());
  if (field.type == WireType::kGroup) {
    if (const auto done = skip_group(); !done) return broken(done.error());
  }
  return field;
}

std::expected<std::optional<uint64_t>, std::string> WireReader::next_packed() {
  if (rest_.empty()) return std::nullopt;
  const auto value = varint();
  if (!value) return broken(value.error());
  return *value;
}

std::string wrong_wire_type(WireType found, std::string_view field) {
  return fmt::format("proto: wrong wireType = {} for field {}", static_cast<int>(found), field);
}

std::expected<ProtobufEnvelope, std::string> open_protobuf(std::string_view body) {
  if (body.empty()) return broken("empty data");
  if (!body.starts_with(kMagic))
    return broken("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]");
  body.remove_prefix(kMagic.size());
  if (body.empty()) return broken("empty body");
  ProtobufEnvelope envelope;
  WireReader reader(body, "Unknown");
  while (true) {
    const auto field = reader.next();
    if (!field) return broken(field.error());
    if (!*field) return envelope;
    // 3 and 4, contentEncoding and contentType, say nothing new here: the real server does not look at them either.
    constexpr std::string_view kNames[] = {"TypeMeta", "Raw", "ContentEncoding", "ContentType"};
    if ((*field)->number > 4) continue;
    if ((*field)->type != WireType::kBytes)
      return broken(wrong_wire_type((*field)->type, kNames[(*field)->number - 1]));
    if ((*field)->number == 2) envelope.raw = (*field)->bytes;
    if ((*field)->number != 1) continue;
    WireReader meta((*field)->bytes, "TypeMeta");
    while (true) {
      const auto part = meta.next();
      if (!part) return broken(part.error());
      if (!*part) break;
      if ((*part)->number > 2) continue;
      if ((*part)->type != WireType::kBytes)
        return broken(wrong_wire_type((*part)->type, (*part)->number == 1 ? "APIVersion" : "Kind"));
      ((*part)->number == 1 ? envelope.api_version : envelope.kind) = (*part)->bytes;
    }
  }
}

}  // namespace hookd::embedded
