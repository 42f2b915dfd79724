#include "reconcile/write_repeats.h"

#include <algorithm>

#include "apply/json_diff.h"
#include "base/time.h"
#include "hook/content_hash.h"

namespace hookd::reconcile {
namespace {

constexpr size_t kMaxLines = 64;  // of a difference that are compared

bool of_status(std::string_view path) { return path == ".status" || path.starts_with(".status."); }

struct Change {
  std::vector<std::string> paths;
  uint64_t state = 0;
  bool status_only = false;
};

// What a write changed; nullopt = nothing, or it cannot be said.
std::optional<Change> change_of(std::string_view before, std::string_view after) {
  Change change;
  if (before.empty() || after.empty()) {  // made (anew), deleted: the same each time, whatever its uid
    change.state = hook::content_hash(before.empty() ? "made" : "deleted");
    return change;
  }
  change.paths = apply::changed_paths(before, after, kMaxLines);
  if (change.paths.empty()) return std::nullopt;
  const bool status_only = change.status_only = std::ranges::all_of(change.paths, of_status);
  if (!status_only) std::erase_if(change.paths, of_status);
  // Lines like "~ .data.colour: "red" -> "blue"": what is undone comes again in the same words.
  std::string lines = apply::json_diff(before, after, kMaxLines);
  std::string kept;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    const std::string_view line = std::string_view(lines).substr(at, end - at);
    if (status_only || !of_status(line.substr(std::min<size_t>(2, line.size()), line.find(':') - 2))) kept += line;
    at = end + 1;
  }
  change.state = hook::content_hash(kept);
  return change;
}

Duration doubled(Duration delay, int times) {
  for (; times > 0 && delay < WriteRepeats::kMaxDelay; --times) delay *= 2;
  return std::min(delay, WriteRepeats::kMaxDelay);
}

}  // namespace

std::string WriteRepeats::Finding::text() const {
  const std::string what =
      paths.empty() ? fmt::format("{} is {} again and again", child, deleted ? "deleted" : "made")
      : undone      ? fmt::format("{} of {} keeps being changed back and forth", fmt::join(paths, ", "), child)
                    : fmt::format("{} of {} gets another value each time", fmt::join(paths, ", "), child);
  return fmt::format(
      "{} ({} writes without a change of what the hook is told but the children; the next one in {}); {}", what, writes,
      format_duration(delay),
      deleted ? "something makes it anew: look for another controller, or a child of the hook's own"
      : paths.empty()
          ? "something deletes it, or the hook gives it another name each time: look for another controller, or a rule "
            "that recreates what others change"
      : undone
          ? "the hook's answer flips, or another controller or a webhook puts its own value back: leave the field to "
            "one of them"
          : "leave times and random values out of the answer");
}

bool WriteRepeats::Count::add(SteadyTime now, size_t free) {
  ++writes;
  times.push_back(now);
  if (times.size() <= free) return slow;
  slow = slow || now - times.front() <= kWindow;
  while (times.size() > free) times.pop_front();
  return slow;
}

std::optional<WriteRepeats::Finding> WriteRepeats::wrote(const std::string& key, const std::string& child,
                                                         uint64_t because, std::string_view before,
                                                         std::string_view after) {
  const auto change = change_of(before, after);
  if (!change) return std::nullopt;
  const SteadyTime now = scheduler_.now();
  drop_quiet();
  const auto known = records_.find(key);
  if ((known == records_.end() || !known->second.contains(child)) && size() >= kMaxObjects) return std::nullopt;
  Record& record = records_[key][child];
  const Duration delay = record.finding ? record.finding->delay : Duration{0};
  if (record.because != because || now - record.last > delay + kWindow) {
    const SteadyTime told = record.told;  // people are told of one object now and then only, whatever the reason
    const auto beyond_status = record.beyond_status;
    record = {};
    record.because = because;
    record.told = told;
    record.beyond_status = beyond_status;
  }
  record.last = now;
  if (!change->status_only) record.beyond_status = now;
  const bool again = std::ranges::find(record.states, change->state) != record.states.end();
  record.states.push_back(change->state);
  if (record.states.size() > kStates) record.states.pop_front();

  Count& count = again ? record.undone : record.fresh;
  const bool slow = count.add(now, again ? kFree : kFreeNew);
  if (!slow) return std::nullopt;
  const int free = again ? kFree : kFreeNew;
  const int beyond = std::max(count.writes - free - 1, 0);
  Finding finding;
  finding.child = child;
  finding.deleted = after.empty();
  finding.paths = change->paths;
  if (finding.paths.size() > kPaths) finding.paths.resize(kPaths);
  finding.writes = count.writes;
  finding.undone = again;
  finding.delay = doubled(kFirstDelay, again ? beyond : beyond / kNewStep);
  finding.tell = record.told == SteadyTime{} || now - record.told >= kToldEach;
  if (finding.tell) record.told = now;
  record.finding = finding;
  return finding;
}

bool WriteRepeats::writes(const std::string& key, const std::string& child) const {
  const auto known = records_.find(key);
  if (known == records_.end()) return false;
  const auto found = known->second.find(child);
  if (found == known->second.end() || !found->second.beyond_status) return false;
  return scheduler_.now() - *found->second.beyond_status <= kWindow;
}

void WriteRepeats::forget(const std::string& key) { records_.erase(key); }

std::vector<WriteRepeats::Finding> WriteRepeats::slow() const {
  std::vector<Finding> all;
  for (const auto& [key, children] : records_)
    for (const auto& [child, record] : children)
      if (record.finding && scheduler_.now() - record.last <= record.finding->delay + kWindow)
        all.push_back(*record.finding);
  return all;
}

size_t WriteRepeats::size() const {
  size_t all = 0;
  for (const auto& [key, children] : records_) all += children.size();
  return all;
}

void WriteRepeats::drop_quiet() {
  const SteadyTime now = scheduler_.now();
  if (now - swept_ < kWindow) return;
  swept_ = now;
  for (auto& [key, children] : records_)
    std::erase_if(children, [&](const auto& entry) {
      const Record& record = entry.second;
      return now - record.last > kWindow + (record.finding ? record.finding->delay : Duration{0});
    });
  std::erase_if(records_, [](const auto& entry) { return entry.second.empty(); });
}

}  // namespace hookd::reconcile
