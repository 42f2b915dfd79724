#include "reconcile/owner.h"

#include "apply/json_text.h"
#include "base/json_read.h"
#include "base/json_writer.h"

namespace hookd::reconcile {
namespace {

// The entries, as text; none where there is no list that can be read.
std::vector<std::string_view> references_of(std::string_view text) {
  const auto raw = json_raw_at(text, {"metadata", "ownerReferences"});
  if (!raw || !apply::is_json_array(*raw)) return {};
  return apply::json_elements(*raw).value_or(std::vector<std::string_view>{});
}

std::string field(std::string_view reference, std::string_view name) {
  return json_string_at(reference, {name}).value_or("");
}

std::string list_of(const std::vector<std::string_view>& references) {
  JsonWriter out;
  out.begin_array();
  for (const auto reference : references) out.raw(reference);
  out.end_array();
  return std::move(out).take();
}

}  // namespace

std::optional<Owner> controller_of(std::string_view text) {
  // Objects without any are the most: not taken apart.
  if (text.find("\"ownerReferences\"") == std::string_view::npos) return std::nullopt;
  for (const auto reference : references_of(text))
    if (json_raw_at(reference, {"controller"}) == "true")
      return Owner{field(reference, "apiVersion"), field(reference, "kind"), field(reference, "name"),
                   field(reference, "uid")};
  return std::nullopt;
}

std::string owner_reference(const kube::ResourceType& type, const cache::Identity& parent) {
  JsonWriter out;
  out.begin_object().key("apiVersion").string(type.api_version()).key("kind").string(type.kind);
  out.key("name").string(parent.name).key("uid").string(parent.uid);
  out.key("controller").boolean(true).key("blockOwnerDeletion").boolean(true).end_object();
  return std::move(out).take();
}

std::string with_owner(std::string_view text, std::string_view reference, std::string_view uid) {
  std::vector<std::string_view> kept;
  bool in = false;
  for (const auto one : references_of(text)) {
    if (field(one, "uid") != uid)
      kept.push_back(one);
    else if (!std::exchange(in, true))
      kept.push_back(reference);
  }
  if (!in) kept.push_back(reference);
  return list_of(kept);
}

std::string without_owner(std::string_view text, std::string_view uid) {
  std::vector<std::string_view> kept;
  for (const auto one : references_of(text))
    if (field(one, "uid") != uid) kept.push_back(one);
  return list_of(kept);
}

}  // namespace hookd::reconcile
