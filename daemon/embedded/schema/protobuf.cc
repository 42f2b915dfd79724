#include "embedded/schema/protobuf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>

#include "base/json_read.h"
#include "base/json_writer.h"
#include "embedded/schema/base64.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {
namespace {

using Type = Schema::Type;

json::value text_value(std::string_view text) {
  if (is_utf8(text)) return json::value(json::string(text));
  return parse_text(json_string(text)).value_or(json::value(""));
}

// "io.k8s.api.core.v1.PodSpec" -> "PodSpec"
std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// "hostNetwork" -> "HostNetwork": how Go calls it.
std::string go_field(std::string_view name) {
  if (name == "metadata") return "ObjectMeta";
  std::string out(name);
  if (!out.empty() && out.front() >= 'a' && out.front() <= 'z') out.front() = static_cast<char>(out.front() - 32);
  return out;
}

// RFC 3339; "" = a year that JSON has no form for.
std::string time_text(int64_t seconds, int64_t micros) {
  using namespace std::chrono;
  constexpr int64_t kFirst = -62135596800, kLast = 253402300799;  // years 1 to 9999
  if (seconds < kFirst || seconds > kLast) return "";
  const sys_seconds time{std::chrono::seconds(seconds)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), micros);
}

// The numbers of the messages in which the fields looked at stand: the front of Field::protobuf.
struct Place {
  std::array<uint8_t, 3> numbers{};
  size_t depth = 0;
};

struct Found {
  const Field* field = nullptr;  // null = no such field
  bool inside = false;           // the number is of a message that stands for an embedded struct; `field` is in it
};
Found find(const Schema& schema, const Place& place, int32_t number) {
  for (const Field& field : schema.fields) {
    const auto& path = field.protobuf;
    if (path[place.depth] != number) continue;
    if (!std::equal(path.begin(), path.begin() + place.depth, place.numbers.begin())) continue;
    return {&field, place.depth + 1 < path.size() && path[place.depth + 1] != 0};
  }
  return {};
}

// "RuleWithOperations.Rule", 1 -> "Rule"
std::string_view part(std::string_view names, size_t index) {
  for (; index > 0; --index) names.remove_prefix(std::min(names.size(), names.find('.') + 1));
  return names.substr(0, names.find('.'));
}

class ProtobufDecoder {
 public:
  bool message(std::string_view bytes, const Schema& schema, json::object& out) {
    return fields(bytes, schema, last_part(schema.name), {}, out);
  }
  std::string take_error() { return std::move(error_); }

 private:
  bool fail(std::string text) {
    error_ = std::move(text);
    return false;
  }

  // Calls `visit` for each field of a message: (WireField) -> false if something is wrong.
  template <class Visit>
  bool each(std::string_view bytes, std::string_view name, Visit visit) {
    WireReader reader(bytes, name);
    while (true) {
      const auto field = reader.next();
      if (!field) return fail(field.error());
      if (!*field) return true;
      if (!visit(**field)) return false;
    }
  }

  bool expect(const WireField& wire, WireType type, std::string_view name) {
    return wire.type == type || fail(wrong_wire_type(wire.type, go_field(name)));
  }

  // A message of known form: `number` is a string or bytes, all else is skipped.
  bool only_bytes(std::string_view bytes, std::string_view message, int32_t number, std::string_view name,
                  std::string_view& out) {
    return each(bytes, message, [&](const WireField& wire) {
      if (wire.number != number) return true;
      out = wire.bytes;
      return expect(wire, WireType::kBytes, name);
    });
  }

  bool fields(std::string_view bytes, const Schema& schema, std::string_view name, const Place& place,
              json::object& out) {
    if (++depth_ > kMaxProtobufDepth) return fail("exceeded max depth");
    const bool fine = each(bytes, name, [&](const WireField& wire) {
      const auto [field, inside] = find(schema, place, wire.number);
      if (field == nullptr) return true;
      if (!inside) return set(out, *field, wire);
      const auto embedded = part(field->inside, place.depth);
      Place deeper = place;
      deeper.numbers[deeper.depth++] = static_cast<uint8_t>(wire.number);
      return expect(wire, WireType::kBytes, embedded) && fields(wire.bytes, schema, embedded, deeper, out);
    });
    --depth_;
    return fine;
  }

