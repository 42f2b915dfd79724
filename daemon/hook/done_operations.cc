#include "hook/done_operations.h"

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

}  // namespace

void DoneOperations::note_sent(const apply::Operation& op) { sent_.insert(fingerprint(op)); }

bool DoneOperations::was_sent(const apply::Operation& op) const { return sent_.contains(fingerprint(op)); }

void DoneOperations::note(const apply::Operation& op, const apply::Outcome& outcome) {
  Done& done = done_[fingerprint(op)];
  // One that was sent again because the object changed is still done once.
  if (done.times == 0 || !restates(op.verb)) ++done.times;
  done.resource_version = outcome.resource_version;
}

void DoneOperations::join(const DoneOperations& other) {
  for (const auto& [hash, theirs] : other.done_) {
    Done& done = done_[hash];
    done.times = std::max(done.times, theirs.times);
    if (!theirs.resource_version.empty()) done.resource_version = theirs.resource_version;
  }
  sent_.insert(other.sent_.begin(), other.sent_.end());
}

void DoneOperations::leave_out(std::vector<apply::Operation>& operations, const Seen& seen) const {
  auto left = done_;
  std::erase_if(operations, [&](const apply::Operation& op) {
    if (op.repeat) return false;
    const auto known = left.find(fingerprint(op));
    if (known == left.end() || known->second.times == 0) return false;
    if (restates(op.verb) && !known->second.resource_version.empty()) {
      const cache::ObjectPtr object = seen(op);
      if (object && object->resource_version != known->second.resource_version) return false;
    }
    --known->second.times;
    return true;
  });
}

}  // namespace hookd::hook
