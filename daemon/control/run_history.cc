#include "control/run_history.h"

#include <algorithm>

namespace hookd::control {
namespace {

constexpr size_t kMostMasked = 512u << 10;  // of an answer that is looked through for Secrets: a few ms

std::string cut(std::string_view text, size_t limit = RunHistory::kTextBytes) {
  if (text.size() <= limit) return std::string(text);
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) --limit;  // not inside a letter
  return fmt::format("{}… ({} bytes more)", text.substr(0, limit), text.size() - limit);
}

std::string masked_answer(std::string_view text, size_t limit) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  if (text.size() > kMostMasked) return fmt::format("({} bytes, too many to be kept)", text.size());
  const auto masked = mask_secrets_within(text);
  return cut(masked ? *masked : text, limit);
}

size_t size_of(const apply::Operation& op) {
  size_t bytes = sizeof op + op.object.size() + op.patch.size() + op.jq_filter.size() + op.message.size();
  for (const auto& [key, value] : op.entries) bytes += key.size() + (value ? value->size() : 0);
  return bytes;
}

size_t size_of(const OutcomeNote& note) {
  return sizeof note + note.operation.size() + note.text.size() + note.reason.size() + note.diff.size();
}

}  // namespace

bool failed(const Run& run) { return run.ended && run.result != "ok" && run.result != "later"; }

void RunHistory::set_limits(Limits limits) {
  limits_ = limits;
  evict();
}

Run* RunHistory::find_open(const hook::Call& call) {
  const auto found = open_.find(call.id);
  return found == open_.end() ? nullptr : found->second.get();
}

Run* RunHistory::open(const hook::Call& call, bool only_operations) {
  if (Run* known = find_open(call)) return known;
  if (open_.size() >= kMostOpen) {  // of hooks that were taken away in the middle of a call
    const auto oldest = std::ranges::min_element(begun_, {}, [](const auto& entry) { return entry.second; });
    open_.erase(oldest->first);
    begun_.erase(oldest);
  }
  auto run = std::make_unique<Run>();
  run->number = ++number_;
  run->hook = call.hook;
  run->id = call.id;
  run->reason = call.reason;
  run->attempt = call.attempt;
  run->started = call.time;
  run->only_operations = only_operations;
  if (limits_.keep > 0) run->input = keep_call(call, kInputBytes);
  run->bytes = sizeof *run + run->input.bytes;
  begun_[call.id] = scheduler_.now();
  return (open_[call.id] = std::move(run)).get();
}

void RunHistory::call_started(const hook::Call& call) {
  Run* run = find_open(call);
  if (!run) {
    open(call, false);
    return;
  }
  // A pass may write (its finalizer) before it asks, and ask more than once: the last question is what is shown.
  run->only_operations = false;
  if (limits_.keep == 0) return;
  run->bytes -= run->input.bytes;
  run->input = keep_call(call, kInputBytes);
  run->bytes += run->input.bytes;
}

void RunHistory::call_said(const hook::Call& call, std::string_view line) {
  Run* run = find_open(call);
  if (!run || limits_.keep == 0) return;
  run->said.append(line.substr(0, kStderrBytes)).append("\n");
  if (run->said.size() <= 2 * kStderrBytes) return;
  // Whole lines go, from the first.
  size_t gone = run->said.find('\n', run->said.size() - kStderrBytes);
  gone = gone == std::string::npos ? run->said.size() - kStderrBytes : gone + 1;
  if (gone == run->said.size()) gone = run->said.size() - kStderrBytes;
  run->said.erase(0, gone);
  run->said_left_out_bytes += gone;
}

// Another pass over the same run asks anew: the last answer is what is shown.
void RunHistory::call_replied(const hook::Call& call, std::string_view text) {
  Run* run = find_open(call);
  if (!run || limits_.keep == 0) return;
  run->bytes -= run->answer.size();
  run->answer = masked_answer(text, kAnswerBytes);
  run->bytes += run->answer.size();
}

void RunHistory::call_answered(const hook::Call& call, const process::ChildExit*,
                               const std::vector<apply::Operation>& operations,
                               const std::vector<std::string>& messages) {
  Run* run = find_open(call);
  if (!run || limits_.keep == 0) return;
  const bool again = std::exchange(run->answered, true);  // a pass writes its answer in steps
  size_t left = kAnswerBytes - std::min(kAnswerBytes, run->answer_bytes);
  const size_t before = left;
  for (const auto& op : operations) {
    const size_t bytes = size_of(op);
    if (bytes > left) {
      ++run->operations_left_out;
      continue;
    }
    left -= bytes;
    mask_operation(run->operations.emplace_back(op));
  }
  for (const auto& message : messages) {
    if (left == 0 || again) break;
    run->messages.push_back(cut(message));
    left -= std::min(left, run->messages.back().size() + 1);
  }
  run->answer_bytes += before - left;
  run->bytes += before - left;
}