  // Lists and maps grow, messages that come twice are merged, of all else the last counts.
  bool set(json::object& out, const Field& field, const WireField& wire) {
    const Schema& schema = *field.schema;
    json::value& slot = out[field.name];
    if (schema.type == Type::kList) return add(slot, schema, wire, field.name);
    if (schema.type == Type::kMap) return entry(slot, schema, wire, field.name);
    return value(slot, schema, wire, field.name);
  }

  bool add(json::value& list, const Schema& schema, const WireField& wire, std::string_view name) {
    if (!list.is_array()) list.emplace_array();
    if (schema.items == nullptr) return true;
    json::array& items = list.get_array();
    const bool numbers = schema.items->type == Type::kInteger || schema.items->type == Type::kBoolean;
    if (!numbers || wire.type != WireType::kBytes) {
      items.emplace_back(nullptr);
      return value(items.back(), *schema.items, wire, name);
    }
    WireReader packed(wire.bytes, name);
    WireField one;
    while (true) {
      const auto number = packed.next_packed();
      if (!number) return fail(number.error());
      if (!*number) return true;
      one.value = **number;
      items.emplace_back(nullptr);
      if (!value(items.back(), *schema.items, one, name)) return false;
    }
  }

  // An entry of a map is a message: key = 1, value = 2.
  bool entry(json::value& map, const Schema& schema, const WireField& wire, std::string_view name) {
    if (!expect(wire, WireType::kBytes, name)) return false;
    if (!map.is_object()) map.emplace_object();
    if (schema.items == nullptr) return true;
    std::string_view key;
    WireField held;  // what is not there is empty
    held.type = WireType::kBytes;
    const bool fine = each(wire.bytes, name, [&](const WireField& half) {
      if (half.number == 1) key = half.bytes;
      if (half.number == 2) held = half;
      return half.number != 1 || expect(half, WireType::kBytes, name);
    });
    if (!fine) return false;
    const json::value shown = text_value(key);
    json::value& slot = map.get_object()[shown.get_string()];
    slot = nullptr;
    return value(slot, *schema.items, held, name);
  }

  bool value(json::value& out, const Schema& schema, const WireField& wire, std::string_view name) {
    const auto wanted = [&] {
      if (schema.type == Type::kInteger || schema.type == Type::kBoolean) return WireType::kVarint;
      return schema.type == Type::kNumber ? WireType::kFixed64 : WireType::kBytes;
    }();
    if (!expect(wire, wanted, name)) return false;
    switch (schema.type) {
      case Type::kString:
        out = schema.format == "byte" ? json::value(encode_base64(wire.bytes)) : text_value(wire.bytes);
        return true;
      case Type::kBoolean:
        out = wire.value != 0;
        return true;
      case Type::kInteger:
        out = schema.format == "int32" ? static_cast<int32_t>(static_cast<uint32_t>(wire.value))
                                       : static_cast<int64_t>(wire.value);
        return true;
      case Type::kNumber:
        out = std::bit_cast<double>(wire.value);
        return std::isfinite(out.get_double()) || fail("json: unsupported value: not a finite number");
      case Type::kObject:
        if (!out.is_object()) out.emplace_object();
        return message(wire.bytes, schema, out.get_object());
      case Type::kQuantity:
        return quantity(out, wire.bytes);
      case Type::kTime:
        return time(out, wire.bytes, schema.format == "micro-time");
      case Type::kIntOrString:
        return int_or_string(out, wire.bytes);
      case Type::kAny:
        return any(out, schema, wire.bytes);
      case Type::kList:  // as an item or a value of a map: a message of its own, items = 1 (ExtraValue)
        if (!out.is_array()) out.emplace_array();
        return each(wire.bytes, last_part(schema.go_name),
                    [&](const WireField& item) { return item.number != 1 || add(out, schema, item, "items"); });
      case Type::kMap:
        return true;  // no type of Kubernetes has it
    }
    return true;
  }

  bool quantity(json::value& out, std::string_view bytes) {
    std::string_view text = "0";
    if (!only_bytes(bytes, "Quantity", 1, "string_", text)) return false;
    out = text_value(text);
    return true;
  }

