#include "hook/done_operations.h"

#include "cache/resource_version.h"
#include "hook/content_hash.h"

namespace hookd::hook {
namespace {

// Of everything that makes an operation what it is: two that differ anywhere must not pass for one.
uint64_t fingerprint(const apply::Operation& op) {
  std::string text;
  const auto add = [&text](const auto& value) {
    const std::string part = fmt::format("{}", value);
    text += fmt::format("{}:{};", part.size(), part);
  };
  for (const std::string* one :
       {&op.api_version, &op.kind, &op.ns, &op.name, &op.generate_name, &op.uid, &op.resource_version, &op.object,
        &op.patch, &op.jq_filter, &op.propagation_policy, &op.subresource, &op.field_manager, &op.reason, &op.message,
        &op.event_type, &op.condition_type, &op.condition_status})
    add(*one);
  add(apply::to_string(op.verb));
  add(op.grace_period_seconds.value_or(-1));
  add(op.replicas);
  add(op.after.count());
  add(int{op.ignore_missing_object} | int{op.dry_run} << 1 | int{op.force} << 2);
  for (const auto& [key, value] : op.entries) {
    add(key);
    add(value ? "=" + *value : "-");
  }
  if (op.metric) {
    add(op.metric->name);
    add(static_cast<int>(op.metric->action));
    add(op.metric->value);
    add(op.metric->group);
    for (const auto& [key, value] : op.metric->labels) {
      add(key);
      add(value);
    }
    for (const double bound : op.metric->buckets) add(bound);
  }
  return content_hash(text);
}

// Does it say what should be, so that doing it once more on a changed object is right and on an unchanged one harmless?
bool restates(apply::Verb verb) {
  switch (verb) {
    case apply::Verb::kApply:
    case apply::Verb::kCreateIfNotExists:
    case apply::Verb::kCreateOrUpdate:
    case apply::Verb::kMergePatch:
    case apply::Verb::kStrategicMergePatch:
    case apply::Verb::kScale:
    case apply::Verb::kStatus:
    case apply::Verb::kLabel:
    case apply::Verb::kAnnotate:
    case apply::Verb::kCondition:
      return true;
    default:
      return false;
  }
}

bool by_name_alone(const apply::Operation& op) {
  return op.uid.empty() && (apply::is_delete(op.verb) || op.verb == apply::Verb::kEvict);
}
bool makes_a_name(const apply::Operation& op) { return op.verb == apply::Verb::kCreate && !op.name.empty(); }
bool changes_by_steps(apply::Verb verb) { return verb == apply::Verb::kJsonPatch || verb == apply::Verb::kJqPatch; }

// Does doing it once more add nothing, whatever the events?
bool absolute(const apply::Operation& op) {
  if (op.verb == apply::Verb::kRequeue) return true;  // the wish of the last call holds
  return op.metric && (op.metric->action == apply::MetricSample::Action::kSet || !op.metric->group.empty());
}

}  // namespace

void DoneOperations::note_sent(const apply::Operation& op) { sent_.insert(fingerprint(op)); }

bool DoneOperations::was_sent(const apply::Operation& op) const { return sent_.contains(fingerprint(op)); }

void DoneOperations::events_changed() {
  for (auto& [hash, done] : done_) done.older = true;
}

void DoneOperations::note(const apply::Operation& op, const apply::Outcome& outcome) {
  if (absolute(op)) return;
  // A patch in steps that found nothing to change: there is nothing that it would repeat.
  if (changes_by_steps(op.verb) && outcome.kind == apply::Outcome::Kind::kNotNeeded) return;
  const uint64_t mark = fingerprint(op);
  if (done_.size() >= kMost && !done_.contains(mark)) return;
  Done& done = done_[mark];
  // One that was sent again because the object changed, or as news came, is still done once; patches in steps add up.
  const bool again = restates(op.verb) || (done.older && (makes_a_name(op) || by_name_alone(op)));
  if (done.times == 0 || !again) ++done.times;
  done.resource_version = outcome.resource_version;
  if (!outcome.uid.empty()) done.uid = outcome.uid;
  done.older = false;
}

void DoneOperations::join(const DoneOperations& other) {
  for (const auto& [hash, theirs] : other.done_) {
    const auto [known, fresh] = done_.try_emplace(hash, theirs);
    if (fresh) continue;
    Done& done = known->second;
    done.times = std::max(done.times, theirs.times);
    if (!theirs.resource_version.empty()) done.resource_version = theirs.resource_version;
    if (!theirs.uid.empty()) done.uid = theirs.uid;
    done.older |= theirs.older;
  }
  sent_.insert(other.sent_.begin(), other.sent_.end());
}

// Is it to be done although it was done before?
bool DoneOperations::stays(apply::Operation& op, const Done& done, const Seen& seen) const {
  if (restates(op.verb) || (done.older && changes_by_steps(op.verb))) {
    const cache::ObjectPtr object = done.resource_version.empty() ? nullptr : seen(op);
    if (!object) return restates(op.verb) && done.older;
    if (restates(op.verb)) return object->resource_version != done.resource_version;
    // What the call shows may lag behind the patch: adding to a list once more because of that would be wrong.
    return object->uid != done.uid || cache::newer_version(object->resource_version, done.resource_version);
  }
  if (!done.older) return false;
  if (makes_a_name(op)) op.made_uid = done.uid;
  return makes_a_name(op) || by_name_alone(op);
}

void DoneOperations::leave_out(std::vector<apply::Operation>& operations, const Seen& seen) const {
  auto left = done_;
  std::erase_if(operations, [&](apply::Operation& op) {
    if (op.repeat) return false;
    const auto known = left.find(fingerprint(op));
    if (known == left.end() || known->second.times == 0) return false;
    if (stays(op, known->second, seen)) return false;
    --known->second.times;
    return true;
  });
}

}  // namespace hookd::hook
