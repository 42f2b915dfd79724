#include "metrics/hook_series.h"

namespace hookd::metrics {

void HookSeries::expire(Made& made, const std::string& group) {
  const auto old = made.groups.find(group);
  if (old == made.groups.end()) return;
  for (const Series& series : old->second) {
    registry_.drop(std::get<0>(series), std::get<1>(series), std::get<2>(series));
    made.group_of.erase(series);
  }
  // Only now: one look at each family, not one for each of its series.
  std::set<std::pair<std::string, Registry::Kind>> families;
  for (const auto& [name, kind, labels] : old->second) families.emplace(name, kind);
  for (const auto& [name, kind] : families) registry_.drop_if_empty(name, kind);
  made.groups.erase(old);
}

std::vector<Error> HookSeries::take(const std::string& hook, const std::vector<Sample>& samples) {
  std::vector<Error> problems;
  Made& made = hooks_[hook];
  std::set<std::string> groups;
  for (const Sample& sample : samples)
    if (!sample.group.empty()) groups.insert(sample.group);
  for (const std::string& group : groups) expire(made, group);
  size_t too_many = 0;
  for (const Sample& sample : samples) {
    if (sample.expire) continue;
    Labels labels = sample.labels;
    labels["hook"] = hook;
    // `le` is how Prometheus tells the buckets apart.
    const auto named =
        sample.kind == Registry::Kind::kHistogram && labels.contains("le")
            ? fail(Errc::kInvalid, "the metric {} has a label \"le\", which a histogram makes itself", sample.name)
            : registry_.check_name(sample.name, sample.kind);
    if (!named) {
      problems.push_back(named.error());
      continue;
    }
    const Series series{sample.name, sample.kind, labels};
    const auto known = made.group_of.find(series);
    if (known == made.group_of.end() && made.group_of.size() >= kMaxSeries) {
      ++too_many;
      continue;
    }
    if (known != made.group_of.end() && !known->second.empty() && known->second != sample.group)
      made.groups[known->second].erase(series);
    made.group_of[series] = sample.group;
    if (!sample.group.empty()) made.groups[sample.group].insert(series);
    if (sample.kind == Registry::Kind::kCounter)
      registry_.count(sample.name, labels, sample.value);
    else if (sample.kind == Registry::Kind::kGauge)
      registry_.set(sample.name, labels, sample.value);
    else
      registry_.observe(sample.name, labels, sample.value, sample.buckets);
  }
  if (too_many > 0)
    problems.push_back(fail(Errc::kTooLarge,
                            "{} new series were not taken: the hook has {} series, which is the most; use fewer "
                            "labels, or a group, whose former series go",
                            too_many, kMaxSeries)
                           .error());
  return problems;
}

void HookSeries::remove(const std::string& hook) {
  const auto found = hooks_.find(hook);
  if (found == hooks_.end()) return;
  Made& made = found->second;
  std::set<std::pair<std::string, Registry::Kind>> families;
  for (const auto& [series, group] : made.group_of) {
    registry_.drop(std::get<0>(series), std::get<1>(series), std::get<2>(series));
    families.emplace(std::get<0>(series), std::get<1>(series));
  }
  for (const auto& [name, kind] : families) registry_.drop_if_empty(name, kind);
  hooks_.erase(found);
}

size_t HookSeries::count(const std::string& hook) const {
  const auto found = hooks_.find(hook);
  return found == hooks_.end() ? 0 : found->second.group_of.size();
}

}  // namespace hookd::metrics
