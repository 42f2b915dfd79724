// Delete and Evict. Source: k8s-client.md W7-W11.
#include "apply/json_text.h"
#include "apply/task.h"
#include "base/json_read.h"
#include "base/json_writer.h"

namespace hookd::apply {
namespace {

using kube::ApiRequest;
using kube::ApiResponse;

class DeleteTask final : public Task {
 public:
  using Task::Task;

 private:
  bool evict() const { return op_.verb == Verb::kEvict; }
  std::string_view doing() const { return evict() ? "eviction" : "deletion"; }

  // Without a uid the name could mean a namesake by the time the request arrives: there is always one (W8).
  void begin() override {
    uid_ = op_.uid;
    if (uid_.empty() && request_.uid_of)
      uid_ = request_.uid_of(op_.api_version, op_.kind, op_.ns, op_.name).value_or("");
    if (!uid_.empty()) return remove();
    get(path(), true, true, [this](Result<ApiResponse> result) {
      if (!result) return uid_unknown(result.error());
      uid_ = json_string_at(result->body, {"metadata", "uid"}).value_or("");
      if (uid_.empty())
        return finish(Outcome::Kind::kRetry,
                      fmt::format("{}: the server's answer has no uid, not deleted", op_.display()));
      remove();
    });
  }

  // With the uid, so that a retry means the same object although the name may be another's by then.
  Outcome failure(const Error& error) const {
    Outcome outcome = failed_outcome(op_, doing(), error);
    outcome.uid = uid_;
    return outcome;
  }

  void uid_unknown(const Error& error) {
    if (error.code == Errc::kNotFound && !is_unserved_type(error)) return gone();
    if (error.code == Errc::kForbidden) {
      Outcome outcome = failure(error);
      outcome.kind = Outcome::Kind::kRefused;
      outcome.text = fmt::format(
          "{}: {} not sent: its uid is not known and reading it is forbidden; give `uid` in the operation, or allow "
          "the daemon `get` of {}: {}",
          op_.display(), doing(), type_.plural, error.what);
      return finish(std::move(outcome));
    }
    finish(failed_outcome(op_, "reading its uid", error));
  }

  // Everything stands in the body: with one, the server ignores the query, dryRun too (W7).
  std::string delete_options(bool inside_eviction) const {
    JsonWriter out;
    out.begin_object();
    if (!inside_eviction) out.key("kind").string("DeleteOptions").key("apiVersion").string("v1");
    if (op_.grace_period_seconds) out.key("gracePeriodSeconds").number(*op_.grace_period_seconds);
    const std::string_view policy = op_.verb == Verb::kDeleteInBackground   ? "Background"
                                    : op_.verb == Verb::kDeleteNonCascading ? "Orphan"
                                                                            : std::string_view(op_.propagation_policy);
    if (!policy.empty()) out.key("propagationPolicy").string(policy);
    out.key("preconditions").begin_object().key("uid").string(uid_);
    if (!op_.resource_version.empty()) out.key("resourceVersion").string(op_.resource_version);
    out.end_object();
    if (dry_run() && !inside_eviction) out.key("dryRun").begin_array().string("All").end_array();
    out.end_object();
    return std::move(out).take();
  }

  void remove() {
    ApiRequest request;
    request.content_type = "application/json";
    if (evict()) {
      JsonWriter body;
      body.begin_object().key("apiVersion").string("policy/v1").key("kind").string("Eviction");
      body.key("metadata").begin_object().key("name").string(op_.name).key("namespace").string(op_.ns).end_object();
      body.key("deleteOptions").raw(delete_options(true)).end_object();
      request.method = "POST";
      request.path = path("eviction");
      request.body = std::move(body).take();
      request.retry = false;  // a budget that says "later" is the hook's business, not 10 tries of 10 s (W10)
      if (dry_run()) request.query.emplace_back("dryRun", "All");
    } else {
      request.method = "DELETE";
      request.path = path();
      request.body = delete_options(false);
    }
    send(std::move(request),
         [this](Result<ApiResponse> result) { result ? removed(*result) : failed(result.error()); });
  }

  void removed(const ApiResponse& response) {
    Outcome outcome;
    outcome.http_status = response.status;
    outcome.uid = uid_;
    outcome.made = Outcome::Made::kYes;
    std::string waits;
    // The answer may be the object, which then still exists if something holds it (W9).
    if (!evict() && json_raw_at(response.body, {"metadata", "deletionTimestamp"})) {
      outcome.resource_version = json_string_at(response.body, {"metadata", "resourceVersion"}).value_or("");
      const auto finalizers = json_raw_at(response.body, {"metadata", "finalizers"});
      const auto period = json_raw_at(response.body, {"metadata", "deletionGracePeriodSeconds"});
      if (finalizers && *finalizers != "[]" && *finalizers != "null")
        waits = fmt::format(", it waits for its finalizers {}", *finalizers);
      else if (period && *period != "0" && *period != "null")
        waits = fmt::format(", it ends within {} s", *period);
      if (waits.empty()) outcome.resource_version.clear();  // nothing holds it: it is gone, whatever the answer shows
    }
    outcome.text = fmt::format("{} {} (uid {}){}", evict() ? "evicted" : "deleted", op_.display(), uid_, waits);
    finish(std::move(outcome));
  }

