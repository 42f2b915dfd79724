#include "compat/metacontroller/response.h"

#include <charconv>
#include <cmath>
#include <set>

#include "apply/json_text.h"
#include "base/ascii.h"
#include "base/json_read.h"
#include "config/nearest.h"

namespace hookd::metacontroller {
namespace {

using apply::Member;
using Names = std::set<std::string, std::less<>>;

constexpr double kMaxResyncAfterSeconds = 10.0 * 365 * 24 * 3600;

std::string excerpt(std::string_view raw) {
  std::string text(raw.substr(0, 40));
  if (raw.size() > 40) text += "…";
  return text;
}

std::string_view type_of(std::string_view raw) {
  switch (raw.empty() ? ' ' : raw.front()) {
    case '{':
      return "an object";
    case '[':
      return "a list";
    case '"':
      return "a string";
    case 't':
    case 'f':
      return "a boolean";
    case 'n':
      return "null";
    default:
      return "a number";
  }
}

bool is_null(const Member* member) { return !member || member->value == "null"; }

// Of Secrets too: never more than the type of what was found.
Failure wrong_type(std::string_view where, std::string_view expected, std::string_view raw) {
  return fail(Errc::kInvalid, "{}: expected {}, found {}", where, expected, type_of(raw));
}

// One decode: what it may bear, and what it told.
class Decoder {
 public:
  Decoder(Unmarshal unmarshal, std::vector<std::string>& warnings)
      : strict_(unmarshal == Unmarshal::kStrict), warnings_(warnings) {}

  Result<std::vector<Member>> members(std::string_view raw, const std::string& where) {
    std::vector<std::string> twice;
    auto all = apply::json_members_lenient(raw, twice);
    if (!all) return fail(Errc::kInvalid, "{}{}", where.empty() ? "" : where + ": ", all.error().what);
    for (const std::string& name : twice)
      HOOKD_CHECK(fault(fmt::format("{}`{}` stands twice", where.empty() ? "" : where + ": ", name)));
    return all;
  }

  Result<void> known(const std::vector<Member>& members, const Names& names, const std::string& where) {
    for (const Member& member : members)
      if (!names.contains(member.key))
        HOOKD_CHECK(fault(fmt::format("{}unknown field `{}`{}", where.empty() ? "" : where + ": ", member.key,
                                      config::hint(member.key, names))));
    return {};
  }

  // An error with strict, else told.
  Result<void> fault(std::string text) {
    if (strict_) return fail(Errc::kInvalid, "{} (responseUnMarshallMode is strict)", text);
    if (warnings_.size() < kMaxWarnings) warnings_.push_back(std::move(text));
    return {};
  }

  static constexpr size_t kMaxWarnings = 20;

