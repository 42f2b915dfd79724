#include "reconcile/finalizer.h"

#include <algorithm>

#include "apply/json_text.h"
#include "base/json_read.h"
#include "base/json_writer.h"

namespace hookd::reconcile {
namespace {

apply::Operation patch(const kube::ResourceType& type, std::string_view object,
                       const std::vector<std::string>& finalizers) {
  apply::Operation op;
  op.verb = apply::Verb::kMergePatch;
  op.api_version = type.api_version();
  op.kind = type.kind;
  op.ns = json_string_at(object, {"metadata", "namespace"}).value_or("");
  op.name = json_string_at(object, {"metadata", "name"}).value_or("");
  op.uid = json_string_at(object, {"metadata", "uid"}).value_or("");
  op.resource_version = json_string_at(object, {"metadata", "resourceVersion"}).value_or("");
  op.keep_object = true;
  JsonWriter out;
  out.begin_object().key("metadata").begin_object().key("finalizers");
  if (finalizers.empty()) {
    out.null();
  } else {
    out.begin_array();
    for (const std::string& one : finalizers) out.string(one);
    out.end_array();
  }
  out.end_object().end_object();
  op.patch = std::move(out).take();
  return op;
}

}  // namespace

bool is_ending(std::string_view object) {
  return json_raw_at(object, {"metadata", "deletionTimestamp"}).value_or("null") != "null";
}

std::vector<std::string> finalizers_of(std::string_view object) {
  std::vector<std::string> all;
  const auto raw = json_raw_at(object, {"metadata", "finalizers"});
  if (!raw || !apply::is_json_array(*raw)) return all;
  const auto elements = apply::json_elements(*raw);
  if (!elements) return all;
  for (const std::string_view element : *elements)
    if (auto text = apply::json_text_of(element)) all.push_back(*std::move(text));
  return all;
}

bool has_finalizer(std::string_view object, std::string_view name) {
  const auto all = finalizers_of(object);
  return std::ranges::find(all, name) != all.end();
}

bool children_are_left_to_the_collector(std::string_view object) {
  return has_finalizer(object, "foregroundDeletion") || has_finalizer(object, "orphan");
}

apply::Operation put_finalizer(const kube::ResourceType& type, std::string_view object, std::string_view name) {
  auto all = finalizers_of(object);
  all.emplace_back(name);
  apply::Operation op = patch(type, object, all);
  op.words = {fmt::format("put finalizer {} on", name), fmt::format("put finalizer {} on", name)};
  return op;
}

apply::Operation take_finalizer(const kube::ResourceType& type, std::string_view object, std::string_view name) {
  auto all = finalizers_of(object);
  std::erase(all, name);
  apply::Operation op = patch(type, object, all);
  op.words = {fmt::format("take finalizer {} off", name), fmt::format("took finalizer {} off", name)};
  return op;
}

}  // namespace hookd::reconcile
