#include "compat/metacontroller/claim.h"

#include "apply/json_text.h"
#include "base/json_read.h"
#include "compat/metacontroller/names.h"
#include "reconcile/finalizer.h"
#include "reconcile/followed_kind.h"

namespace hookd::metacontroller {
Labels labels_of(const Value& object) {
  Labels labels;
  if (const Value* map = object.at_path({"metadata", "labels"}))
    for (const auto& [key, value] : map->members())
      if (value.is_string()) labels.emplace(key, value.text());
  return labels;
}

Labels annotations_of(std::string_view object) {
  Labels annotations;
  const auto raw = json_raw_at(object, {"metadata", "annotations"});
  if (!raw || !apply::is_json_object(*raw)) return annotations;
  if (const auto members = apply::json_members(*raw))
    for (const auto& member : *members)
      if (const auto text = apply::json_text_of(member.value)) annotations.emplace(member.key, *text);
  return annotations;
}

Result<cache::LabelSelector> child_selector(std::string_view parent, std::string_view parent_uid,
                                            bool generate_selector) {
  if (generate_selector) return cache::LabelSelector::parse(fmt::format("{}={}", kControllerUid, parent_uid));
  const auto raw = json_raw_at(parent, {"spec", "selector"});
  if (!raw || *raw == "null")
    return fail(Errc::kInvalid,
                "the parent has no spec.selector to find its children by; give it one, or set generateSelector in the "
                "CompositeController");
  HOOKD_TRY(const auto value, parse_json(*raw));
  if (!value.is_object()) return fail(Errc::kInvalid, "the parent's spec.selector is no object");
  auto selector = cache::LabelSelector::from_json(value.get_object());
  if (!selector) {
    Error error = selector.error().with("the parent's spec.selector");
    error.code = Errc::kInvalid;
    return fail(std::move(error));
  }
  if (selector->empty())
    return fail(Errc::kInvalid, "the parent's spec.selector is empty, which is never taken for \"everything\"");
  return selector;
}

Claims claim(const std::vector<cache::ObjectPtr>& owned, const std::vector<cache::ObjectPtr>& orphans,
             const cache::LabelSelector& selector, bool parent_goes) {
  Claims claims;
  for (const auto& object : owned) {
    if (selector.matches(reconcile::labels_of(object->text.unpack())))
      claims.kept.push_back(object);
    else if (!parent_goes)
      claims.release.push_back(object);
  }
  if (parent_goes) return claims;
  for (const auto& object : orphans) {
    const std::string text = object->text.unpack();
    if (selector.matches(reconcile::labels_of(text)) && !reconcile::is_ending(text)) claims.adopt.push_back(object);
  }
  return claims;
}

std::vector<cache::ObjectPtr> attachments_of(const std::vector<cache::ObjectPtr>& owned, std::string_view controller) {
  std::vector<cache::ObjectPtr> kept;
  for (const auto& object : owned) {
    const auto annotation = json_string_at(object->text.unpack(), {"metadata", "annotations", kDecoratorAnnotation});
    if (annotation == controller) kept.push_back(object);
  }
  return kept;
}

}  // namespace hookd::metacontroller