  void gone() {
    Outcome outcome;
    outcome.kind = op_.maybe_done ? Outcome::Kind::kDone : Outcome::Kind::kNotNeeded;
    outcome.uid = uid_;
    outcome.text = fmt::format("{} is gone already", op_.display());
    finish(std::move(outcome));
  }
  void another() {
    Outcome outcome;
    outcome.kind = op_.maybe_done ? Outcome::Kind::kDone : Outcome::Kind::kNotNeeded;
    outcome.text = fmt::format("{}: another object has this name now, not {} (uid {} is gone)", op_.display(),
                               evict() ? "evicted" : "deleted", uid_);
    finish(std::move(outcome));
  }
  // The hook asked for exactly that version: the same operation can never go well again.
  void changed(const Error& error) {
    Outcome outcome = failure(error);
    outcome.kind = Outcome::Kind::kRefused;
    outcome.text = fmt::format("{}: it changed since resourceVersion {}, not {}", op_.display(), op_.resource_version,
                               evict() ? "evicted" : "deleted");
    finish(std::move(outcome));
  }

  void failed(const Error& error) {
    if (error.code == Errc::kNotFound && !is_unserved_type(error)) return gone();
    if (is_no_object(error)) return gone();
    if (is_uid_mismatch(error)) return another();
    if (error.code == Errc::kConflict) {
      if (!op_.resource_version.empty() && is_version_mismatch(error)) return changed(error);
      return look_again(error);
    }
    if (evict() && error.http_status == 429) return blocked(error);
    if (evict() && error.what.find("more than one PodDisruptionBudget") != std::string::npos) {
      Outcome outcome = failure(error);
      outcome.kind = Outcome::Kind::kRefused;
      outcome.unknown = false;
      outcome.text =
          fmt::format("{}: eviction refused: several PodDisruptionBudgets select it, which the server cannot weigh: {}",
                      op_.display(), error.what);
      return finish(std::move(outcome));
    }
    if (is_unknown_outcome(error)) return look_again(error);
    finish(failure(error));
  }

  void blocked(const Error& error) {
    Outcome outcome = failure(error);
    const bool budget = error.reason == "DisruptionBudget" ||
                        error.what.find("isruption budget") != std::string::npos ||
                        error.what.find("isruptionBudget") != std::string::npos;
    const std::string_view why = !budget             ? "the server is busy"
                                 : error.retry_after ? "its disruption budget is still being worked out"
                                                     : "its disruption budget allows no disruption now";
    outcome.kind = Outcome::Kind::kRetry;
    outcome.text = fmt::format("{}: not evicted, {}: {}", op_.display(), why, error.what);
    finish(std::move(outcome));
  }

  // A conflict without a clear word, or a lost answer: the object itself tells (A25).
  void look_again(const Error& error) {
    get(path(), true, false, [this, error](Result<ApiResponse> result) {
      if (!result) {
        const bool missing = result.error().code == Errc::kNotFound && !is_unserved_type(result.error());
        if (!missing) return finish(failure(error));
        if (error.code == Errc::kConflict) return gone();
        return seen_gone();
      }
      const auto uid = json_string_at(result->body, {"metadata", "uid"});
      if (uid && *uid != uid_) return error.code == Errc::kConflict ? another() : seen_gone();
      const auto version = json_string_at(result->body, {"metadata", "resourceVersion"});
      if (error.code != Errc::kConflict) return finish(failure(error));
      if (!op_.resource_version.empty() && version && *version != op_.resource_version) return changed(error);
      after_conflict(failure(error), [this] { remove(); });
    });
  }
  void seen_gone() {
    Outcome outcome;
    outcome.uid = uid_;
    outcome.text = fmt::format("{} {} (uid {}; the answer was lost, but it is gone)", evict() ? "evicted" : "deleted",
                               op_.display(), uid_);
    finish(std::move(outcome));
  }

  std::string uid_;
};

}  // namespace

std::unique_ptr<Task> make_delete_task(const TaskContext& context, const Operation& operation,
                                       const kube::ResourceType& type, Task::Done done) {
  return std::make_unique<DeleteTask>(context, operation, type, std::move(done));
}

}  // namespace hookd::apply
