// Condition: reads the object, sets one entry of status.conditions, leaves the others as they are. Sent only when
// something differs. Source: k8s-client.md W2, W12; API conventions "Typical status properties" (metav1.Condition).
//
//   lastTransitionTime   now when `status` changes, else as it was
//   observedGeneration   the object's generation, where it has one. Built-in kinds whose conditions have no such field
//                        drop it: its absence alone is no difference
//
// The list of conditions is replaced by a merge patch that names the version that was read: a conflict reads again.
#include "apply/json_text.h"
#include "apply/task.h"
#include "base/json_read.h"
#include "base/json_writer.h"
#include "base/time.h"

namespace hookd::apply {
namespace {

using kube::ApiRequest;
using kube::ApiResponse;

class ConditionTask final : public Task {
 public:
  using Task::Task;

 private:
  void begin() override { read(); }

  void read() {
    get(path(), false, true, [this](Result<ApiResponse> result) {
      result ? change(result->body) : finish_failed("set a condition of", result.error());
    });
  }

  void change(const std::string& current) {
    const auto uid = json_string_at(current, {"metadata", "uid"}).value_or("");
    const auto version = json_string_at(current, {"metadata", "resourceVersion"}).value_or("");
    // The patch replaces the list: without its version nothing would stop it from writing over what was not read.
    if (uid.empty() || version.empty())
      return finish(Outcome::Kind::kRetry,
                    fmt::format("{}: the server's answer is no object, no condition set", op_.display()));
    if (!op_.uid.empty() && uid != op_.uid)
      return finish(
          Outcome::Kind::kNotNeeded,
          fmt::format("{}: another object has this name now, not changed (uid {} is gone)", op_.display(), op_.uid));
    if (!op_.resource_version.empty() && version != op_.resource_version)
      return finish(Outcome::Kind::kRefused, fmt::format("{}: Condition refused: it changed since resourceVersion {}",
                                                         op_.display(), op_.resource_version));
    const auto raw = json_raw_at(current, {"status", "conditions"}).value_or("[]");
    const auto before = raw == "null" ? Result<std::vector<std::string_view>>{} : json_elements(raw);
    if (!before)
      return finish(Outcome::Kind::kRefused,
                    fmt::format("{}: Condition refused: its status.conditions is no list", op_.display()));
    const std::string_view generation = json_raw_at(current, {"metadata", "generation"}).value_or("");
    JsonWriter list;
    list.begin_array();
    bool found = false;
    for (const std::string_view one : *before) {
      if (found || json_string_at(one, {"type"}) != op_.condition_type) {
        list.raw(one);
        continue;
      }
      found = true;
      if (same(one, generation))
        return finish(Outcome::Kind::kNotNeeded,
                      fmt::format("{}: its condition {} is as wanted already", op_.display(), op_.condition_type));
      list.raw(with_members(one, changes(one, generation)));
    }
    if (!found) list.raw(with_members("{}", changes("{}", generation)));
    list.end_array();
    patch(std::move(list).take(), version);
  }

  bool same(std::string_view one, std::string_view generation) const {
    const auto seen = json_raw_at(one, {"observedGeneration"});
    return json_string_at(one, {"status"}) == op_.condition_status &&
           json_string_at(one, {"reason"}).value_or("") == op_.reason &&
           json_string_at(one, {"message"}).value_or("") == op_.message && (!seen || *seen == generation);
  }

  Changes changes(std::string_view one, std::string_view generation) const {
    Changes set;
    set.emplace_back("type", json_string(op_.condition_type));
    set.emplace_back("status", json_string(op_.condition_status));
    if (!generation.empty()) set.emplace_back("observedGeneration", std::string(generation));
    const bool turned = json_string_at(one, {"status"}) != op_.condition_status;
    if (turned || json_string_at(one, {"lastTransitionTime"}).value_or("").empty())
      set.emplace_back("lastTransitionTime", json_string(format_rfc3339(scheduler_.wall_now())));
    set.emplace_back("reason", json_string(op_.reason));
    set.emplace_back("message", json_string(op_.message));
    return set;
  }

  void patch(std::string conditions, const std::string& version) {
    ApiRequest request;
    request.method = "PATCH";
    request.path = path(type_.has_subresource("status") ? "status" : "");
    request.content_type = "application/merge-patch+json";
    request.body = with_metadata(fmt::format(R"({{"status":{{"conditions":{}}}}})", conditions),
                                 {{"resourceVersion", json_string(version)}});
    add_write_query(request);
    send(std::move(request), [this, version](Result<ApiResponse> result) {
      if (result)
        return finish_written(fmt::format("set condition {} to {} on", op_.condition_type, op_.condition_status),
                              *result, version);
      if (result.error().code == Errc::kConflict)
        return after_conflict("set a condition of", result.error(), [this] { read(); });
      finish_failed("set a condition of", result.error());
    });
  }
};

}  // namespace

std::unique_ptr<Task> make_condition_task(const TaskContext& context, const Operation& operation,
                                          const kube::ResourceType& type, Task::Done done) {
  return std::make_unique<ConditionTask>(context, operation, type, std::move(done));
}

}  // namespace hookd::apply
