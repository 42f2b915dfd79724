#include "hook/answer_safety.h"

#include "cache/resource_version.h"
#include "hook/runner.h"

namespace hookd::hook {

AnswerSafety::AnswerSafety(std::shared_ptr<const Call> call, SteadyTime call_started, Parts parts)
    : call_(std::move(call)), call_started_(call_started), parts_(std::move(parts)) {}

AnswerSafety::~AnswerSafety() {
  for (const auto& [index, ticket] : tickets_) parts_.writes->abandoned(ticket);
}

std::optional<GuardFuse::Trip> AnswerSafety::take(const std::vector<apply::Operation>& operations,
                                                  const DoneOperations& done) {
  taken_.assign(operations.size(), {});
  if (!parts_.fuse) return std::nullopt;
  Spending wanted;
  bool writes = false;
  for (size_t i = 0; i < operations.size(); ++i) {
    const Spending cost = cost_of(operations[i]);
    writes |= cost.writes > 0;
    if (operations[i].maybe_done || done.was_sent(operations[i])) continue;
    taken_[i] = cost;
    wanted += cost;
  }
  taken_at_ = parts_.scheduler.now();
  if (!writes) return std::nullopt;
  auto trip = parts_.fuse->take(wanted);
  if (trip) taken_.assign(operations.size(), {});
  return trip;
}

void AnswerSafety::settled(const std::vector<apply::Operation>& operations, const std::vector<apply::Outcome>& outcomes,
                           DoneOperations& done) {
  using Kind = apply::Outcome::Kind;
  Spending unused;
  for (const apply::Outcome& outcome : outcomes) {
    const bool lost = outcome.kind == Kind::kRetry && outcome.unknown;  // it may have happened
    if (lost) done.note_sent(operations[outcome.index]);
    if (outcome.kind != Kind::kDone && !lost && outcome.index < taken_.size()) unused += taken_[outcome.index];
  }
  if (parts_.fuse) parts_.fuse->give_back(unused, taken_at_);
}

void AnswerSafety::follow(apply::Request& request) {
  if (!parts_.writes || request.dry_run) return;
  request.sending = [this](size_t index, const apply::Operation& op, const kube::ResourceType& type) {
    sending(index, op, type);
  };
  request.settled = [this](size_t index, const apply::Operation& op, const apply::Outcome& outcome) {
    if (const auto ticket = tickets_.extract(index)) parts_.writes->settled(ticket.mapped(), op, outcome);
  };
  if (parts_.ignores_own)
    request.version_of = [this](const apply::Operation& op, const kube::ResourceType& type) {
      return version_of(op, type);
    };
}

void AnswerSafety::sending(size_t index, const apply::Operation& op, const kube::ResourceType& type) {
  if (op.dry_run) return;
  OwnWrites::Write write;
  write.hook = call_->hook;
  write.resource = resource_of(type);
  write.ns = op.ns;
  write.name = op.name;
  write.prefix = op.generate_name;
  if (!because_) because_ = std::make_shared<const std::vector<Event>>(bare_events(call_->events));
  write.because = because_;
  write.call_started = call_started_;
  tickets_[index] = parts_.writes->sending(std::move(write));
}

std::optional<std::string> AnswerSafety::version_of(const apply::Operation& op, const kube::ResourceType& type) const {
  if (!parts_.ignores_own(type)) return std::nullopt;
  const auto object = object_in_call(*call_, op.api_version, op.kind, op.ns, op.name);
  if (!object) return "";
  const std::string own = parts_.writes->last_version(object->uid);
  return !own.empty() && cache::newer_version(own, object->resource_version) ? own : object->resource_version;
}

}  // namespace hookd::hook
