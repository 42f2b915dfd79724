#include "reconcile/status_write.h"

#include <algorithm>

#include "apply/json_text.h"
#include "base/json_read.h"
#include "base/json_writer.h"
#include "hook/content_hash.h"

namespace hookd::reconcile {
namespace {

namespace json = boost::json;

bool same_number(const json::value& one, const json::value& other) {
  if (one.kind() == other.kind()) return one == other;
  // int64 and uint64 of boost::json compare by value; with a double, both as doubles.
  if (one.is_double() || other.is_double()) return one.to_number<double>() == other.to_number<double>();
  return one == other;
}

bool fits(const json::value& whole, const json::value& part, bool exactly) {
  if (whole.is_number() && part.is_number()) return same_number(whole, part);
  if (whole.kind() != part.kind()) return false;
  if (part.is_object()) {
    const auto& all = whole.as_object();
    if (exactly && all.size() != part.as_object().size()) return false;
    return std::ranges::all_of(part.as_object(), [&](const auto& member) {
      const auto* found = all.if_contains(member.key());
      return found && fits(*found, member.value(), exactly);
    });
  }
  if (part.is_array()) {
    const auto &one = whole.as_array(), &other = part.as_array();
    return std::ranges::equal(one, other, [&](const auto& a, const auto& b) { return fits(a, b, exactly); });
  }
  return whole == part;
}

bool compare(std::string_view whole, std::string_view part, bool exactly) {
  const auto one = parse_json(whole), other = parse_json(part);
  return one && other && fits(*one, *other, exactly);
}

std::string_view status_of(std::string_view object) {
  const auto raw = json_raw_at(object, {"status"});
  return raw && *raw != "null" ? *raw : std::string_view("{}");
}

// Server-side apply that takes the last member of a map leaves null in its place, also where the map is applied as {};
// the schema of a custom resource then refuses it ("must be of type object: null"). So a map that was emptied is left
// out, which takes it away whole. nullopt: `wanted` itself is such a map. Source: kube-apiserver 1.36, by trial.
std::optional<std::string> without_emptied(std::string_view wanted, std::string_view observed) {
  const auto members = apply::json_members(wanted), before = apply::json_members(observed);
  if (!members || !before || before->empty()) return std::string(wanted);
  if (members->empty()) return std::nullopt;
  apply::Changes changes;
  for (const auto& [key, value] : *members) {
    const apply::Member* old = apply::is_json_object(value) ? apply::find_member(*before, key) : nullptr;
    if (!old || !apply::is_json_object(old->value)) continue;
    auto left = without_emptied(value, old->value);
    if (!left || *left != value) changes.emplace_back(key, std::move(left));
  }
  return changes.empty() ? std::string(wanted) : apply::with_members(wanted, changes);
}

}  // namespace

bool same_json(std::string_view one, std::string_view other) { return compare(one, other, true); }
bool holds_json(std::string_view whole, std::string_view part) { return compare(whole, part, false); }

std::optional<apply::Operation> StatusWrites::plan(const kube::ResourceType& type, const cache::Identity& parent,
                                                   std::string_view observed, std::string_view status) {
  const std::string_view now = status_of(observed);
  const uint64_t answered = hook::content_hash(status), seen = hook::content_hash(now);
  if (const auto last = last_.find(parent.uid); last != last_.end() && last->second.answered == answered &&
                                                (last->second.left == seen || holds_json(now, status)))
    return std::nullopt;
  if (same_json(now, status)) {
    last_[parent.uid] = {answered, seen};
    return std::nullopt;
  }
  apply::Operation op;
  op.verb = apply::Verb::kApply;
  op.api_version = type.api_version();
  op.kind = type.kind;
  op.ns = parent.ns;
  op.name = parent.name;
  op.uid = parent.uid;
  op.subresource = "status";
  op.force = true;
  op.keep_object = true;
  JsonWriter out;
  out.begin_object().key("apiVersion").string(op.api_version).key("kind").string(op.kind);
  out.key("metadata").begin_object().key("name").string(parent.name);
  if (!parent.ns.empty()) out.key("namespace").string(parent.ns);
  out.key("uid").string(parent.uid).end_object();  // never a namesake's
  if (const auto sent = without_emptied(status, now)) out.key("status").raw(*sent);
  out.end_object();
  op.object = std::move(out).take();
  return op;
}

void StatusWrites::wrote(const cache::Identity& parent, std::string_view status, std::string_view object) {
  last_[parent.uid] = {hook::content_hash(status), hook::content_hash(status_of(object))};
}

}  // namespace hookd::reconcile
