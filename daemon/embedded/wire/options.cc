#include "embedded/wire/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace hookd::embedded {
namespace {

using Type = FieldError::Type;

template <class T>
std::expected<T, std::string> go_number(std::string_view text, std::string_view function) {
  T value{};
  auto digits = text;
  if constexpr (std::is_signed_v<T>)
    if (!digits.empty() && digits.front() == '+') digits.remove_prefix(1);
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code == std::errc::result_out_of_range)
    return std::unexpected(fmt::format("strconv.{}: parsing {}: value out of range", function, go_quote(text)));
  if (code != std::errc{} || end != digits.data() + digits.size())
    return std::unexpected(fmt::format("strconv.{}: parsing {}: invalid syntax", function, go_quote(text)));
  return value;
}

// Only 0 and false are false.
bool flag(std::string_view value) {
  std::string low(value);
  std::transform(low.begin(), low.end(), low.begin(), [](unsigned char c) { return std::tolower(c); });
  return low != "0" && low != "false";
}

About options_kind(std::string_view kind) { return {"meta.k8s.io", "", std::string(kind), ""}; }

std::vector<std::string> all_of(const Request& request, std::string_view name) {
  std::vector<std::string> out;
  for (const auto& [key, value] : request.query)
    if (key == name) out.push_back(value);
  return out;
}

void check_dry_run(const std::vector<std::string>& values, FieldErrors& errors) {
  if (std::all_of(values.begin(), values.end(), [](const std::string& v) { return v == "All"; })) return;
  json::array shown;
  for (const auto& value : values) shown.emplace_back(value);
  errors.push_back({Type::kNotSupported, "dryRun", "", std::move(shown), {"All"}});
}

void check_manager(std::string_view manager, FieldErrors& errors) {
  if (manager.size() > 128) errors.push_back({Type::kTooLong, "fieldManager", "may not be more than 128 bytes"});
  size_t position = 0;
  for (const unsigned char c : manager) {
    if (c < 0x20 || c == 0x7f)
      errors.push_back({Type::kInvalid, "fieldManager",
                        fmt::format("invalid character U+{:04X} (at position {})", c, position),
                        json::string(manager)});
    ++position;
  }
}

