// Manifests as operations.
#include "apply/json_text.h"
#include "apply/operation.h"
#include "apply/operation_shape.h"

namespace hookd::apply {

Result<void> read_manifest(Operation& op) {
  const auto bad = [&](const std::string& what) {
    return fail(Errc::kInvalid, "{}: {}",
                op.from_manifest ? "manifest" : fmt::format("operation {}", to_string(op.verb)), what);
  };
  const auto members = json_members(op.object);
  if (!members) return bad(members.error().what);
  const auto word = [](const std::vector<Member>& from, std::string_view key) -> Result<std::string> {
    const Member* member = find_member(from, key);
    if (!member || member->value == "null") return std::string();
    auto value = json_text_of(member->value);
    if (!value) return fail(Errc::kInvalid, "`{}` must be text, not {}", key, json_type_name(member->value));
    return *std::move(value);
  };
  const Member* metadata = find_member(*members, "metadata");
  if (!metadata || !is_json_object(metadata->value)) return bad("the object needs `metadata` with a name");
  const auto meta = json_members(metadata->value);
  if (!meta) return bad(meta.error().what);
  const auto api_version = word(*members, "apiVersion"), kind = word(*members, "kind");
  const auto name = word(*meta, "name"), ns = word(*meta, "namespace"), generate = word(*meta, "generateName");
  for (const auto* one : {&api_version, &kind, &name, &ns, &generate})
    if (!*one) return bad(one->error().what);
  if (api_version->empty() || kind->empty())
    return bad(fmt::format("the object needs `{}`", api_version->empty() ? "apiVersion" : "kind"));
  if (!op.ns.empty() && !ns->empty() && op.ns != *ns)
    return bad(fmt::format("`namespace: {}` beside the object, but `metadata.namespace: {}` in it", op.ns, *ns));
  if (name->empty() && (generate->empty() || op.verb != Verb::kCreate))
    return bad(generate->empty()
                   ? "the object needs `metadata.name`"
                   : "`metadata.generateName` works with the operation Create only; give `metadata.name`");
  for (const auto* one : {&name, &ns, &generate})
    if (!fits_path(**one)) return bad(fmt::format("`{}` cannot be a name", shorten(**one)));
  op.api_version = *api_version;
  op.kind = *kind;
  op.name = *name;
  if (name->empty()) op.generate_name = *generate;
  if (!ns->empty()) op.ns = *ns;
  return {};
}

namespace {

Result<Operation> from_manifest(std::string object) {
  Operation op;
  op.verb = Verb::kApply;
  op.force = true;
  op.from_manifest = true;
  op.object = std::move(object);
  HOOKD_CHECK(read_manifest(op));
  return op;
}

// A list's items, or null if it is no list. Typed lists are known by their kind and `items`.
const Member* list_items(const std::vector<Member>& members) {
  const Member* kind = find_member(members, "kind");
  const Member* items = find_member(members, "items");
  const auto name = kind ? json_text_of(kind->value) : std::nullopt;
  return name && name->ends_with("List") && items && is_json_array(items->value) ? items : nullptr;
}

}  // namespace

Result<Operation> manifest_operation(std::string_view json) {
  HOOKD_TRY(const auto members, json_members(json));
  if (list_items(members)) return fail(Errc::kInvalid, "manifest: a single object was expected here, not a list");
  return from_manifest(std::string(json));
}

Result<std::vector<Operation>> manifest_operations(std::string_view json) {
  HOOKD_TRY(const auto members, json_members(json));
  std::vector<Operation> operations;
  const Member* items = list_items(members);
  if (!items) {
    HOOKD_TRY(auto one, from_manifest(std::string(json)));
    operations.push_back(std::move(one));
    return operations;
  }
  const std::string kind = json_text_of(find_member(members, "kind")->value).value_or("");
  HOOKD_TRY(const auto elements, json_elements(items->value));
  for (size_t i = 0; i < elements.size(); ++i) {
    std::string item(elements[i]);
    if (!is_json_object(item))
      return fail(Errc::kInvalid, "manifest: item {} of {} is {}", i, kind, json_type_name(item));
    // Items of typed lists do not say what they are (R12).
    HOOKD_TRY(const auto own, json_members(item));
    const Member* version = find_member(members, "apiVersion");
    if (kind != "List" && version && !find_member(own, "kind") && !find_member(own, "apiVersion"))
      item = with_members(item, {{"apiVersion", std::string(version->value)},
                                 {"kind", fmt::format("\"{}\"", kind.substr(0, kind.size() - 4))}});
    auto one = from_manifest(std::move(item));
    if (!one) return fail(one.error().with(fmt::format("item {} of {}", i, kind)));
    operations.push_back(*std::move(one));
  }
  return operations;
}

}  // namespace hookd::apply
