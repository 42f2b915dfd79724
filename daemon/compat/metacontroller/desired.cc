#include "compat/metacontroller/desired.h"

#include <set>
#include <tuple>

#include "compat/metacontroller/claim.h"
#include "compat/metacontroller/merge.h"
#include "compat/metacontroller/names.h"

namespace hookd::metacontroller {
namespace {

Result<std::string> namespace_of(const DesiredObject& child, const std::string& what, const kube::ResourceType& type,
                                 const cache::Identity& parent) {
  if (!type.namespaced) {
    if (!parent.ns.empty())
      return fail(Errc::kInvalid,
                  "{} is cluster-scoped, but its parent lives in namespace {}: the garbage collector would delete it",
                  what, parent.ns);
    return std::string();
  }
  if (parent.ns.empty()) {
    if (child.ns.empty())
      return fail(Errc::kInvalid, "{} needs metadata.namespace, as its parent is cluster-scoped", what);
    return child.ns;
  }
  if (!child.ns.empty() && child.ns != parent.ns)
    return fail(Errc::kInvalid,
                "{} is to be in namespace {}, but its parent lives in {}: the garbage collector would delete it", what,
                child.ns, parent.ns);
  return parent.ns;
}

}  // namespace

std::string Wanted::display() const { return fmt::format("{} {}", kind.type->kind, key()); }

Result<std::vector<Wanted>> wanted_children(const std::vector<DesiredObject>& desired, const WantedInput& input) {
  std::vector<Wanted> all;
  std::set<std::tuple<std::string, std::string, std::string, std::string>> seen;
  for (const DesiredObject& child : desired) {
    const std::string what = fmt::format("{} {}", child.kind, child.name);
    const auto kind = input.kind_of(child);
    if (!kind)
      return fail(Errc::kInvalid, "{}: the server has no kind {} in {}; is its CustomResourceDefinition installed?",
                  what, child.kind, child.api_version);
    if (kind->rule && kind->type->api_version() != child.api_version)
      return fail(Errc::kInvalid, "{}: the hook wants it as {}, but the controller declares {}; use one of them", what,
                  child.api_version, kind->type->api_version());
    HOOKD_TRY(std::string ns, namespace_of(child, what, *kind->type, input.parent));
    if (!seen.emplace(kind->type->group, kind->type->kind, ns, child.name).second)
      return fail(Errc::kInvalid, "{} stands twice in the hook's answer", what);
    auto object = Value::parse(child.text);
    if (!object) return fail(object.error().with(what));
    Wanted wanted{*kind, std::move(ns), child.name, without_nulls(*object)};
    Value& metadata = wanted.object.at("metadata");
    if (!wanted.ns.empty())
      metadata.set("namespace", Value::string(wanted.ns));
    else
      metadata.erase("namespace");
    if (!input.controller.composite())
      metadata.at("annotations").set(kDecoratorAnnotation, Value::string(input.controller.name));
    if (input.controller.generate_selector && !wanted.object.at_path({"metadata", "labels", kControllerUid}))
      metadata.at("labels").set(kControllerUid, Value::string(input.parent.uid));
    if (input.selector && !input.selector->matches(labels_of(wanted.object)))
      return fail(Errc::kInvalid,
                  "the labels of {} do not match the parent's selector {}; nothing was written: it would be made anew "
                  "for ever",
                  what, input.selector->to_string());
    all.push_back(std::move(wanted));
  }
  return all;
}

}  // namespace hookd::metacontroller
