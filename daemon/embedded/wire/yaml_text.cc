// Replies as YAML. Keys sorted, as the real server prints them.
#include <algorithm>

#include "base/json_writer.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {
namespace {

bool plain(std::string_view text) {
  if (text.empty() || text.size() > 200) return false;
  static constexpr std::string_view kWords[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "~"};
  std::string low(text);
  std::transform(low.begin(), low.end(), low.begin(), [](unsigned char c) { return std::tolower(c); });
  if (std::find(std::begin(kWords), std::end(kWords), low) != std::end(kWords)) return false;
  if (!std::isalpha(static_cast<unsigned char>(text[0])) && text[0] != '/' && text[0] != '_') return false;
  if (text.back() == ' ' || text.back() == ':') return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c >= 0x7f) return false;
    if (c == '#' && i > 0 && text[i - 1] == ' ') return false;
    if (c == ':' && i + 1 < text.size() && text[i + 1] == ' ') return false;
    if (std::string_view("{}[],&*!|>'\"%@`").find(static_cast<char>(c)) != std::string_view::npos) return false;
  }
  return true;
}

// Never a number, whatever reads it: "a1-b2-..." of uids.
bool wordy(std::string_view text) {
  if (text.size() != 36) return false;
  bool letters = false;
  for (const char c : text) {
    if (!std::isxdigit(static_cast<unsigned char>(c)) && c != '-') return false;
    letters |= std::isalpha(static_cast<unsigned char>(c)) && c != 'e';
  }
  return letters && std::count(text.begin(), text.end(), '-') == 4;
}

void scalar(std::string& out, std::string_view text) {
  if (plain(text) || wordy(text))
    out += text;
  else
    append_json_string(out, text);  // JSON's escapes are YAML's
}

void put(std::string& out, const json::value& value, size_t indent);

void put_object(std::string& out, const json::object& object, size_t indent, bool first_inline) {
  std::vector<const json::object::value_type*> entries;
  for (const auto& entry : object) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(), [](auto* a, auto* b) { return a->key() < b->key(); });
  for (const auto* entry : entries) {
    if (!first_inline) out.append(indent, ' ');
    first_inline = false;
    scalar(out, entry->key());
    out += ':';
    put(out, entry->value(), indent);
  }
}

// After "key:" or "-": the value and the end of the line.
void put(std::string& out, const json::value& value, size_t indent) {
  if (const auto* object = value.if_object(); object && !object->empty()) {
    out += '\n';
    put_object(out, *object, indent + 2, false);
    return;
  }
  if (const auto* array = value.if_array(); array && !array->empty()) {
    out += '\n';
    for (const auto& item : *array) {
      out.append(indent, ' ');
      out += '-';
      if (const auto* object = item.if_object(); object && !object->empty()) {
        out += ' ';
        put_object(out, *object, indent + 2, true);
      } else {
        put(out, item, indent + 2);
      }
    }
    return;
  }
  out += ' ';
  if (const auto* text = value.if_string())
    scalar(out, *text);
  else
    append_text(out, value);
  out += '\n';
}

}  // namespace

std::string to_yaml(const json::value& value) {
  std::string out;
  if (const auto* object = value.if_object(); object && !object->empty()) {
    put_object(out, *object, 0, false);
    return out;
  }
  append_text(out, value);
  return out + "\n";
}

}  // namespace hookd::embedded
