#include "compat/metacontroller/spec_reader.h"

#include <algorithm>

#include "base/json_read.h"
#include "compat/metacontroller/names.h"
#include "compat/metacontroller/spec_hooks.h"
#include "kube/token_file.h"

namespace hookd::metacontroller {
namespace {

std::string_view group_of(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

Result<void> read_type(const Fields& fields, std::string& api_version, std::string& resource) {
  HOOKD_TRY(api_version, fields.needed("apiVersion"));
  HOOKD_TRY(resource, fields.needed("resource"));
  const auto good = [](std::string_view text) {
    return std::ranges::all_of(text, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '/';
    });
  };
  if (!good(api_version) || std::ranges::count(api_version, '/') > 1)
    return fields.wrong("apiVersion", "group/version, or v1 of the core");
  if (!good(resource) || resource.find('/') != std::string::npos)
    return fail(Errc::kConfig, "{}: \"{}\": expected the plural in lower case, such as statefulsets",
                fields.place("resource"), resource.substr(0, 80));
  return {};
}

Result<std::optional<cache::LabelSelector>> read_selector(const Fields& fields, std::string_view key,
                                                          std::string_view match) {
  HOOKD_TRY(const auto selector, fields.map(key));
  if (!selector) return std::nullopt;
  boost::json::object object;
  for (const auto& [name, value] : selector->object()) {
    if (name != match && name != "matchExpressions")
      return fail(Errc::kConfig, "{}: unknown field; expected {} and matchExpressions", selector->place(name), match);
    object[name == match ? std::string_view("matchLabels") : std::string_view(name)] = value;
  }
  auto read = cache::LabelSelector::from_json(object);
  if (!read) return fail(Errc::kConfig, "{}: {}", selector->where(), read.error().what);
  return *std::move(read);
}

Result<ParentResource> read_parent(const Fields& fields, bool decorator) {
  ParentResource parent;
  HOOKD_CHECK(read_type(fields, parent.api_version, parent.resource));
  HOOKD_TRY(parent.label_selector, read_selector(fields, "labelSelector", "matchLabels"));
  if (decorator) {
    HOOKD_TRY(parent.annotation_selector, read_selector(fields, "annotationSelector", "matchAnnotations"));
  }
  HOOKD_CHECK(fields.boolean("ignoreStatusChanges", parent.ignore_status_changes));
  return parent;
}

Result<ChildResource> read_child(const Fields& fields) {
  ChildResource child;
  HOOKD_CHECK(read_type(fields, child.api_version, child.resource));
  HOOKD_TRY(const auto strategy, fields.map("updateStrategy"));
  if (!strategy) return child;
  std::string method;
  HOOKD_CHECK(strategy->text("method", method));
  bool known = method.empty();
  for (const UpdateMethod one : {UpdateMethod::kOnDelete, UpdateMethod::kRecreate, UpdateMethod::kInPlace,
                                 UpdateMethod::kRollingRecreate, UpdateMethod::kRollingInPlace})
    if (method == to_string(one)) {
      child.method = one;
      known = true;
    }
  if (!known)
    return fail(Errc::kConfig, "{}: \"{}\": expected OnDelete, Recreate, InPlace, RollingRecreate or RollingInPlace",
                strategy->place("method"), method.substr(0, 80));
  HOOKD_TRY(const auto checks, strategy->map("statusChecks"));
  if (!checks) return child;
  HOOKD_TRY(const auto conditions, checks->maps("conditions"));
  for (const Fields& condition : conditions) {
    hook::ConditionCheck check;
    HOOKD_TRY(check.type, condition.needed("type"));
    if (std::string text; condition.has("status")) {
      HOOKD_CHECK(condition.text("status", text));
      check.status = text;
    }
    if (std::string text; condition.has("reason")) {
      HOOKD_CHECK(condition.text("reason", text));
      check.reason = text;
    }
    child.checks.push_back(std::move(check));
  }
  return child;
}

// Two rules for one kind: upstream keeps the last (1.1).
template <class T>
void put(std::vector<T>& all, T next, const std::string& where, std::vector<std::string>& warnings) {
  const auto same = std::ranges::find_if(all, [&](const T& one) {
    return one.resource == next.resource && group_of(one.api_version) == group_of(next.api_version);
  });
  if (same == all.end()) {
    all.push_back(std::move(next));
    return;
  }
  warnings.push_back(
      fmt::format("{}: a second rule for {}; it takes the place of the one before", where, next.resource));
  *same = std::move(next);
}

Result<void> read_spec(const Fields& fields, const SpecReaderOptions& options, ControllerSpec& spec) {
  if (spec.composite()) {
    HOOKD_TRY(const auto parent, fields.map("parentResource"));
    if (!parent) return fail(Errc::kConfig, "{}: is missing", fields.place("parentResource"));
    HOOKD_TRY(auto read, read_parent(*parent, false));
    spec.parents.push_back(std::move(read));
    HOOKD_TRY(const auto history, parent->map("revisionHistory"));
    if (history) {
      HOOKD_TRY(auto paths, history->texts("fieldPaths"));
      if (!paths.empty()) spec.revision_field_paths = std::move(paths);
    }
    HOOKD_CHECK(fields.boolean("generateSelector", spec.generate_selector));
  } else {
    HOOKD_TRY(const auto parents, fields.maps("resources"));
    for (const Fields& parent : parents) {
      HOOKD_TRY(auto read, read_parent(parent, true));
      put(spec.parents, std::move(read), parent.where(), spec.warnings);
    }
    if (spec.parents.empty()) return fail(Errc::kConfig, "{}: is missing or empty", fields.place("resources"));
  }
  HOOKD_TRY(const auto children, fields.maps(spec.composite() ? "childResources" : "attachments"));
  for (const Fields& child : children) {
    HOOKD_TRY(auto read, read_child(child));
    put(spec.children, std::move(read), child.where(), spec.warnings);
  }
  if (fields.has("resyncPeriodSeconds")) {
    int64_t seconds = 0;
    HOOKD_CHECK(fields.integer("resyncPeriodSeconds", seconds, INT32_MIN, INT32_MAX));
    spec.resync = std::chrono::seconds(std::max<int64_t>(seconds, 1));
  }
  return read_hooks(fields, options, spec);
}

Result<std::optional<hook::Guard>> read_guard(const Fields& metadata) {
  HOOKD_TRY(const auto annotations, metadata.map("annotations"));
  std::string text;
  if (!annotations || !annotations->has(kGuardAnnotation)) return std::nullopt;
  HOOKD_CHECK(annotations->text(kGuardAnnotation, text));
  hook::Guard guard;
  if (text == "none") return guard;
  const std::string where = fmt::format("{}[\"{}\"]", annotations->where(), kGuardAnnotation);
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find(',', from), text.size());
    const std::string_view part = kube::trim(std::string_view(text).substr(from, end - from));
    from = end + 1;
    auto& limit = part.starts_with("deletes=") ? guard.deletes : guard.writes;
    if (!part.starts_with("deletes=") && !part.starts_with("writes="))
      return fail(Errc::kConfig,
                  "{}: \"{}\": expected deletes=COUNT/TIME, writes=COUNT/TIME, both with a comma, or none", where,
                  text.substr(0, 80));
    if (limit) return fail(Errc::kConfig, "{}: \"{}\" tells a limit twice", where, text.substr(0, 80));
    auto rate = config::parse_rate(part.substr(part.find('=') + 1));
    if (!rate) return fail(rate.error().with(where));
    limit = *rate;
  }
  return guard;
}

}  // namespace