  bool time(json::value& out, std::string_view bytes, bool micro) {
    out = nullptr;
    if (bytes.empty()) return true;
    int64_t seconds = 0, nanos = 0;
    const bool fine = each(bytes, "Timestamp", [&](const WireField& wire) {
      if (wire.number > 2) return true;
      if (wire.number == 1) seconds = static_cast<int64_t>(wire.value);
      if (wire.number == 2) nanos = static_cast<int32_t>(static_cast<uint32_t>(wire.value));
      return expect(wire, WireType::kVarint, wire.number == 1 ? "seconds" : "nanos");
    });
    if (!fine) return false;
    int64_t micros = micro ? nanos / 1000 : 0;  // a Time has no fraction in any form
    const int64_t carry = (micros >= 0 ? micros : micros - 999'999) / 1'000'000;
    micros -= carry * 1'000'000;
    constexpr int64_t kFar = 1'000'000'000'000;  // beyond all years that count; `carry` cannot overflow
    const auto text = seconds > -kFar && seconds < kFar ? time_text(seconds + carry, micros) : "";
    if (text.empty()) return fail("Time.MarshalJSON: year outside of range [0,9999]");
    out = text;
    return true;
  }

  bool int_or_string(json::value& out, std::string_view bytes) {
    int64_t type = 0;
    int32_t number = 0;
    std::string_view text;
    const bool fine = each(bytes, "IntOrString", [&](const WireField& wire) {
      switch (wire.number) {
        case 1:
          type = static_cast<int64_t>(wire.value);
          return expect(wire, WireType::kVarint, "type");
        case 2:
          number = static_cast<int32_t>(static_cast<uint32_t>(wire.value));
          return expect(wire, WireType::kVarint, "intVal");
        case 3:
          text = wire.bytes;
          return expect(wire, WireType::kBytes, "strVal");
        default:
          return true;
      }
    });
    if (!fine) return false;
    if (type != 0 && type != 1) return fail("impossible IntOrString.Type");
    out = type == 0 ? json::value(number) : text_value(text);
    return true;
  }

  bool any(json::value& out, const Schema& schema, std::string_view bytes) {
    const auto name = last_part(schema.go_name);
    if (schema.items != nullptr) return schema_or_else(out, *schema.items, name, bytes);
    std::string_view raw;  // RawExtension, FieldsV1, JSON: raw = 1
    if (!only_bytes(bytes, name, 1, "raw", raw)) return false;
    out = nullptr;
    if (raw.empty()) return true;
    auto parsed = parse_text(raw);
    if (!parsed) return fail(parsed.error());
    out = *std::move(parsed);
    return true;
  }

  // JSONSchemaPropsOrArray {schema = 1, jSONSchemas = 2}, ...OrStringArray {schema = 1, property = 2}: the list wins;
  // ...OrBool {allows = 1, schema = 2}: the schema wins.
  bool schema_or_else(json::value& out, const Schema& schema, std::string_view name, std::string_view bytes) {
    const bool or_bool = name.ends_with("OrBool"), or_strings = name.ends_with("OrStringArray");
    json::value held = nullptr, list = nullptr;
    bool allows = false;
    const auto object = [&](json::value& to, const WireField& wire) {
      if (!to.is_object()) to.emplace_object();
      return expect(wire, WireType::kBytes, "schema") && message(wire.bytes, schema, to.get_object());
    };
    const bool fine = each(bytes, name, [&](const WireField& wire) {
      if (wire.number == (or_bool ? 2 : 1)) return object(held, wire);
      if (wire.number > 2) return true;
      if (or_bool) {
        allows = wire.value != 0;
        return expect(wire, WireType::kVarint, "allows");
      }
      if (!list.is_array()) list.emplace_array();
      list.get_array().emplace_back(nullptr);
      if (!or_strings) return object(list.get_array().back(), wire);
      list.get_array().back() = text_value(wire.bytes);
      return expect(wire, WireType::kBytes, "property");
    });
    if (!fine) return false;
    if (or_bool && held.is_null()) held = allows;
    out = list.is_null() ? std::move(held) : std::move(list);
    return true;
  }

  int depth_ = 0;
  std::string error_;
};

}  // namespace

std::expected<json::object, std::string> decode_protobuf(std::string_view raw, const Schema& schema) {
  ProtobufDecoder decoder;
  json::object object;
  if (!decoder.message(raw, schema, object)) return std::unexpected(decoder.take_error());
  return object;
}

}  // namespace hookd::embedded