 private:
  bool strict_;
  std::vector<std::string>& warnings_;
};

Result<std::string> text_at(const std::vector<Member>& members, std::string_view key, const std::string& where) {
  const Member* member = apply::find_member(members, key);
  const std::string name = where.empty() ? std::string(key) : fmt::format("{}.{}", where, key);
  if (is_null(member)) return std::string();
  auto text = apply::json_text_of(member->value);
  if (!text) return wrong_type(name, "a string", member->value);
  return *std::move(text);
}

Result<std::vector<Member>> whole_answer(Decoder& decoder, std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return fail(Errc::kInvalid, "the hook answered with an empty body; it has to be a JSON object");
  if (auto valid = validate_json(text); !valid)
    return fail(Errc::kInvalid, "the answer is no JSON: {}", valid.error().what);
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (text[first] != '{') return wrong_type("the answer", "an object", text.substr(first));
  return decoder.members(text, "");
}

Result<DesiredObject> read_child(Decoder& decoder, std::string_view raw, const std::string& where) {
  if (raw == "null") return fail(Errc::kInvalid, "{} is null; every element has to be an object of Kubernetes", where);
  if (!apply::is_json_object(raw)) return wrong_type(where, "an object", raw);
  HOOKD_TRY(const auto members, decoder.members(raw, where));
  DesiredObject child;
  HOOKD_TRY(child.kind, text_at(members, "kind", where));
  HOOKD_TRY(child.api_version, text_at(members, "apiVersion", where));
  if (child.kind.empty()) return fail(Errc::kInvalid, "{}: kind is missing", where);
  if (child.api_version.empty()) return fail(Errc::kInvalid, "{} ({}): apiVersion is missing", where, child.kind);
  const Member* metadata = apply::find_member(members, "metadata");
  if (is_null(metadata)) return fail(Errc::kInvalid, "{} ({}): metadata.name is missing", where, child.kind);
  if (!apply::is_json_object(metadata->value)) return wrong_type(where + ".metadata", "an object", metadata->value);
  HOOKD_TRY(const auto meta, decoder.members(metadata->value, where + ".metadata"));
  HOOKD_TRY(child.name, text_at(meta, "name", where + ".metadata"));
  HOOKD_TRY(child.ns, text_at(meta, "namespace", where + ".metadata"));
  if (child.name.empty()) return fail(Errc::kInvalid, "{} ({}): metadata.name is missing", where, child.kind);
  child.text = raw;
  return child;
}

// Nothing under `name`, but something that was meant for it: upstream deletes everything then.
Result<void> refuse_misspelt(const std::vector<Member>& members, const std::string& name, const Names& known) {
  if (apply::find_member(members, name)) return {};
  const std::string other = name == "children" ? "attachments" : "children";
  const std::string_view stem = name == "children" ? "child" : "attach";
  for (const Member& member : members) {
    if (known.contains(member.key)) continue;
    if (member.key != other && !lower(member.key).starts_with(stem) && config::nearest(member.key, {name}).empty())
      continue;
    return fail(Errc::kInvalid,
                "the answer has no `{}`, but `{}`: did you mean `{}`? Nothing was changed, since without it all of "
                "them would be deleted; answer with `{}: []` if that is meant",
                name, member.key, name, name);
  }
  return {};
}

Result<void> read_values(const std::vector<Member>& members, std::string_view key,
                         std::map<std::string, std::optional<std::string>>& out) {
  const Member* member = apply::find_member(members, key);
  if (is_null(member)) return {};
  if (!apply::is_json_object(member->value)) return wrong_type(key, "an object of strings", member->value);
  std::vector<std::string> twice;
  HOOKD_TRY(const auto values, apply::json_members_lenient(member->value, twice));
  for (const Member& value : values) {
    if (value.value == "null") {
      out[value.key] = std::nullopt;
      continue;
    }
    auto text = apply::json_text_of(value.value);
    if (!text) return wrong_type(fmt::format("{}[\"{}\"]", key, value.key), "a string or null", value.value);
    out[value.key] = *std::move(text);
  }
  return {};
}

Result<void> read_resync(Decoder& decoder, const Member* member, SyncAnswer& out) {
  if (is_null(member)) return {};
  double seconds = 0;
  const std::string_view raw = member->value;
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), seconds);
  if (end != raw.data() + raw.size() || (error != std::errc() && error != std::errc::result_out_of_range))
    return wrong_type("resyncAfterSeconds", "a number", raw);
  if (error == std::errc::result_out_of_range) seconds = raw.find("e-") == raw.npos ? HUGE_VAL : 0;
  if (seconds > kMaxResyncAfterSeconds) {
    HOOKD_CHECK(decoder.fault(fmt::format("resyncAfterSeconds: {} is above {:.0f} (10 years), which is taken",
                                          excerpt(raw), kMaxResyncAfterSeconds)));
    seconds = kMaxResyncAfterSeconds;
  }
  // Up to the next whole nanosecond: what is above 0 is to come again.
  if (seconds > 0) out.resync_after = Duration(static_cast<int64_t>(std::ceil(seconds * 1e9)));
  return {};
}

Result<std::optional<cache::LabelSelector>> read_selector(const std::vector<Member>& members, std::string_view key,
                                                          const std::string& where) {
  const Member* member = apply::find_member(members, key);
  if (is_null(member)) return std::nullopt;
  if (!apply::is_json_object(member->value))
    return wrong_type(fmt::format("{}.{}", where, key), "an object", member->value);
  HOOKD_TRY(const auto value, parse_json(member->value));
  auto selector = cache::LabelSelector::from_json(value.as_object());
  if (!selector) return fail(Errc::kInvalid, "{}.{}: {}", where, key, selector.error().what);
  return *std::move(selector);
}

Result<RelatedResource> read_related(Decoder& decoder, std::string_view raw, const std::string& where) {
  if (!apply::is_json_object(raw)) return wrong_type(where, "an object", raw);
  HOOKD_TRY(const auto members, decoder.members(raw, where));
  static const Names kKnown{"apiVersion", "resource", "labelSelector", "namespaceSelector", "namespace", "names"};
  HOOKD_CHECK(decoder.known(members, kKnown, where));
  RelatedResource rule;
  HOOKD_TRY(rule.api_version, text_at(members, "apiVersion", where));
  HOOKD_TRY(rule.resource, text_at(members, "resource", where));
  HOOKD_TRY(rule.ns, text_at(members, "namespace", where));
  HOOKD_TRY(rule.label_selector, read_selector(members, "labelSelector", where));
  HOOKD_TRY(rule.namespace_selector, read_selector(members, "namespaceSelector", where));
  if (const Member* names = apply::find_member(members, "names"); !is_null(names)) {
    if (!apply::is_json_array(names->value)) return wrong_type(where + ".names", "a list of strings", names->value);
    HOOKD_TRY(const auto elements, apply::json_elements(names->value));
    for (const std::string_view element : elements) {
      auto name = apply::json_text_of(element);
      if (!name) return wrong_type(where + ".names", "strings in the list", element);
      rule.names.push_back(*std::move(name));
    }
  }
  if (rule.api_version.empty()) return fail(Errc::kInvalid, "{}: apiVersion is missing", where);
  if (rule.resource.empty())
    return fail(Errc::kInvalid, "{}: resource is missing, the plural in lower case such as configmaps", where);
  if (!rule.names.empty() && (rule.label_selector || rule.namespace_selector))
    return fail(Errc::kInvalid, "{}: names cannot stand beside labelSelector or namespaceSelector", where);
  if (!rule.ns.empty() && rule.namespace_selector)
    return fail(Errc::kInvalid, "{}: namespace and namespaceSelector cannot stand together", where);
  return rule;
}

}  // namespace

