#include "embedded/merge/go_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace hookd::embedded {

std::vector<const json::key_value_pair*> sorted_fields(const json::object& object) {
  std::vector<const json::key_value_pair*> fields;
  fields.reserve(object.size());
  for (const auto& field : object) fields.push_back(&field);
  std::ranges::sort(fields, {}, [](const json::key_value_pair* field) { return std::string_view(field->key()); });
  return fields;
}

namespace {

void append_go_number(std::string& out, double number) {
  char buffer[400];
  const double size = std::abs(number);
  const bool fixed = size == 0 || (size >= 1e-6 && size < 1e21);
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number,
                                 fixed ? std::chars_format::fixed : std::chars_format::scientific)
                       .ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  // Go writes 1e-7 where C writes 1e-07
  if (!fixed && text.size() > 4 && text[text.size() - 4] == 'e' && text[text.size() - 3] == '-' &&
      text[text.size() - 2] == '0') {
    out += text.substr(0, text.size() - 2);
    out += text.back();
    return;
  }
  out += text;
}

void append_hex(std::string& out, unsigned byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\u00";
  out += kDigits[byte >> 4 & 15];
  out += kDigits[byte & 15];
}

void append_go_string(std::string& out, std::string_view text) {
  out += '"';
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '<':
      case '>':
      case '&':
        append_hex(out, c);
        break;
      case 0xe2:  // U+2028 and U+2029
        if (text.substr(i, 3) == "\u2028" || text.substr(i, 3) == "\u2029") {
          out += text[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
          i += 2;
        } else {
          out += text[i];
        }
        break;
      default:
        if (c < 0x20)
          append_hex(out, c);
        else
          out += text[i];
    }
  }
  out += '"';
}

}  // namespace

void append_go_json(std::string& out, const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      out += "null";
      return;
    case json::kind::bool_:
      out += value.get_bool() ? "true" : "false";
      return;
    case json::kind::int64:
      out += std::to_string(value.get_int64());
      return;
    case json::kind::uint64:
      append_go_number(out, static_cast<double>(value.get_uint64()));
      return;
    case json::kind::double_:
      append_go_number(out, value.get_double());
      return;
    case json::kind::string:
      append_go_string(out, value.get_string());
      return;
    case json::kind::array: {
      out += '[';
      bool first = true;
      for (const auto& item : value.get_array()) {
        if (!first) out += ',';
        first = false;
        append_go_json(out, item);
      }
      out += ']';
      return;
    }
    case json::kind::object: {
      out += '{';
      bool first = true;
      for (const auto* field : sorted_fields(value.get_object())) {
        if (!first) out += ',';
        first = false;
        append_go_string(out, field->key());
        out += ':';
        append_go_json(out, field->value());
      }
      out += '}';
      return;
    }
  }
}

std::string go_json(const json::value& value) {
  std::string out;
  append_go_json(out, value);
  return out;
}

std::string go_value_text(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "<nil>";
    case json::kind::string:
      return std::string(value.get_string());
    case json::kind::array: {
      std::string out = "[";
      for (const auto& item : value.get_array()) {
        if (out.size() > 1) out += ' ';
        out += go_value_text(item);
      }
      return out + "]";
    }
    case json::kind::object: {
      std::string out = "map[";
      for (const auto* field : sorted_fields(value.get_object())) {
        if (out.size() > 4) out += ' ';
        out += field->key();
        out += ':';
        out += go_value_text(field->value());
      }
      return out + "]";
    }
    default:
      return go_json(value);
  }
}

}  // namespace hookd::embedded
