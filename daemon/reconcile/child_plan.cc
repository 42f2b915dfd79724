#include "reconcile/child_plan.h"

#include <algorithm>
#include <deque>
#include <map>

#include "apply/json_text.h"
#include "base/json_read.h"
#include "base/json_writer.h"
#include "hook/own_writes.h"
#include "reconcile/cause.h"
#include "reconcile/child_match.h"
#include "reconcile/content.h"
#include "reconcile/rolling.h"

namespace hookd::reconcile {
namespace {

using Update = hook::ChildRule::Update;
using apply::Operation;
using apply::Verb;

bool rolls(Update update) { return update == Update::kRolling || update == Update::kRollingRecreate; }
bool recreates(Update update) { return update == Update::kRecreate || update == Update::kRollingRecreate; }
bool marked(Update update) { return update != Update::kApply; }

bool ends(std::string_view text) { return json_string_at(text, {"metadata", "deletionTimestamp"}).has_value(); }

std::string_view group_of(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

std::string mark_of(uint64_t hash) { return fmt::format("{}-{:016x}", kContentKind, hash); }

// The hash that an object carries; nullopt: none, or of another kind.
std::optional<std::string> mark_on(std::string_view object) {
  if (object.find(kManifestHash) == std::string_view::npos) return std::nullopt;
  auto mark = json_string_at(object, {"metadata", "annotations", kManifestHash});
  if (!mark || !mark->starts_with(fmt::format("{}-", kContentKind))) return std::nullopt;
  return mark;
}

class Planner {
 public:
  explicit Planner(const PlanInput& input) : in_(input), reference_(owner_reference(input.parent_type, input.parent)) {}

  ChildPlan plan() {
    std::map<std::string, const Observed*> observed;
    for (const auto& one : in_.observed)
      if (one.object && one.kind.type) observed.emplace(name_of(*one.kind.type, *one.object), &one);
    for (const auto& desired : in_.desired) {
      const auto found = observed.find(hook::resource_of(*desired.kind.type) + " " + desired.key());
      const Observed* child = found == observed.end() ? nullptr : found->second;
      if (found != observed.end()) observed.erase(found);
      if (in_.write) child ? existing(desired, *child) : missing(desired);
    }
    for (auto& roll : rolls_) move_on(roll);
    // In the order in which they are known, so that the same input makes the same plan.
    if (in_.remove)
      for (const auto& one : in_.observed)
        if (one.object && one.kind.type)
          if (const auto left = observed.find(name_of(*one.kind.type, *one.object));
              left != observed.end() && left->second == &one)
            unwanted(one);
    sort_writes();
    return std::move(plan_);
  }

 private:
  struct Move {
    const Desired* desired = nullptr;
    const Observed* observed = nullptr;
  };
  struct Roll {
    const hook::ChildRule* rule = nullptr;
    RollOut out;
    std::vector<Move> moves, moved;
  };
  struct Write {
    size_t place = 0;
    Operation operation;
    WriteMemory::Key key;
  };

  static std::string name_of(const kube::ResourceType& type, const cache::Identity& object) {
    return hook::resource_of(type) + " " + object.key();
  }
  static WriteMemory::Key key_of(const Desired& desired) {
    WriteMemory::Key key;
    key.resource = hook::resource_of(*desired.kind.type);
    key.child = desired.key();
    key.manifest = desired.hash;
    key.with_status = !desired.kind.type->has_subresource("status");
    if (recreates(desired.kind.rule->update)) key.wanted = desired.text;
    return key;
  }
  Roll& roll_of(const Desired& desired) {
    const auto found = std::ranges::find(rolls_, desired.kind.rule, &Roll::rule);
    if (found != rolls_.end()) return *found;
    rolls_.push_back({desired.kind.rule, {}, {}, {}});
    return rolls_.back();
  }
  size_t place_of(const Desired& desired) const { return static_cast<size_t>(&desired - in_.desired.data()); }

  Operation about(const Desired& desired) const {
    Operation op;
    op.verb = Verb::kApply;
    op.api_version = desired.api_version;
    op.kind = desired.kind.type->kind;
    op.ns = desired.ns;
    op.name = desired.name;
    op.keep_object = true;
    return op;
  }

  // The manifest with our reference and mark; `uid` and `version` as preconditions, "" = none.
  std::string manifest(const Desired& desired, std::string_view uid, std::string_view version) const {
    apply::Changes meta{{"ownerReferences", with_owner(desired.text, reference_, in_.parent.uid)}};
    if (!uid.empty()) meta.emplace_back("uid", json_string(uid));
    if (!version.empty()) meta.emplace_back("resourceVersion", json_string(version));
    if (marked(desired.kind.rule->update)) {
      const auto notes = json_raw_at(desired.text, {"metadata", "annotations"});
      meta.emplace_back("annotations",
                        apply::with_members(notes && apply::is_json_object(*notes) ? *notes : "{}",
                                            {{std::string(kManifestHash), json_string(mark_of(desired.hash))}}));
    }
    return apply::with_metadata(desired.text, meta);
  }

  void apply_to(const Desired& desired, const cache::Identity& object) {
    Operation op = about(desired);
    op.uid = object.uid;
    op.force = true;
    op.object = manifest(desired, object.uid, "");
    writes_.push_back({place_of(desired), std::move(op), key_of(desired)});
  }

  void make(const Desired& desired) {
    Operation op = about(desired);
    op.object = manifest(desired, "", apply::kMustNotExist);
    writes_.push_back({place_of(desired), std::move(op), key_of(desired)});
  }

  // Takes the reference alone: what becomes of the rest is for the rule to say, once it is a child. No apply: one of so
  // little would take away what our manager set in an earlier life of the object (released, and wanted again).
  void adopt_as_it_is(const Desired& desired, const cache::Object& object, std::string_view text) {
    Operation op = reference_patch(desired.kind, object, with_owner(text, reference_, in_.parent.uid));
    op.keep_object = true;
    writes_.push_back({place_of(desired), std::move(op), {}});
  }

  // With the version, as the whole list is written.
  static Operation reference_patch(const ChildKind& kind, const cache::Identity& object, std::string references) {
    Operation op = removal(kind, object);
    op.verb = Verb::kMergePatch;
    op.propagation_policy.clear();
    op.resource_version = object.resource_version;
    op.patch = apply::with_metadata("{}", {{"ownerReferences", std::move(references)}});
    return op;
  }

  static Operation removal(const ChildKind& kind, const cache::Identity& object) {
    Operation op;
    op.verb = Verb::kDelete;
    op.api_version = kind.type->api_version();
    op.kind = kind.type->kind;
    op.ns = object.ns;
    op.name = object.name;
    op.uid = object.uid;
    op.propagation_policy = "Background";
    return op;
  }
  void remove(const ChildKind& kind, const cache::Object& object) {
    // Without it cannot be said surely enough what is meant.
    if (!object.uid.empty()) plan_.removals.push_back(removal(kind, object));
  }

  Operation release(const Observed& child, std::string_view text) const {
    Operation op = reference_patch(child.kind, *child.object, without_owner(text, in_.parent.uid));
    if (text.find(kManifestHash) != std::string_view::npos)
      op.patch =
          apply::with_metadata(op.patch, {{"annotations", fmt::format("{{{}:null}}", json_string(kManifestHash))}});
    op.ignore_missing_object = true;
    return op;
  }

  void unwanted(const Observed& child) {
    const std::string text = child.object->text.unpack();
    if (ends(text) || child.object->uid.empty()) return;
    if (child.kind.rule->release)
      plan_.removals.push_back(release(child, text));
    else
      remove(child.kind, *child.object);
  }

  void missing(const Desired& desired) {
    const cache::ObjectPtr other = in_.other ? in_.other(desired.kind, desired.ns, desired.name) : nullptr;
    if (other) return foreign(desired, *other);
    if (rolls(desired.kind.rule->update)) roll_of(desired).out.moved(desired.display(), "it is being made");
    make(desired);
  }

  void foreign(const Desired& desired, const cache::Object& other) {
    const std::string text = other.text.unpack();
    ChildPlan::Conflict conflict{display_of(*desired.kind.type, other), {}, false};
    const auto owner = controller_of(text);
    if (text.empty()) {
      conflict.text = "it exists, and whose it is is not known";
    } else if (ends(text)) {
      conflict.text = "an object of this name that is not the parent's ends; the child is made when it is gone";
      conflict.passing = true;
    } else if (owner && owner->uid == in_.parent.uid) {
      conflict.text = "the watch has not told of it yet";  // other() and the observed are of different moments
      conflict.passing = true;
    } else if (owner && owner->kind == in_.parent_type.kind && owner->name == in_.parent.name &&
               group_of(owner->api_version) == in_.parent_type.group) {
      conflict.text = fmt::format(
          "it belongs to a former {} of the same name (uid {}); the garbage collector deletes it, then the child is "
          "made",
          display_of(in_.parent_type, in_.parent), owner->uid);
      conflict.passing = true;
    } else if (owner) {
      conflict.text = fmt::format("it belongs to {} {}; give the child another name, or take that reference off it",
                                  owner->kind, owner->name);
    } else if (desired.kind.rule->adopt && !other.uid.empty()) {
      if (rolls(desired.kind.rule->update)) roll_of(desired).out.moved(desired.display(), "it is being adopted");
      return desired.kind.rule->update == Update::kApply ? apply_to(desired, other)
                                                         : adopt_as_it_is(desired, other, text);
    } else {
      conflict.text =
          "it exists and belongs to nobody; it is left alone. Set `adopt: true` at the kind in `reconcile.children` to "
          "make "
          "such objects children, or give the child another name";
    }
    if (rolls(desired.kind.rule->update)) roll_of(desired).out.moved(desired.display(), conflict.text);
    plan_.conflicts.push_back(std::move(conflict));
  }

  void existing(const Desired& desired, const Observed& child) {
    const WriteMemory::Key key = key_of(desired);
    const cache::Object& object = *child.object;
    const Update update = desired.kind.rule->update;
    if (update == Update::kOnDelete) return;
    if (in_.memory.as_written(key, object)) {  // by its version: looked at before
      if (rolls(update)) roll_of(desired).moved.push_back({&desired, &child});
      return;
    }
    const std::string text = object.text.unpack();
    if (ends(text)) {
      if (!rolls(update)) return;
      Roll& roll = roll_of(desired);
      if (state_of(desired, key, object, text) != State::kCurrent) plan_.rolling = true;
      return roll.out.moved(desired.display(), "it ends");
    }
    if (update == Update::kApply) return keep_applied(desired, child, key, text);
    const State state = state_of(desired, key, object, text);
    if (update == Update::kRecreate) {
      if (state != State::kCurrent) return remove(child.kind, object);
      return note_same(key, child);
    }
    Roll& roll = roll_of(desired);
    if (state == State::kOther || (state == State::kDrifted && recreates(update))) {
      roll.moves.push_back({&desired, &child});
      return roll.out.to_move(roll.moves.size() - 1);
    }
    roll.moved.push_back({&desired, &child});
    if (update == Update::kRolling) return keep_applied(desired, child, key, text);
    note_same(key, child);
  }

  // In place: written when it is not known to be as wanted. A write too many changes nothing.
  void keep_applied(const Desired& desired, const Observed& child, const WriteMemory::Key& key, std::string_view text) {
    const cache::Object& object = *child.object;
    if (in_.memory.as_written(key, object.uid, text)) {
      if (!in_.memory.as_written(key, object)) plan_.same.push_back({key, child.object});
      return;
    }
    // What an earlier manifest set and this one does not goes only by an apply.
    const bool from_this = in_.memory.from_this(key, object.uid).value_or(false) ||
                           (marked(desired.kind.rule->update) && mark_on(text) == mark_of(desired.hash));
    if (from_this && is_as_wanted(desired.text, text, Doubt::kDiffers))
      plan_.same.push_back({key, child.object});
    else
      apply_to(desired, object);
  }

  enum class State { kCurrent, kDrifted, kOther };

  // From which manifest a child is, by the surest sign there is; a deletion may follow, so in doubt it is current.
  State state_of(const Desired& desired, const WriteMemory::Key& key, const cache::Object& object,
                 std::string_view text) const {
    const auto mark = mark_on(text);
    const auto remembered = in_.memory.from_this(key, object.uid);
    if (mark ? *mark != mark_of(desired.hash) : remembered && !*remembered) return State::kOther;
    if (in_.memory.drifted(key, object.uid, text) == WriteMemory::Drift::kDrifted) return State::kDrifted;
    if (!mark && !remembered && !is_as_wanted(desired.text, text, Doubt::kSame)) return State::kOther;
    return State::kCurrent;
  }

  // From now on it is known how what the manifest sets looks on the server. (It did not drift, or nothing was known.)
  void note_same(const WriteMemory::Key& key, const Observed& child) { plan_.same.push_back({key, child.object}); }

  void move_on(Roll& roll) {
    if (!roll.out.under_way()) return;
    plan_.rolling = true;
    for (const Move& one : roll.moved) {
      const std::string text = one.observed->object->text.unpack();
      roll.out.moved(one.desired->display(), ends(text) ? "it ends" : held_by(text, one.desired->kind.rule->checks));
    }
    for (const size_t number : roll.out.next()) {
      const Move& move = roll.moves[number];
      plan_.moving.push_back(move.desired->display());
      if (recreates(move.desired->kind.rule->update))
        remove(move.observed->kind, *move.observed->object);
      else
        apply_to(*move.desired, *move.observed->object);
    }
    for (auto& why : roll.out.holding()) plan_.waiting.push_back(std::move(why));
  }

  void sort_writes() {
    std::ranges::stable_sort(writes_, {}, &Write::place);
    for (auto& write : writes_) {
      plan_.writes.push_back(std::move(write.operation));
      plan_.written.push_back(std::move(write.key));
    }
  }

  const PlanInput& in_;
  const std::string reference_;
  ChildPlan plan_;
  std::vector<Write> writes_;
  std::deque<Roll> rolls_;  // by rule, in the answer's order; references to them stay good
};

}  // namespace

ChildPlan plan_children(const PlanInput& input) { return Planner(input).plan(); }

}  // namespace hookd::reconcile