Result<SyncAnswer> decode_sync(ControllerKind kind, Unmarshal unmarshal, std::string_view text) {
  SyncAnswer answer;
  Decoder decoder(unmarshal, answer.warnings);
  HOOKD_TRY(const auto members, whole_answer(decoder, text));
  const bool composite = kind == ControllerKind::kComposite;
  static const Names kComposite{"status", "children", "resyncAfterSeconds", "finalized"};
  static const Names kDecorator{"status", "attachments", "resyncAfterSeconds", "finalized", "labels", "annotations"};
  const Names& known = composite ? kComposite : kDecorator;
  const std::string list = composite ? "children" : "attachments";
  HOOKD_CHECK(refuse_misspelt(members, list, known));
  HOOKD_CHECK(decoder.known(members, known, ""));
  // Such as {"error": "…"}, which frameworks answer with 200: upstream deletes all children.
  if (!members.empty() &&
      std::ranges::none_of(members, [&](const Member& member) { return known.contains(member.key); }))
    return fail(Errc::kInvalid,
                "the answer has none of the fields of an answer, but `{}`; nothing was changed, since without `{}` all "
                "of them would be deleted",
                members.front().key, list);

  if (const Member* status = apply::find_member(members, "status"); !is_null(status)) {
    if (!apply::is_json_object(status->value)) return wrong_type("status", "an object or null", status->value);
    answer.status = std::string(status->value);
  }
  if (const Member* children = apply::find_member(members, list); !is_null(children)) {
    if (!apply::is_json_array(children->value)) return wrong_type(list, "a list", children->value);
    HOOKD_TRY(const auto elements, apply::json_elements(children->value));
    for (size_t i = 0; i < elements.size(); ++i) {
      HOOKD_TRY(auto child, read_child(decoder, elements[i], fmt::format("{}[{}]", list, i)));
      answer.children.push_back(std::move(child));
    }
  }
  HOOKD_CHECK(read_resync(decoder, apply::find_member(members, "resyncAfterSeconds"), answer));
  if (const Member* finalized = apply::find_member(members, "finalized"); !is_null(finalized)) {
    if (finalized->value != "true" && finalized->value != "false")
      return wrong_type("finalized", "true or false", finalized->value);
    answer.finalized = finalized->value == "true";
  }
  if (!composite) {
    HOOKD_CHECK(read_values(members, "labels", answer.labels));
    HOOKD_CHECK(read_values(members, "annotations", answer.annotations));
  }
  return answer;
}

Result<CustomizeAnswer> decode_customize(Unmarshal unmarshal, std::string_view text) {
  CustomizeAnswer answer;
  Decoder decoder(unmarshal, answer.warnings);
  const std::string_view body = text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (body.starts_with('['))
    return fail(Errc::kInvalid, R"(the answer is a list; it has to be an object: {{"relatedResources": [...]}})");
  HOOKD_TRY(const auto members, whole_answer(decoder, text));
  HOOKD_CHECK(decoder.known(members, {"relatedResources"}, ""));
  const Member* list = apply::find_member(members, "relatedResources");
  if (!list && !members.empty())
    return fail(Errc::kInvalid,
                "the answer has no `relatedResources`, but `{}`: did you mean that? The sync hook would be told that "
                "nothing is related; answer with `relatedResources: []` if that is meant",
                members.front().key);
  if (is_null(list)) return answer;
  if (!apply::is_json_array(list->value)) return wrong_type("relatedResources", "a list", list->value);
  HOOKD_TRY(const auto elements, apply::json_elements(list->value));
  for (size_t i = 0; i < elements.size(); ++i) {
    HOOKD_TRY(auto rule, read_related(decoder, elements[i], fmt::format("relatedResources[{}]", i)));
    answer.related.push_back(std::move(rule));
  }
  return answer;
}

}  // namespace hookd::metacontroller
