#include "embedded/control/context.h"

#include "base/json_read.h"
#include "base/log.h"
#include "base/time.h"
#include "embedded/resources/fields.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded::control {

json::object parse(const Stored& stored) {
  auto parsed = parse_text(stored.text);
  if (!parsed || !parsed->is_object()) return {};
  return std::move(parsed->as_object());
}

std::optional<json::object> load(const Store& store, std::string_view storage_key, std::string_view ns,
                                 std::string_view name) {
  const StoredPtr stored = store.get(storage_key, ns, name);
  if (!stored) return std::nullopt;
  return parse(*stored);
}

bool is_ending(const Stored& stored) {
  return stored.text.find("\"deletionTimestamp\"") != std::string::npos &&
         json_raw_at(stored.text, {"metadata", "deletionTimestamp"}).has_value();
}

std::string now_text(Scheduler& scheduler) { return format_rfc3339(scheduler.wall_now()); }

size_t erase_text(json::array& list, std::string_view text) {
  return erase_where(list, [&](const json::value& entry) { return as_string(entry) == text; });
}

bool set_condition(json::array& conditions, std::string_view type, std::string_view status, std::string_view reason,
                   std::string_view message, const std::string& now) {
  for (json::value& entry : conditions) {
    json::object* condition = entry.if_object();
    if (!condition || string_at(*condition, {"type"}) != type) continue;
    const bool same_status = string_at(*condition, {"status"}) == status;
    if (same_status && string_at(*condition, {"reason"}) == reason && string_at(*condition, {"message"}) == message)
      return false;
    if (!same_status) (*condition)["lastTransitionTime"] = now;
    (*condition)["status"] = status;
    (*condition)["reason"] = reason;
    (*condition)["message"] = message;
    return true;
  }
  conditions.push_back(json::object{
      {"type", type}, {"status", status}, {"lastTransitionTime", now}, {"reason", reason}, {"message", message}});
  return true;
}

void tell(std::string_view loop, const Target& target, const StatusError& error) {
  if (error.code == 404 || error.code == 409) return;
  log::warn("embedded control loop failed",
            {{"loop", loop},
             {"object", fmt::format("{} {}/{}", target.storage_key, target.ns, target.name)},
             {"error", error.message}});
}

}  // namespace hookd::embedded::control
