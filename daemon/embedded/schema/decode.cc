#include "embedded/schema/decode.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/json_field.h"
#include "embedded/schema/base64.h"
#include "embedded/schema/quantity.h"
#include "embedded/schema/time_text.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {

namespace {

constexpr size_t kMostUnknown = 100;  // as the real server: further ones are not told

std::string go_type(const Schema& schema) {
  if (!schema.go_name.empty()) return schema.go_name;
  switch (schema.type) {
    case Schema::Type::kList:
      return "[]" + (schema.items ? go_type(*schema.items) : "interface {}");
    case Schema::Type::kMap:
      return "map[string]" + (schema.items ? go_type(*schema.items) : "interface {}");
    case Schema::Type::kObject: {
      // "io.k8s.api.core.v1.PodSpec" -> "v1.PodSpec"
      const size_t dot = schema.name.rfind('.');
      if (dot == std::string::npos || dot == 0) return schema.name;
      const size_t before = schema.name.rfind('.', dot - 1);
      return schema.name.substr(before == std::string::npos ? 0 : before + 1);
    }
    default:
      return "interface {}";
  }
}

std::string number_text(const json::value& value) {
  std::string text = to_text(value);
  if (value.is_double() && text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

class Decoder {
 public:
  bool object(json::object& object, const Schema& schema) {
    for (auto field = object.begin(); field != object.end();) {
      const Field* known = schema.field(field->key());
      if (!known && !schema.preserve_unknown) report_unknown(field->key());
      if (known && !field->value().is_null()) {
        const Frame frame(*this, schema, *known);
        if (!value(field->value(), *known->schema)) return false;
      }
      if (known ? field->value().is_null() : !schema.preserve_unknown) {
        field = object.stable_erase(field);
      } else {
        ++field;
      }
    }
    return true;
  }

  std::vector<std::string> take_unknown() { return std::move(unknown_); }
  std::string take_error() { return std::move(error_); }

 private:
  using Type = Schema::Type;

  // The place: for messages about types without indexes and keys of maps, for unknown fields with them.
  class Frame {
   public:
    Frame(Decoder& decoder, const Schema& owner, const Field& field)
        : decoder_(decoder),
          go_size_(decoder.go_path_.size()),
          size_(decoder.path_.size()),
          owner_(std::exchange(decoder.owner_, &owner)) {
      if (!field.inside.empty()) decoder.append(decoder.go_path_, field.inside);
      decoder.append(decoder.go_path_, field.name);
      decoder.append(decoder.path_, field.name);
    }
    Frame(Decoder& decoder, std::string_view key)
        : decoder_(decoder), go_size_(decoder.go_path_.size()), size_(decoder.path_.size()), owner_(decoder.owner_) {
      decoder.append(decoder.path_, key);
    }
    Frame(Decoder& decoder, size_t index)
        : decoder_(decoder), go_size_(decoder.go_path_.size()), size_(decoder.path_.size()), owner_(decoder.owner_) {
      decoder.path_.append("[").append(std::to_string(index)).append("]");
    }
    ~Frame() {
      decoder_.go_path_.resize(go_size_);
      decoder_.path_.resize(size_);
      decoder_.owner_ = owner_;
    }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

   private:
    Decoder& decoder_;
    size_t go_size_, size_;
    const Schema* owner_;
  };

  static void append(std::string& path, std::string_view name) {
    if (!path.empty()) path.push_back('.');
    path.append(name);
  }

  void report_unknown(std::string_view key) {
    if (silent_ > 0 || unknown_.size() >= kMostUnknown) return;
    std::string text = "unknown field \"" + path_;
    if (!path_.empty()) text.push_back('.');
    text.append(key).push_back('"');
    if (std::find(unknown_.begin(), unknown_.end(), text) == unknown_.end()) unknown_.push_back(std::move(text));
  }

  bool fail(std::string text) {
    error_ = std::move(text);
    return false;
  }

  bool wrong_type(const json::value& found, const std::string& wanted, bool with_number = false) {
    std::string text = "json: cannot unmarshal ";
    switch (found.kind()) {
      case json::kind::string:
        text += "string";
        break;
      case json::kind::bool_:
        text += "bool";
        break;
      case json::kind::array:
        text += "array";
        break;
      case json::kind::object:
        text += "object";
        break;
      case json::kind::null:
        text += "null";
        break;
      default:
        text += with_number ? "number " + number_text(found) : "number";
        break;
    }
    if (owner_ == nullptr) return fail(text + " into Go value of type " + wanted);
    return fail(text + " into Go struct field " + owner_->name.substr(owner_->name.rfind('.') + 1) + "." + go_path_ +
                " of type " + wanted);
  }

  // `value` is not null where a field holds it.
  bool value(json::value& value, const Schema& schema) {
    switch (schema.type) {
      case Type::kAny:
        return schema.items == nullptr || inner(value, *schema.items);
      case Type::kString:
        return string(value, schema);
      case Type::kInteger:
        return integer(value, go_type(schema), schema.format == "int32");
      case Type::kNumber:
        return number(value, schema);
      case Type::kBoolean:
        return value.is_bool() || wrong_type(value, go_type(schema));
      case Type::kObject:
        return value.is_object() ? object(value.get_object(), schema) : wrong_type(value, go_type(schema));
      case Type::kMap:
        return map(value, schema);
      case Type::kList:
        return list(value, schema);
      case Type::kIntOrString:
        return value.is_string() || integer(value, "int32", true);
      case Type::kQuantity:
        return quantity(value);
      case Type::kTime:
        return time(value, schema);
    }
    return true;
  }

  // Types with a decoder of their own do not tell unknown fields inside of them.
  bool inner(json::value& value, const Schema& schema) {
    ++silent_;
    bool fine = true;
    if (value.is_object()) {
      fine = object(value.get_object(), schema);
    } else if (value.is_array()) {
      for (json::value& item : value.get_array())
        fine = fine && (!item.is_object() || object(item.get_object(), schema));
    }
    --silent_;
    return fine;
  }

  bool string(json::value& value, const Schema& schema) {
    if (!value.is_string()) return wrong_type(value, go_type(schema));
    if (schema.format != "byte") return true;
    auto bytes = decode_base64(value.get_string());
    if (!bytes) return fail("illegal base64 data at input byte " + std::to_string(bytes.error()));
    value = encode_base64(*bytes);
    return true;
  }

  bool integer(json::value& value, const std::string& wanted, bool small) {
    if (!value.is_number()) return wrong_type(value, wanted);
    if (!value.is_int64()) return wrong_type(value, wanted, true);
    const int64_t number = value.get_int64();
    if (!small || (number >= std::numeric_limits<int32_t>::min() && number <= std::numeric_limits<int32_t>::max())) {
      return true;
    }
    return wrong_type(value, wanted, true);
  }

  bool number(json::value& value, const Schema& schema) {
    if (!value.is_number()) return wrong_type(value, go_type(schema));
    // Go prints 1.0 as 1.
    if (value.is_double() && std::trunc(value.get_double()) == value.get_double() &&
        std::abs(value.get_double()) < 1e15) {
      value = static_cast<int64_t>(value.get_double());
    }
    return true;
  }

  bool map(json::value& value, const Schema& schema) {
    if (!value.is_object()) return wrong_type(value, go_type(schema));
    if (schema.items == nullptr) return true;
    for (auto& entry : value.get_object()) {
      const Frame frame(*this, entry.key());
      if (!entry.value().is_null() && !this->value(entry.value(), *schema.items)) return false;
    }
    return true;
  }

  bool list(json::value& value, const Schema& schema) {
    if (!value.is_array()) return wrong_type(value, go_type(schema));
    if (schema.items == nullptr) return true;
    json::array& items = value.get_array();
    for (size_t i = 0; i < items.size(); ++i) {
      const Frame frame(*this, i);
      if (!items[i].is_null() && !this->value(items[i], *schema.items)) return false;
    }
    return true;
  }

  bool quantity(json::value& value) {
    const std::string text = value.is_string() ? std::string(value.get_string()) : to_text(value);
    const auto canonical = canonical_quantity(text);
    if (!canonical) return fail(std::string(quantity_problem(text)));
    value = *canonical;
    return true;
  }

  bool time(json::value& value, const Schema& schema) {
    if (!value.is_string()) return wrong_type(value, "string");
    auto canonical = canonical_time(value.get_string(), schema.format == "micro-time");
    if (!canonical) return fail(std::move(canonical.error()));
    value = canonical->empty() ? json::value(nullptr) : json::value(*canonical);
    return true;
  }

  std::string path_, go_path_;
  const Schema* owner_ = nullptr;  // the struct whose field is read
  std::vector<std::string> unknown_;
  int silent_ = 0;
  std::string error_;
};

}  // namespace

std::expected<DecodeReport, std::string> decode(json::object& object, const Schema& schema) {
  Decoder decoder;
  if (!decoder.object(object, schema)) return std::unexpected(decoder.take_error());
  complete_decoded(object, schema);
  return DecodeReport{decoder.take_unknown()};
}

Answer<DecodeReport> normalise(json::object& object, const Schema& schema) {
  const std::string api_version = text_field(object, "apiVersion"), kind = text_field(object, "kind");
  auto report = decode(object, schema);
  if (report) return std::move(*report);
  const std::string version = api_version.substr(api_version.rfind('/') + 1);
  return refuse(
      bad_request(kind + " in version \"" + version + "\" cannot be handled as a " + kind + ": " + report.error()));
}

}  // namespace hookd::embedded
