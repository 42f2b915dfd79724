#include "reconcile/rolling.h"

#include <boost/json.hpp>

#include "base/json_field.h"
#include "base/json_read.h"

namespace hookd::reconcile {
namespace {

namespace json = boost::json;

std::optional<int64_t> whole_number(const json::value* value) {
  if (!value) return std::nullopt;
  boost::system::error_code error;
  const auto number = value->to_number<int64_t>(error);
  return error ? std::nullopt : std::optional(number);
}

const json::object* condition_of(const json::object* status, std::string_view type) {
  const auto* list = status ? status->if_contains("conditions") : nullptr;
  if (!list || !list->is_array()) return nullptr;
  for (const auto& one : list->get_array())
    if (one.is_object() && text_field(one.get_object(), "type") == type) return &one.get_object();
  return nullptr;
}

}  // namespace

std::string held_by(std::string_view object, const std::vector<hook::ConditionCheck>& checks) {
  const auto parsed = parse_json(object);
  if (!parsed || !parsed->is_object()) return "its state cannot be read";
  const auto* metadata = parsed->get_object().if_contains("metadata");
  const auto* status_value = parsed->get_object().if_contains("status");
  const auto* status = status_value ? status_value->if_object() : nullptr;
  const auto* meta = metadata ? metadata->if_object() : nullptr;
  const auto generation = whole_number(meta ? meta->if_contains("generation") : nullptr);
  const auto seen = whole_number(status ? status->if_contains("observedGeneration") : nullptr);
  if (generation && seen && *seen < *generation)
    return fmt::format("its controller has seen generation {} of {}", *seen, *generation);
  for (const auto& check : checks) {
    const auto* condition = condition_of(status, check.type);
    if (!condition) return fmt::format("it has no condition {} yet", check.type);
    const std::string now = text_field(*condition, "status"), reason = text_field(*condition, "reason");
    if (check.status && *check.status != now)
      return fmt::format("condition {} is {}{}, not {}", check.type, now.empty() ? "nothing" : now,
                         reason.empty() ? "" : " (" + reason + ")", *check.status);
    if (check.reason && *check.reason != reason)
      return fmt::format("condition {} has reason {}, not {}", check.type, reason.empty() ? "nothing" : reason,
                         *check.reason);
  }
  return {};
}

void RollOut::moved(const std::string& child, const std::string& trouble) {
  if (!trouble.empty()) troubles_.push_back(fmt::format("{}: {}", child, trouble));
}

std::vector<size_t> RollOut::next() const {
  if (waiting_.empty() || !troubles_.empty()) return {};
  return {waiting_.front()};
}

std::vector<std::string> RollOut::holding() const {
  if (waiting_.empty()) return {};
  if (troubles_.size() <= kTold) return troubles_;
  std::vector<std::string> told(troubles_.begin(), troubles_.begin() + kTold);
  told.push_back(fmt::format("and {} more", troubles_.size() - kTold));
  return told;
}

}  // namespace hookd::reconcile