void RunHistory::operation_done(const hook::Call& call, const apply::Operation& operation,
                                const apply::Outcome& outcome) {
  Run* run = open(call, true);
  if (limits_.keep == 0) return;
  if (run->outcomes.size() >= kOutcomes) {
    ++run->outcomes_left_out;
    return;
  }
  apply::Operation masked;  // only to see whether it is about a Secret: a diff shows values
  masked.kind = operation.kind;
  masked.api_version = operation.api_version;
  masked.jq_filter = outcome.diff;
  mask_operation(masked);
  const auto& note = run->outcomes.emplace_back(
      OutcomeNote{operation.describe(), std::string(apply::to_string(outcome.kind)), cut(outcome.text), outcome.reason,
                  cut(masked.jq_filter), outcome.http_status});
  run->bytes += size_of(note);
}

void RunHistory::call_ended(const hook::CallResult& result) {
  Run* run = open(result.call, true);
  const std::string id = run->id;
  run->ended = true;
  if (result.exit) run->exit = *result.exit;
  run->wall = result.exit ? result.exit->wall : scheduler_.now() - begun_[id];
  run->result = result.result;
  if (const auto* env = env_of_ ? env_of_(run->hook) : nullptr; env && !env->empty())
    run->mask = std::make_shared<Mask>(*env);
  // At once: it stays as the hook's last error when the hook, and what is known of its secrets, is another.
  run->error = cut(run->mask ? run->mask->apply(std::string(result.error)) : result.error);
  run->then = result.then;
  run->requeue_after = result.requeue_after;
  run->bytes += run->said.size() + run->error.size();

  RunTotals& totals = totals_[run->hook];
  totals.last = scheduler_.wall_now();
  totals.last_result = run->result;
  if (failed(*run)) {
    ++totals.failed;
    totals.last_error = run->error.empty() ? run->result : run->error;
    totals.last_error_at = totals.last;
  } else if (run->result == "ok") {
    ++totals.ok;
  }

  begun_.erase(id);
  auto node = open_.extract(id);
  if (limits_.keep == 0) return;
  bytes_ += run->bytes;
  ended_[run->hook].push_back(std::move(node.mapped()));
  evict();
}

void RunHistory::evict() {
  const auto drop_oldest = [this](std::deque<std::unique_ptr<Run>>& runs) {
    bytes_ -= runs.front()->bytes;
    runs.pop_front();
  };
  for (auto& [hook, runs] : ended_)
    while (runs.size() > limits_.keep) drop_oldest(runs);
  while (bytes_ > limits_.bytes) {
    std::deque<std::unique_ptr<Run>>* oldest = nullptr;
    for (auto& [hook, runs] : ended_)
      if (!runs.empty() && (!oldest || runs.front()->number < oldest->front()->number)) oldest = &runs;
    if (!oldest) break;
    drop_oldest(*oldest);
  }
  std::erase_if(ended_, [](const auto& entry) { return entry.second.empty(); });
}

std::vector<const Run*> RunHistory::list(const Wanted& wanted) const {
  std::vector<const Run*> found;
  const auto look = [&](const Run& run) {
    if ((wanted.hook.empty() || run.hook == wanted.hook) && (!wanted.failed || failed(run))) found.push_back(&run);
  };
  for (const auto& [hook, runs] : ended_)
    for (const auto& run : runs) look(*run);
  for (const auto& [id, run] : open_) look(*run);
  std::ranges::sort(found, std::greater(), [](const Run* run) { return run->number; });
  if (found.size() > wanted.limit) found.resize(wanted.limit);
  return found;
}

const Run* RunHistory::find(std::string_view id) const {
  const Run* found = nullptr;
  size_t count = 0;
  const auto look = [&](const Run& run) {
    if (id.empty() || !run.id.starts_with(id)) return;
    found = &run;
    count += run.id == id ? 1'000'000 : 1;
  };
  for (const auto& [hook, runs] : ended_)
    for (const auto& run : runs) look(*run);
  for (const auto& [open_id, run] : open_) look(*run);
  return count == 1 || count >= 1'000'000 ? found : nullptr;
}

const RunTotals* RunHistory::totals(const std::string& hook) const {
  const auto found = totals_.find(hook);
  return found == totals_.end() ? nullptr : &found->second;
}

}  // namespace hookd::control
