// The manifests of an answer. (child_plan.h)
#include <algorithm>
#include <array>
#include <map>

#include "apply/json_text.h"
#include "apply/operation_shape.h"
#include "base/json_read.h"
#include "base/json_writer.h"
#include "hook/own_writes.h"
#include "reconcile/child_plan.h"
#include "reconcile/content.h"

namespace hookd::reconcile {
namespace {

std::string_view group_of(std::string_view api_version) {
  const auto slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

std::string declared(const std::vector<ChildKind>& kinds) {
  std::vector<std::string> all;
  for (const auto& kind : kinds)
    all.push_back(fmt::format("{} ({})", kind.type ? kind.type->kind : kind.rule->kind, kind.rule->api_version));
  return all.empty() ? "none" : fmt::format("{}", fmt::join(all, ", "));
}

// What only the server sets, of an object that the hook copied: server-side apply refuses managedFields, and a version
// or uid would be a precondition that the hook did not mean.
constexpr std::array<std::string_view, 8> kServersOwn{"uid",
                                                      "resourceVersion",
                                                      "generation",
                                                      "managedFields",
                                                      "creationTimestamp",
                                                      "selfLink",
                                                      "deletionTimestamp",
                                                      "deletionGracePeriodSeconds"};

// Desired::text of a manifest that read_manifest() has passed; `ns` is put in if it has none.
Result<std::string> text_of(std::string_view manifest, std::string_view ns, std::string_view parent_uid,
                            bool status_apart) {
  HOOKD_TRY(const auto members, apply::json_members(manifest));
  JsonWriter out;
  out.begin_object();
  for (const auto& member : members) {
    if (member.key == "status" && status_apart) continue;
    if (member.key != "metadata") {
      out.key(member.key).raw(member.value);
      continue;
    }
    HOOKD_TRY(const auto meta, apply::json_members(member.value));
    out.key(member.key).begin_object();
    for (const auto& field : meta) {
      if (std::ranges::find(kServersOwn, field.key) != kServersOwn.end()) continue;
      if (field.key == "namespace" && field.value != json_string(ns)) continue;  // null, or "" beside a namespace
      std::string value(field.value);
      if (field.key == "ownerReferences") value = without_owner(manifest, parent_uid);
      if (field.key == "annotations" && field.value.find(kManifestHash) != std::string_view::npos)
        value = apply::with_members(field.value, {{std::string(kManifestHash), std::nullopt}});
      if (value != field.value && (value == "[]" || value == "{}")) continue;  // it held nothing but ours
      out.key(field.key).raw(value);
    }
    const auto* given = apply::find_member(meta, "namespace");
    if (!ns.empty() && (!given || given->value != json_string(ns))) out.key("namespace").string(ns);
    out.end_object();
  }
  out.end_object();
  return std::move(out).take();
}

class Reader {
 public:
  Reader(const std::vector<ChildKind>& kinds, const kube::ResourceType& parent_type, const cache::Identity& parent)
      : kinds_(kinds), parent_type_(parent_type), parent_(parent) {}

  Result<std::vector<Desired>> read(const std::vector<std::string_view>& manifests) {
    std::vector<Desired> all;
    all.reserve(manifests.size());
    std::map<std::string, size_t> places;  // by kind and key
    for (size_t i = 0; i < manifests.size(); ++i) {
      place_ = fmt::format("children[{}]", i);
      HOOKD_TRY(auto one, read_one(manifests[i]));
      const auto [found, fresh] = places.emplace(hook::resource_of(*one.kind.type) + " " + one.key(), i);
      if (!fresh) return wrong("children[{}] is the same object; name each child once", found->second);
      all.push_back(std::move(one));
    }
    return all;
  }

 private:
  template <class... Args>
  Failure wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(Errc::kInvalid, "{}: {}", place_, fmt::format(format, std::forward<Args>(args)...));
  }

  Result<Desired> read_one(std::string_view manifest) {
    if (!apply::is_json_object(manifest))
      return wrong("a child is a manifest, an object with apiVersion, kind and metadata.name; this is {}",
                   apply::json_type_name(manifest));
    apply::Operation op;
    op.verb = apply::Verb::kApply;
    op.from_manifest = true;
    op.object = manifest;
    if (const auto done = apply::read_manifest(op); !done) return wrong("{}", done.error().what);
    place_ += fmt::format(" ({})", op.display());
    if (op.kind.ends_with("List") && json_raw_at(manifest, {"items"}) && !declares(op))
      return wrong("a list is no child; give its items one by one");
    Desired desired;
    HOOKD_TRY(desired.kind, kind_of(op));
    desired.api_version = op.api_version;
    desired.name = op.name;
    HOOKD_TRY(desired.ns, namespace_of(op, *desired.kind.type));
    HOOKD_CHECK(not_hidden(desired, manifest));
    if (same_kind(*desired.kind.type, parent_type_) && desired.ns == parent_.ns && desired.name == parent_.name)
      return wrong("it is the parent itself; answer `status` to change that, or use `operations`");
    if (const auto owner = controller_of(manifest); owner && owner->uid != parent_.uid)
      return wrong("its ownerReferences name another controller, {} {}; leave that out, hookd puts in the parent's",
                   owner->kind, owner->name);
    HOOKD_TRY(desired.text, text_of(manifest, desired.ns, parent_.uid, desired.kind.type->has_subresource("status")));
    desired.hash = content_of(desired.text);
    return desired;
  }

  static bool same_kind(const kube::ResourceType& one, const kube::ResourceType& other) {
    return one.group == other.group && one.kind == other.kind;
  }
  bool declares(const apply::Operation& op) const {
    return std::ranges::any_of(kinds_, [&](const auto& kind) { return fits(kind, op); });
  }
  static bool fits(const ChildKind& kind, const apply::Operation& op) {
    const std::string_view group = group_of(op.api_version);
    return kind.type ? kind.type->group == group && kind.type->kind == op.kind
                     : group_of(kind.rule->api_version) == group && kind.rule->kind == op.kind;
  }

  Result<ChildKind> kind_of(const apply::Operation& op) const {
    for (const auto& kind : kinds_) {
      if (!fits(kind, op)) continue;
      if (!kind.type)
        return fail(Errc::kUnavailable, "{}: the cluster does not serve {} ({}) now; is its CRD missing?", place_,
                    op.kind, op.api_version);
      return kind;
    }
    // A rule may name a kind that is not served by its plural or short name: whether this is meant cannot be said.
    for (const auto& kind : kinds_)
      if (kind.type && kind.type->kind == op.kind)
        return wrong("apiVersion {} is another group than that of the declared {}; write {}", op.api_version,
                     kind.type->display(), kind.type->api_version());
    return wrong(
        "its kind is not declared; add {{apiVersion: {}, kind: {}}} to `reconcile.children` of the hook (declared: "
        "{}), or "
        "write it with `operations`",
        op.api_version, op.kind, declared(kinds_));
  }

  Result<std::string> namespace_of(const apply::Operation& op, const kube::ResourceType& type) const {
    if (!type.namespaced) {
      if (!op.ns.empty()) return wrong("{} is cluster-scoped; leave metadata.namespace out", type.display());
      if (parent_type_.namespaced)
        return wrong(
            "{} is cluster-scoped, and a {} in a namespace cannot own it (the garbage collector would delete it); "
            "write "
            "it with `operations`, or make the parent's kind cluster-scoped",
            type.display(), parent_type_.kind);
      return std::string();
    }
    if (!parent_type_.namespaced) {
      if (op.ns.empty()) return wrong("it needs metadata.namespace: its parent {} has none", parent_type_.kind);
      return op.ns;
    }
    if (!op.ns.empty() && op.ns != parent_.ns)
      return wrong(
          "namespace {} is not that of its parent, {}; an owner must be in the same namespace, or the garbage "
          "collector "
          "deletes the child; write it with `operations`",
          op.ns, parent_.ns);
    return parent_.ns;
  }

  // What is not watched would be made anew in every pass and never deleted.
  Result<void> not_hidden(const Desired& desired, std::string_view manifest) const {
    const hook::ChildRule& rule = *desired.kind.rule;
    if (!rule.namespaces.empty() && std::ranges::find(rule.namespaces, desired.ns) == rule.namespaces.end())
      return wrong("namespace {} is not among the `namespaces` of its rule in hook.yaml ({})", desired.ns,
                   fmt::join(rule.namespaces, ", "));
    if (!rule.label_selector || rule.label_selector->empty()) return {};
    cache::LabelSelector::Labels labels;
    if (const auto raw = json_raw_at(manifest, {"metadata", "labels"}); raw && apply::is_json_object(*raw)) {
      HOOKD_TRY(const auto members, apply::json_members(*raw));
      for (const auto& label : members)
        if (auto value = apply::json_text_of(label.value)) labels[label.key] = *std::move(value);
    }
    if (!rule.label_selector->matches(labels))
      return wrong(
          "its labels do not match the `labelSelector` of its rule in hook.yaml ({}); put them into the manifest",
          rule.label_selector->to_string());
    return {};
  }

  const std::vector<ChildKind>& kinds_;
  const kube::ResourceType& parent_type_;
  const cache::Identity& parent_;
  std::string place_;
};

}  // namespace

Result<std::vector<Desired>> read_desired(const std::vector<std::string_view>& manifests,
                                          const std::vector<ChildKind>& kinds, const kube::ResourceType& parent_type,
                                          const cache::Identity& parent) {
  return Reader(kinds, parent_type, parent).read(manifests);
}

}  // namespace hookd::reconcile
