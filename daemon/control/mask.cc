#include "control/mask.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>

#include "base/ascii.h"
#include "base/json_read.h"
#include "base/json_writer.h"

namespace hookd::control {
namespace {

namespace json = boost::json;

// Of kubectl and of Metacontroller's dynamic apply (compat/metacontroller/names.h).
constexpr std::string_view kLastApplied[] = {"kubectl.kubernetes.io/last-applied-configuration",
                                             "metacontroller.k8s.io/last-applied-configuration"};
// Words of a variable's name, between its underscores.
constexpr std::string_view kSecretWords[] = {"PASS", "PWD",  "KEY",  "AUTH",   "DSN",       "PIN",
                                             "SALT", "HMAC", "CERT", "COOKIE", "SIGNATURE", "BEARER"};
constexpr std::string_view kSecretParts[] = {"TOKEN", "PASSW", "SECRET", "CREDENTIAL", "APIKEY", "PRIVATEKEY"};

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

bool sounds_secret(std::string_view name) {
  const std::string capitals = upper(name);
  if (capitals == "PWD") return false;  // the working directory
  const auto has_word = [words = "_" + capitals + "_"](std::string_view word) {
    return words.contains(fmt::format("_{}_", word));
  };
  return std::ranges::any_of(kSecretParts, [&](std::string_view part) { return capitals.contains(part); }) ||
         std::ranges::any_of(kSecretWords, has_word);
}

void mask_values(json::object& holder, std::string_view key) {
  const auto found = holder.find(key);
  if (found == holder.end()) return;
  if (auto* map = found->value().if_object()) {
    for (auto& entry : *map)
      if (!entry.value().is_null()) entry.value() = kMasked;  // null takes a key away: that tells nothing
  } else if (!found->value().is_null()) {
    found->value() = kMasked;
  }
}

void mask_object(json::object& object) {
  mask_values(object, "data");
  mask_values(object, "stringData");
  for (const char* key : {"patch", "jqFilter"})  // of an operation on one
    if (object.contains(key)) object[key] = kMasked;
  auto* metadata = object.contains("metadata") ? object["metadata"].if_object() : nullptr;
  auto* annotations = metadata && metadata->contains("annotations") ? (*metadata)["annotations"].if_object() : nullptr;
  for (const std::string_view name : kLastApplied)
    if (annotations && annotations->contains(name)) (*annotations)[name] = kMasked;
}

bool mask_within(json::value& value) {
  bool found = false;
  if (auto* list = value.if_array()) {
    for (auto& one : *list) found |= mask_within(one);
  } else if (auto* object = value.if_object()) {
    const auto text = [&](std::string_view key) {
      const auto* member = object->if_contains(key);
      return member && member->is_string() ? std::string_view(member->get_string()) : std::string_view();
    };
    // Of an operation too, whose kind may be a plural or name its group.
    const std::string kind = lower(text("kind").substr(0, text("kind").find('.')));
    if ((kind == "secret" || kind == "secrets") && !text("apiVersion").contains('/')) {
      mask_object(*object);
      return true;
    }
    for (auto& member : *object) found |= mask_within(member.value());
  }
  return found;
}

// A JSON patch may put a value anywhere: each is masked whole.
std::string mask_patch(const std::string& text) {
  auto patch = parse_json(text);
  if (!patch) return json_string(kMasked);
  if (auto* object = patch->if_object()) {
    mask_object(*object);
  } else if (auto* list = patch->if_array()) {
    for (auto& step : *list)
      if (auto* one = step.if_object(); one && one->contains("value")) (*one)["value"] = kMasked;
  }
  return json::serialize(*patch);
}

bool word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("._~+/=-").contains(c); }

// The token behind each `mark`, which is in lower case. What has neither digit nor sign is an English word.
void mask_behind(std::string& text, std::string_view mark, size_t shortest) {
  const std::string small = lower(text);
  std::string out;
  size_t done = 0;
  for (size_t at = 0; (at = small.find(mark, at)) != std::string::npos;) {
    const size_t begin = at + mark.size();
    const size_t end = static_cast<size_t>(
        std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), word) - text.begin());
    at = begin;
    const std::string_view token = std::string_view(text).substr(begin, end - begin);
    if (token.size() < shortest ||
        std::ranges::all_of(token, [](unsigned char c) { return std::isalpha(c) || c == '.'; }))
      continue;
    out.append(text, done, begin - done).append(kMasked);
    done = at = end;
  }
  if (done > 0) text = out.append(text, done);
}

void replace_all(std::string& text, std::string_view what) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += sizeof kMasked - 1)
    text.replace(at, what.size(), kMasked);
}

}  // namespace

bool is_secret(const kube::ResourceType* type) { return type && type->kind == "Secret" && type->group.empty(); }

std::string mask_secret(std::string_view text) {
  auto value = parse_json(text);
  if (!value || !value->is_object()) return json_string(kMasked);
  mask_object(value->as_object());
  return json::serialize(*value);
}

std::optional<std::string> mask_secrets_within(std::string_view text) {
  if (!text.contains("Secret") && !text.contains("secret")) return std::nullopt;
  auto value = parse_json(text);
  if (!value) return json_string(kMasked);
  return mask_within(*value) ? std::optional(json::serialize(*value)) : std::nullopt;
}

void mask_operation(apply::Operation& op) {
  const std::string kind = lower(op.kind.substr(0, op.kind.find('.')));
  if ((kind != "secret" && kind != "secrets") || op.api_version.contains('/')) return;
  if (!op.object.empty()) op.object = mask_secret(op.object);
  if (!op.patch.empty()) op.patch = mask_patch(op.patch);
  if (!op.jq_filter.empty()) op.jq_filter = kMasked;
}

void Mask::add(const std::map<std::string, std::string>& env) {
  for (const auto& [name, value] : env) {
    if (value.size() < kShortest || !sounds_secret(name)) continue;
    const std::string quoted = json_string(value);
    for (const std::string& form : {value, quoted.substr(1, quoted.size() - 2)})
      if (std::ranges::find(values_, form) == values_.end()) values_.push_back(form);
  }
  std::ranges::stable_sort(values_, std::greater(), &std::string::size);
}

std::string Mask::apply(std::string text) const {
  for (const std::string& value : values_) replace_all(text, value);
  mask_behind(text, "bearer ", 8);
  mask_behind(text, "basic ", 8);
  mask_behind(text, "sha256=", 32);
  return text;
}

// Inside strings alone: a number that is a secret by chance must not break the document.
std::string Mask::apply_to_json(std::string_view text) const {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t quote = std::min(text.find('"', at), text.size());
    out += text.substr(at, quote - at);
    size_t end = quote + 1;
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    end = std::min(end, text.size());
    if (quote < text.size()) out += apply(std::string(text.substr(quote, end - quote)));
    at = end;
    if (at < text.size()) out += text[at++];
  }
  return out;
}

}  // namespace hookd::control