Result<std::shared_ptr<const ControllerSpec>> read_controller(std::string text, ControllerKind kind,
                                                              const SpecReaderOptions& options) {
  auto spec = std::make_shared<ControllerSpec>();
  spec->kind = kind;
  auto root = parse_json(text);
  if (!root) return fail(Errc::kConfig, "{}", root.error().what);
  if (!root->is_object()) return fail(Errc::kConfig, "a {} is a mapping", to_string(kind));
  const Fields fields(root->get_object(), "");
  HOOKD_TRY(const auto metadata, fields.map("metadata"));
  if (!metadata) return fail(Errc::kConfig, "metadata: is missing");
  HOOKD_TRY(spec->name, metadata->needed("name"));
  HOOKD_CHECK(metadata->text("uid", spec->uid));
  HOOKD_CHECK(metadata->text("resourceVersion", spec->resource_version));
  HOOKD_CHECK(metadata->integer("generation", spec->generation, 0, INT64_MAX));
  HOOKD_TRY(spec->guard, read_guard(*metadata));
  HOOKD_TRY(const auto inner, fields.map("spec"));
  if (!inner) return fail(Errc::kConfig, "spec: is missing");
  HOOKD_CHECK(read_spec(*inner, options, *spec));
  spec->text = std::make_shared<const std::string>(std::move(text));
  return spec;
}

}  // namespace hookd::metacontroller
