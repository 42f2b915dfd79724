#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "apply/json_text.h"
#include "apply/operation.h"
#include "apply/operation_shape.h"
#include "base/time.h"

namespace hookd::apply {
namespace {

class Parser {
 public:
  explicit Parser(std::vector<Member> members) : members_(std::move(members)) {}

  Result<Operation> parse() {
    HOOKD_CHECK(verb());
    const Shape shape = shape_of(op_.verb);
    for (const auto& member : members_) HOOKD_CHECK(key(member, shape));
    if (op_.verb == Verb::kEvict) {
      if (op_.api_version.empty()) op_.api_version = "v1";
      if (op_.kind.empty()) op_.kind = "Pod";
    }
    Words missing;
    for (const auto need : shape.needs)
      if (!find_member(members_, need)) missing.push_back(need);
    if (op_.verb == Verb::kEvent && !find_member(members_, "about"))
      for (const std::string_view need : {"apiVersion", "kind", "name"})
        if (!find_member(members_, need)) missing.push_back(need);
    if (!missing.empty()) return wrong("it needs `{}` too", fmt::join(missing, "`, `"));
    HOOKD_CHECK(whole());
    return std::move(op_);
  }

 private:
  template <class... Args>
  Failure wrong(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(Errc::kInvalid, "operation {}: {}", to_string(op_.verb),
                fmt::format(format, std::forward<Args>(args)...));
  }
  Failure expected(const Member& member, std::string_view what) const {
    return wrong("`{}` must be {}, not {}", member.key, what, json_type_name(member.value));
  }

  Result<void> verb() {
    const Member* member = find_member(members_, "operation");
    if (!member) return fail(Errc::kInvalid, "an operation needs the key `operation`");
    const auto name = json_text_of(member->value);
    if (!name) return fail(Errc::kInvalid, "`operation` must be text, not {}", json_type_name(member->value));
    const auto verb = parse_verb(*name);
    if (!verb) {
      Words known;
      for (int i = 0; i <= static_cast<int>(Verb::kRequeue); ++i) known.push_back(to_string(static_cast<Verb>(i)));
      return fail(Errc::kInvalid, "`operation: {}` is not known{}", shorten(*name), nearest(*name, known));
    }
    op_.verb = *verb;
    return {};
  }

  Result<void> key(const Member& member, const Shape& shape) {
    const std::string_view key = member.key;
    if (key == "operation") return {};
    if (key == "repeat") return boolean(member, op_.repeat);
    if (std::ranges::find(shape.takes, key) == shape.takes.end())
      return wrong("`{}` is not a key of it{}", shorten(key), nearest(key, shape.takes));
    if (key == "apiVersion") return text(member, op_.api_version);
    if (key == "kind") return text(member, op_.kind);
    if (key == "namespace") return member.value == "null" ? Result<void>{} : path_text(member, op_.ns, true);
    if (key == "name")
      return op_.verb == Verb::kMetric ? text(member, sample_.name) : path_text(member, op_.name, false);
    if (key == "uid") return text(member, op_.uid);
    if (key == "resourceVersion") return text(member, op_.resource_version);
    if (key == "fieldManager") return text(member, op_.field_manager);
    if (key == "jqFilter") return text(member, op_.jq_filter);
    if (key == "subresource") return subresource(member);
    if (key == "ignoreMissingObject") return boolean(member, op_.ignore_missing_object);
    if (key == "dryRun") return boolean(member, op_.dry_run);
    if (key == "force") return boolean(member, op_.force);
    if (key == "gracePeriodSeconds") return seconds(member);
    if (key == "replicas") return integer(member, op_.replicas, std::numeric_limits<int32_t>::max());
    if (key == "propagationPolicy")
      return one_of(member, op_.propagation_policy, {"Foreground", "Background", "Orphan"});
    if (key == "object") return object(member, op_.object);
    if (key == "patch") return patch(member);
    if (key == "status")
      return op_.verb == Verb::kCondition ? one_of(member, op_.condition_status, {"True", "False", "Unknown"})
                                          : object(member, op_.patch);
    if (key == "labels") return op_.verb == Verb::kMetric ? sample_labels(member) : entries(member);
    if (key == "annotations") return entries(member);
    if (key == "about") return about(member);
    if (key == "reason") return text(member, op_.reason);
    if (key == "message" && op_.verb == Verb::kCondition && member.value == "\"\"") return {};
    if (key == "message") return text(member, op_.message);
    if (key == "type" && op_.verb == Verb::kCondition) return text(member, op_.condition_type);
    if (key == "type") return one_of(member, op_.event_type, {"Normal", "Warning"});
    if (key == "after") return after(member);
    if (key == "action") return action(member);
    if (key == "value") return number(member, sample_.value);
    if (key == "buckets") return buckets(member);
    if (key == "group") return text(member, sample_.group);
    return wrong("`{}` is not read", key);  // a key in a shape without a reader: a fault of ours, seen by a test
  }

