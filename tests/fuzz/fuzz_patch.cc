// No patch, configuration or set of fields crashes: what comes out of a patch is JSON again, applying what is there
// changes nothing, and a set of fields that was printed reads back the same. The input is one JSON array: [document,
// patch, fieldsV1].
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "embedded/merge/field_set.h"
#include "embedded/merge/managed_fields.h"
#include "embedded/merge/patch.h"
#include "embedded/merge/typed.h"
#include "embedded/schema/custom_schema.h"

namespace {

using namespace hookd::embedded;

constexpr std::string_view kOpenApi = R"({"type":"object","properties":{
  "m":{"type":"object","additionalProperties":{"type":"string"}},
  "a":{"type":"object","x-kubernetes-map-type":"atomic","additionalProperties":{"type":"string"}},
  "n":{"type":"integer"},"l":{"type":"array","items":{"type":"string"}},
  "s":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
  "k":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["x","y"],"items":{"type":"object",
    "properties":{"x":{"type":"string"},"y":{"type":"integer","default":1},"z":{"type":"string"}}}},
  "u":{"x-kubernetes-preserve-unknown-fields":true}}})";

// The same with strategic merge keys, which only built-in kinds have.
const Schema& strategic_schema() {
  static Schema text, item, list, set, map, root;
  static const bool built = [] {
    text.type = Schema::Type::kString;
    item.type = Schema::Type::kObject;
    item.name = "e.Item";
    list.type = set.type = Schema::Type::kList;
    list.items = &item;
    list.patch_merge = set.patch_merge = true;
    list.patch_merge_key = "x";
    set.items = &text;
    map.type = Schema::Type::kMap;
    map.items = &text;
    item.fields = {{"k", &list}, {"m", &map}, {"s", &set}, {"x", &text}};
    root = Schema{};
    root.type = Schema::Type::kObject;
    root.name = "e.Root";
    root.fields = {{"k", &list}, {"m", &map}, {"s", &set}};
    return true;
  }();
  (void)built;
  return root;
}

bool prints(const json::value& value) {
  json::error_code error;
  json::parse_options options;
  options.max_depth = 4096;
  json::parse(json::serialize(value), error, {}, options);
  return !error;
}

void check_text(const json::value& value) {
  if (!prints(value)) std::abort();
}

const json::value& part(const json::array& parts, size_t index) {
  static const json::value none;
  return index < parts.size() ? parts[index] : none;
}

void try_apply(const Schema& schema, const json::object& live, json::object config, bool force) {
  Writer writer;
  writer.manager = "kubectl";
  writer.api_version = "e.com/v1";
  writer.kind = "E";
  config["apiVersion"] = "e.com/v1";
  config["kind"] = "E";
  const auto once = apply_patch(live, config, schema, writer, force, {});
  if (!once) return;
  check_text(*once);
  const auto twice = apply_patch(*once, config, schema, writer, true, {});
  if (!twice) return;  // what was there need not fit the schema
  json::object next = *twice;
  keep_managed_times_if_unchanged(*once, next);
  update_managed_fields(*once, next, schema, writer, {});
  check_text(next);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > (16u << 10)) return 0;
  static const auto custom = CustomSchema::build(json::parse(kOpenApi).as_object());
  json::error_code error;
  json::parse_options options;
  options.max_depth = 64;
  const json::value parsed =
      json::parse(std::string_view(reinterpret_cast<const char*>(data), size), error, {}, options);
  const auto* parts = error ? nullptr : parsed.if_array();
  if (parts == nullptr || !prints(parsed)) return 0;  // 1e999999999 is infinite, which has no JSON
  const json::value& document = part(*parts, 0);
  const json::value& patch = part(*parts, 1);

  if (const auto patched = json_patch(document, patch)) check_text(*patched);
  check_text(merge_patch(document, patch));
  if (const auto set = parse_field_set(part(*parts, 2))) {
    const json::object printed = to_fields_v1(*set);
    const auto again = parse_field_set(printed);
    if (!again || !(*again == *set) || json::serialize(to_fields_v1(*again)) != json::serialize(printed)) std::abort();
    FieldSet rest = *set;
    subtract(rest, *set);
    if (!rest.empty() || set_union(*set, *set) != *set || set_intersection(*set, *set) != *set) std::abort();
  }
  if (!document.is_object() || !patch.is_object()) return 0;
  if (const auto patched = strategic_patch(document.get_object(), patch.get_object(), strategic_schema()))
    check_text(*patched);
  try_apply(custom->root(), document.get_object(), patch.get_object(), size % 2 == 0);
  try_apply(CustomSchema::anything()->root(), document.get_object(), patch.get_object(), size % 2 == 0);
  return 0;
}
