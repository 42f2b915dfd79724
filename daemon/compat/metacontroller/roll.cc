// The step of a roll-out. Source: controllers.md 1.6.
#include <algorithm>
#include <charconv>

#include "compat/metacontroller/revisions.h"

namespace hookd::metacontroller {
namespace {

using Group = Revision::Group;

Group group_of(const ChildKind& kind) { return {kind.type->group, kind.type->kind}; }
bool rolls(const ChildKind& kind) { return kind.rule && is_rolling(kind.rule->method); }

const Wanted* find(const std::vector<Wanted>& all, const Group& group, std::string_view name) {
  const auto found =
      std::ranges::find_if(all, [&](const Wanted& one) { return one.name == name && group_of(one.kind) == group; });
  return found == all.end() ? nullptr : &*found;
}

class Roller {
 public:
  Roller(std::vector<Revision>& revisions, RollInput& input) : revisions_(revisions), in_(input) {}

  RollOut roll() {
    settle_claims();
    for (const Wanted& child : newest_wanted())
      if (rolls(child.kind)) move_at_once(child);
    RollOut out = step();
    for (const Wanted& child : newest_wanted()) {
      if (!rolls(child.kind) || owner_of(child) != SIZE_MAX)
        out.wanted.push_back(child);
      else
        out.untouched.emplace_back(group_of(child.kind), child.name);
    }
    for (Wanted& child : out.wanted)
      for (size_t i = 1; i < revisions_.size(); ++i)
        if (rolls(child.kind) && revisions_[i].claims_child(group_of(child.kind), child.name))
          if (const Wanted* before = find(in_.wanted[i], group_of(child.kind), child.name)) child = *before;
    return out;
  }

 private:
  const std::vector<Wanted>& newest_wanted() const { return in_.wanted.front(); }
  Revision& newest() { return revisions_.front(); }

  // Each child is claimed once, and only if its kind rolls and the newest revision wants it: a claim of one that is to
  // go would hold the roll-out, or its revision, for ever.
  void settle_claims() {
    std::set<std::pair<Group, std::string>> taken;
    for (Revision& revision : revisions_) {
      auto claims = std::exchange(revision.claims, {});
      for (const auto& [group, names] : claims)
        for (const auto& name : names) {
          const Wanted* wanted = find(newest_wanted(), group, name);
          if (wanted && rolls(wanted->kind) && taken.emplace(group, name).second) revision.take(group, name);
        }
    }
  }

  // Its index; SIZE_MAX = no revision claims it.
  size_t owner_of(const Wanted& child) const {
    for (size_t i = 0; i < revisions_.size(); ++i)
      if (revisions_[i].claims_child(group_of(child.kind), child.name)) return i;
    return SIZE_MAX;
  }

  void move_at_once(const Wanted& child) {
    const size_t owner = owner_of(child);
    if (owner == 0) return;
    const Group group = group_of(child.kind);
    const ObservedChild* there = observed(group, child.name);
    if (there ? !unchanged(*there, child, owner) : owner != SIZE_MAX) return;
    if (owner != SIZE_MAX) revisions_[owner].drop(group, child.name);
    newest().take(group, child.name);
  }

  bool unchanged(const ObservedChild& there, const Wanted& child, size_t owner) const {
    if (!is_up_to_date(there.text, child, in_.options)) return false;
    if (!in_.options.server_side || owner == SIZE_MAX) return true;
    // A field that is no longer wanted cannot be seen in the object: only the answers tell.
    const Wanted* before = find(in_.wanted[owner], group_of(child.kind), child.name);
    return before && before->object == child.object;
  }

  const ObservedChild* observed(const Group& group, std::string_view name) const {
    const auto found = std::ranges::find_if(in_.observed, [&](const ObservedChild& one) {
      return one.object->name == name && group_of(one.kind) == group;
    });
    return found == in_.observed.end() ? nullptr : &*found;
  }

  RollOut step() {
    for (const Wanted& child : newest_wanted()) {
      if (!rolls(child.kind)) continue;
      const size_t owner = owner_of(child);
      if (owner == 0) continue;
      if (auto why = held()) return {{}, "False", "RolloutWaiting", *std::move(why)};
      if (owner != SIZE_MAX) revisions_[owner].drop(group_of(child.kind), child.name);
      newest().take(group_of(child.kind), child.name);
      return {{}, "False", "RolloutProgressing", fmt::format("updating {} {}", child.kind.type->kind, child.name)};
    }
    return {{}, "True", "OnLatestRevision", fmt::format("latest ControllerRevision: {}", newest().name)};
  }

  // Why the next one may not move yet.
  std::optional<std::string> held() {
    for (const auto& [group, names] : newest().claims)
      for (const auto& name : names) {
        const ObservedChild* there = observed(group, name);
        if (!there) return fmt::format("missing child {} {}", group.second, name);
        const Wanted* wanted = find(newest_wanted(), group, name);
        if (wanted && !is_up_to_date(there->text, *wanted, in_.options))
          return fmt::format("child {} {} is not updated yet", group.second, name);
        const auto object = Value::parse(there->text);
        if (!object) return fmt::format("child {} {} cannot be read", group.second, name);
        if (object->at_path({"metadata", "deletionTimestamp"}))
          return fmt::format("child {} {} is being deleted", group.second, name);
        if (const auto why = failed_check(*object, *there->kind.rule))
          return fmt::format("child {} {}: {}", group.second, name, *why);
      }
    return std::nullopt;
  }

  std::vector<Revision>& revisions_;
  RollInput& in_;
};

int64_t whole(const Value* value) {
  int64_t number = 0;
  if (value && value->kind() == Value::Kind::kNumber)
    std::from_chars(value->text().data(), value->text().data() + value->text().size(), number);
  return number;
}

}  // namespace

RollOut roll(std::vector<Revision>& revisions, RollInput input) { return Roller(revisions, input).roll(); }

std::optional<std::string> failed_check(const Value& child, const ChildResource& rule) {
  if (rule.method == UpdateMethod::kRollingInPlace) {
    const Value* seen = child.at_path({"status", "observedGeneration"});
    const int64_t generation = whole(child.at_path({"metadata", "generation"}));
    if (seen && whole(seen) < generation)
      return fmt::format("its status is of generation {}, not yet of {}", whole(seen), generation);
  }
  const Value* conditions = child.at_path({"status", "conditions"});
  for (const auto& check : rule.checks) {
    const Value* found = nullptr;
    if (conditions)
      for (const Value& one : conditions->items())
        if (one.text_at({"type"}) == check.type) found = &one;
    if (!found) return fmt::format("it has no condition {}", check.type);
    if (check.status && found->text_at({"status"}) != *check.status)
      return fmt::format("condition {} is {}, not {}", check.type, found->text_at({"status"}), *check.status);
    if (check.reason && found->text_at({"reason"}) != *check.reason)
      return fmt::format("condition {} has reason {}, not {}", check.type, found->text_at({"reason"}), *check.reason);
  }
  return std::nullopt;
}

}  // namespace hookd::metacontroller