  Result<void> text(const Member& member, std::string& out) {
    auto value = json_text_of(member.value);
    if (!value) return expected(member, "text");
    if (value->empty()) return wrong("`{}` is empty", member.key);
    out = *std::move(value);
    return {};
  }
  Result<void> path_text(const Member& member, std::string& out, bool may_be_empty) {
    if (may_be_empty && member.value == "\"\"") return {};
    HOOKD_CHECK(text(member, out));
    if (!fits_path(out)) return wrong("`{}: {}` cannot be the name of an object", member.key, shorten(out));
    return {};
  }
  Result<void> one_of(const Member& member, std::string& out, const Words& known) {
    HOOKD_CHECK(text(member, out));
    if (std::ranges::find(known, out) == known.end())
      return wrong("`{}: {}` is not known{}", member.key, shorten(out), nearest(out, known));
    return {};
  }
  Result<void> boolean(const Member& member, bool& out) {
    if (member.value != "true" && member.value != "false") return expected(member, "true or false");
    out = member.value == "true";
    return {};
  }
  Result<void> integer(const Member& member, int64_t& out, int64_t most) {
    const auto raw = member.value;
    int64_t value = 0;
    const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), value);
    if (error != std::errc{} || end != raw.data() + raw.size() || value < 0 || value > most)
      return wrong("`{}` must be a whole number from 0 to {}, not {}", member.key, most, shorten(raw));
    out = value;
    return {};
  }
  Result<void> seconds(const Member& member) {
    int64_t value = 0;
    HOOKD_CHECK(integer(member, value, std::numeric_limits<int32_t>::max()));
    op_.grace_period_seconds = value;
    return {};
  }
  Result<void> number(const Member& member, double& out) {
    const auto raw = member.value;
    const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), out);
    if (error != std::errc{} || end != raw.data() + raw.size() || !std::isfinite(out))
      return expected(member, "a number");
    return {};
  }
  Result<void> object(const Member& member, std::string& out) {
    if (!is_json_object(member.value)) return expected(member, "an object");
    out = member.value;
    return {};
  }
  Result<void> patch(const Member& member) {
    const bool list = op_.verb == Verb::kJsonPatch;
    if (list ? !is_json_array(member.value) : !is_json_object(member.value))
      return expected(member, list ? "a list of {op, path, value}" : "an object");
    op_.patch = member.value;
    return {};
  }
  Result<void> subresource(const Member& member) {
    HOOKD_CHECK(text(member, op_.subresource));
    if (op_.subresource.starts_with('/')) op_.subresource.erase(0, 1);
    const auto& name = op_.subresource;
    if (name.empty() || std::ranges::any_of(name, [](char c) { return (c < 'a' || c > 'z') && c != '-'; }))
      return wrong("`subresource: {}` is no name of a subresource such as status or scale", shorten(name));
    // These are requests to the node or to other objects, not parts of the object: `allow: patch` must not open them.
    for (const std::string_view closed :
         {"exec", "attach", "portforward", "proxy", "log", "token", "eviction", "binding"})
      if (name == closed) return wrong("`subresource: {}` cannot be patched", name);
    return {};
  }
  Result<void> entries(const Member& member) {
    if (!is_json_object(member.value)) return expected(member, "an object of text or null");
    HOOKD_TRY(const auto values, json_members(member.value));
    for (const auto& value : values) {
      auto content = json_text_of(value.value);
      if (!content && value.value != "null")
        return wrong("`{}.{}` must be text (in quotes) or null, not {}", member.key, shorten(value.key),
                     json_type_name(value.value));
      op_.entries[value.key] = std::move(content);
    }
    if (op_.entries.empty()) return wrong("`{}` is empty", member.key);
    return {};
  }
  Result<void> about(const Member& member) {
    if (!is_json_object(member.value)) return expected(member, "an object {apiVersion, kind, namespace, name, uid}");
    HOOKD_TRY(const auto values, json_members(member.value));
    const Words known{"apiVersion", "kind", "namespace", "name", "uid"};
    for (const auto& value : values) {
      if (find_member(members_, value.key) && value.key != "about")
        return wrong("`{}` stands both in `about` and beside it", value.key);
      if (value.key == "apiVersion")
        HOOKD_CHECK(text(value, op_.api_version));
      else if (value.key == "kind")
        HOOKD_CHECK(text(value, op_.kind));
      else if (value.key == "name")
        HOOKD_CHECK(path_text(value, op_.name, false));
      else if (value.key == "uid")
        HOOKD_CHECK(text(value, op_.uid));
      else if (value.key != "namespace")
        return wrong("`about.{}` is not known{}", shorten(value.key), nearest(value.key, known));
      else if (value.value != "null")
        HOOKD_CHECK(path_text(value, op_.ns, true));
    }
    if (op_.api_version.empty() || op_.kind.empty() || op_.name.empty())
      return wrong("`about` needs `apiVersion`, `kind` and `name`");
    return {};
  }
  Result<void> after(const Member& member) {
    const auto value = json_text_of(member.value);
    if (!value) return expected(member, "a duration such as \"20s\"");
    const auto duration = parse_duration(*value);
    if (!duration) return wrong("`after`: {}", duration.error().what);
    op_.after = *duration;
    return {};
  }
  Result<void> action(const Member& member) {
    std::string name;
    HOOKD_CHECK(one_of(member, name, {"set", "add", "observe", "expire"}));
    using enum MetricSample::Action;
    sample_.action = name == "set" ? kSet : name == "add" ? kAdd : name == "observe" ? kObserve : kExpire;
    return {};
  }
  Result<void> sample_labels(const Member& member) {
    HOOKD_CHECK(entries(member));
    for (auto& [name, value] : op_.entries) {
      if (!value) return wrong("`labels.{}` must be text", shorten(name));
      sample_.labels[name] = *std::move(value);
    }
    op_.entries.clear();
    return {};
  }
  Result<void> buckets(const Member& member) {
    if (!is_json_array(member.value)) return expected(member, "a list of numbers");
    HOOKD_TRY(const auto values, json_elements(member.value));
    for (const auto raw : values) {
      double bound = 0;
      HOOKD_CHECK(number({"buckets", raw}, bound));
      if (!sample_.buckets.empty() && bound <= sample_.buckets.back()) return wrong("`buckets` must ascend");
      sample_.buckets.push_back(bound);
    }
    return {};
  }

  Result<void> whole() {
    switch (op_.verb) {
      case Verb::kCreate:
      case Verb::kCreateIfNotExists:
      case Verb::kCreateOrUpdate:
      case Verb::kApply:
        return read_manifest(op_);
      case Verb::kDeleteInBackground:
      case Verb::kDeleteNonCascading: {
        const std::string_view own = op_.verb == Verb::kDeleteInBackground ? "Background" : "Orphan";
        if (!op_.propagation_policy.empty() && op_.propagation_policy != own)
          return wrong("it means `propagationPolicy: {}`; for {} use Delete", own, op_.propagation_policy);
        return {};
      }
      case Verb::kEvict:
        if (op_.kind != "Pod" || op_.api_version != "v1")
          return wrong("only a Pod (v1) can be evicted, not {}", op_.kind);
        if (op_.ns.empty()) return wrong("it needs `namespace` too");
        return {};
      case Verb::kEvent:
        if (op_.event_type.empty()) op_.event_type = "Normal";
        if (op_.reason.size() > 128) return wrong("`reason` has {} bytes, at most 128 are taken", op_.reason.size());
        return {};
      case Verb::kCondition:
        return condition();
      case Verb::kMetric:
        return metric();
      default:
        return {};
    }
  }

  // The bounds of metav1.Condition: what a CRD's schema would refuse later is said here.
  Result<void> condition() {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto word = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; };
    const std::string& reason = op_.reason;
    if (reason.size() > 1024 || !letter(reason.front()) || !word(reason.back()) ||
        !std::ranges::all_of(reason, [&](char c) { return word(c) || c == ',' || c == ':'; }))
      return wrong("`reason: {}` is no reason; expected one word in CamelCase such as BackupFailed", shorten(reason));
    if (op_.condition_type.size() > 316 || op_.condition_type.find_first_of(" \t\n") != std::string::npos)
      return wrong("`type: {}` is no condition type; expected a word such as Ready or example.com/Ready",
                   shorten(op_.condition_type));
    if (op_.message.size() > 32768) return wrong("`message` has {} bytes, at most 32768 are taken", op_.message.size());
    const bool any = !op_.api_version.empty() || !op_.kind.empty() || !op_.name.empty() || !op_.ns.empty();
    if (any && (op_.api_version.empty() || op_.kind.empty() || op_.name.empty()))
      return wrong("`apiVersion`, `kind` and `name` go together; none of them means the object of the call");
    return {};
  }

  Result<void> metric() {
    const auto ok = [](std::string_view name, std::string_view more) {
      return !name.empty() && (name.front() < '0' || name.front() > '9') && std::ranges::all_of(name, [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || more.find(c) != more.npos;
      });
    };
    if (sample_.action == MetricSample::Action::kExpire) {
      if (sample_.group.empty()) return wrong("it needs `group` too: the group whose metrics go");
      for (const std::string_view key : {"name", "value", "labels", "buckets"})
        if (find_member(members_, key)) return wrong("`{}` has no meaning with `action: expire`", key);
      op_.metric = std::move(sample_);
      return {};
    }
    if (!find_member(members_, "name")) return wrong("it needs `name` too");
    if (!ok(sample_.name, "_:"))
      return wrong("`name: {}` is no metric name (letters, digits, _ and :)", shorten(sample_.name));
    for (const auto& [label, value] : sample_.labels)
      if (!ok(label, "_") || label.starts_with("__")) return wrong("`labels.{}` is no label name", shorten(label));
    if (sample_.action != MetricSample::Action::kObserve && !sample_.buckets.empty())
      return wrong("`buckets` goes with `action: observe` only");
    if (!find_member(members_, "value") && sample_.action != MetricSample::Action::kAdd)
      return wrong("it needs `value` too");
    if (sample_.action == MetricSample::Action::kAdd && sample_.value < 0)
      return wrong("`value` of an add must not be negative");
    op_.metric = std::move(sample_);
    return {};
  }

  std::vector<Member> members_;
  Operation op_;
  MetricSample sample_;
};

}  // namespace

Result<Operation> parse_operation(std::string_view json) {
  HOOKD_TRY(auto members, json_members(json));
  return Parser(std::move(members)).parse();
}

}  // namespace hookd::apply