FieldErrors watch_problems(const ListOptions& options) {
  FieldErrors errors;
  const auto& match = options.resource_version_match;
  if (options.send_initial_events && match != "NotOlderThan")
    errors.push_back({Type::kForbidden, "resourceVersionMatch",
                      "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"});
  if (!match.empty()) {
    if (!options.send_initial_events)
      errors.push_back({Type::kForbidden, "resourceVersionMatch",
                        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"});
    if (match != "NotOlderThan")
      errors.push_back({Type::kNotSupported, "resourceVersionMatch", "", json::string(match), {"NotOlderThan"}});
    if (!options.continue_token.empty())
      errors.push_back(
          {Type::kForbidden, "resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"});
  }
  return errors;
}

FieldErrors list_problems(const ListOptions& options) {
  FieldErrors errors;
  const auto& match = options.resource_version_match;
  if (!match.empty()) {
    if (options.resource_version.empty())
      errors.push_back({Type::kForbidden, "resourceVersionMatch",
                        "resourceVersionMatch is forbidden unless resourceVersion is provided"});
    if (!options.continue_token.empty())
      errors.push_back(
          {Type::kForbidden, "resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided"});
    if (match != "Exact" && match != "NotOlderThan")
      errors.push_back(
          {Type::kNotSupported, "resourceVersionMatch", "", json::string(match), {"Exact", "NotOlderThan", ""}});
    if (match == "Exact" && options.resource_version == "0")
      errors.push_back({Type::kForbidden, "resourceVersionMatch",
                        "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""});
  }
  if (options.send_initial_events)
    errors.push_back({Type::kForbidden, "sendInitialEvents", "sendInitialEvents is forbidden for list"});
  return errors;
}

}  // namespace

std::expected<int64_t, std::string> go_parse_int(std::string_view text) { return go_number<int64_t>(text, "ParseInt"); }
std::expected<uint64_t, std::string> go_parse_uint(std::string_view text) {
  return go_number<uint64_t>(text, "ParseUint");
}

Answer<ListOptions> list_options(const Request& request, bool watch) {
  ListOptions options;
  options.watch = watch;
  auto labels = LabelQuery::parse(request.parameter("labelSelector"));
  if (!labels) return refuse(labels.error());
  options.labels = *std::move(labels);
  auto fields = FieldSelector::parse(request.parameter("fieldSelector"));
  if (!fields) return refuse(fields.error());
  options.fields = *std::move(fields);
  if (request.has_parameter("allowWatchBookmarks")) options.bookmarks = flag(request.parameter("allowWatchBookmarks"));
  options.resource_version = request.parameter("resourceVersion");
  options.resource_version_match = request.parameter("resourceVersionMatch");
  options.continue_token = request.parameter("continue");
  if (request.has_parameter("timeoutSeconds")) {
    const auto value = go_parse_int(request.parameter("timeoutSeconds"));
    if (!value) return refuse(bad_request(value.error()));
    options.timeout_seconds = *value;
  }
  if (request.has_parameter("limit")) {
    const auto value = go_parse_int(request.parameter("limit"));
    if (!value) return refuse(bad_request(value.error()));
    options.limit = std::max<int64_t>(*value, 0);
  }
  if (request.has_parameter("sendInitialEvents"))
    options.send_initial_events = flag(request.parameter("sendInitialEvents"));
  // What was always so: a watch without a version, or from 0, begins with what there is.
  const auto errors = watch ? watch_problems(options) : list_problems(options);
  if (!errors.empty()) return refuse(invalid(options_kind("ListOptions"), errors));
  return options;
}

Answer<WriteOptions> write_options(const Request& request, WriteKind kind) {
  WriteOptions options;
  FieldErrors errors;
  options.field_manager = request.parameter("fieldManager");
  if (request.has_parameter("force")) options.force = flag(request.parameter("force"));
  if (kind == WriteKind::kApply) {
    if (options.field_manager.empty())
      errors.push_back({Type::kRequired, "fieldManager", "is required for apply patch"});
  } else if (kind == WriteKind::kPatch && options.force) {
    errors.push_back({Type::kForbidden, "force", "may not be specified for non-apply patch"});
  }
  check_manager(options.field_manager, errors);
  const auto dry_run = all_of(request, "dryRun");
  check_dry_run(dry_run, errors);
  options.dry_run = !dry_run.empty();
  const auto validation = request.parameter("fieldValidation");
  if (validation == "Ignore")
    options.validation = FieldValidation::kIgnore;
  else if (validation == "Strict")
    options.validation = FieldValidation::kStrict;
  else if (!validation.empty() && validation != "Warn")
    errors.push_back(
        {Type::kNotSupported, "fieldValidation", "", json::string(validation), {"", "Ignore", "Strict", "Warn"}});
  if (errors.empty()) return options;
  return refuse(invalid(options_kind(kind == WriteKind::kCreate   ? "CreateOptions"
                                     : kind == WriteKind::kUpdate ? "UpdateOptions"
                                                                  : "PatchOptions"),
                        errors));
}

Answer<DeleteOptions> delete_options(const Request& request, const json::object* body) {
  DeleteOptions options;
  std::vector<std::string> dry_run;
  std::optional<std::string> propagation;
  if (body) {
    const auto wrong = [](std::string_view got, std::string_view field, std::string_view type) {
      return refuse(bad_request(
          fmt::format("json: cannot unmarshal {} into Go struct field DeleteOptions.{} of type {}", got, field, type)));
    };
    const auto kind_name = [](const json::value& v) -> std::string_view {
      return v.is_string()   ? "string"
             : v.is_number() ? "number"
             : v.is_bool()   ? "bool"
             : v.is_array()  ? "array"
                             : "object";
    };
    for (const auto& [key, value] : *body) {
      if (value.is_null()) continue;
      if (key == "gracePeriodSeconds") {
        if (!value.is_int64()) return wrong(kind_name(value), "gracePeriodSeconds", "int64");
        options.grace_period_seconds = value.get_int64();
      } else if (key == "orphanDependents") {
        if (!value.is_bool()) return wrong(kind_name(value), "orphanDependents", "bool");
        options.orphan_dependents = value.get_bool();
      } else if (key == "propagationPolicy") {
        if (!value.is_string()) return wrong(kind_name(value), "propagationPolicy", "v1.DeletionPropagation");
        propagation = std::string(value.get_string());
      } else if (key == "dryRun") {
        if (!value.is_array()) return wrong(kind_name(value), "dryRun", "[]string");
        for (const auto& item : value.get_array()) {
          if (!item.is_string()) return wrong(kind_name(item), "dryRun", "string");
          dry_run.emplace_back(item.get_string());
        }
      } else if (key == "preconditions") {
        if (!value.is_object()) return wrong(kind_name(value), "preconditions", "v1.Preconditions");
        for (const auto& [name, wanted] : value.get_object()) {
          if (wanted.is_null()) continue;
          if (name != "uid" && name != "resourceVersion") continue;
          if (!wanted.is_string())
            return wrong(kind_name(wanted), "preconditions." + std::string(name),
                         name == "uid" ? "types.UID" : "string");
          (name == "uid" ? options.uid : options.resource_version) = std::string(wanted.get_string());
        }
      }
    }
  } else {
    if (request.has_parameter("gracePeriodSeconds")) {
      const auto value = go_parse_int(request.parameter("gracePeriodSeconds"));
      if (!value) return refuse(bad_request(value.error()));
      options.grace_period_seconds = *value;
    }
    if (request.has_parameter("orphanDependents"))
      options.orphan_dependents = flag(request.parameter("orphanDependents"));
    if (request.has_parameter("propagationPolicy")) propagation = std::string(request.parameter("propagationPolicy"));
    dry_run = all_of(request, "dryRun");
  }
  FieldErrors errors;
  if (options.orphan_dependents && propagation)
    errors.push_back({Type::kInvalid, "propagationPolicy",
                      "orphanDependents and deletionPropagation cannot be both set", json::string(*propagation)});
  if (propagation && *propagation != "Foreground" && *propagation != "Background" && *propagation != "Orphan")
    errors.push_back({Type::kNotSupported,
                      "propagationPolicy",
                      "",
                      json::string(*propagation),
                      {"Foreground", "Background", "Orphan", "nil"}});
  check_dry_run(dry_run, errors);
  if (!errors.empty()) return refuse(invalid(options_kind("DeleteOptions"), errors));
  options.dry_run = !dry_run.empty();
  if (propagation) options.propagation = *propagation;
  return options;
}

std::string manager_of_user_agent(std::string_view user_agent) {
  const auto name = user_agent.substr(0, user_agent.find('/'));
  std::string out;
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) continue;
    if (out.size() >= 128) break;
    out += c;
  }
  return out;
}

}  // namespace hookd::embedded
