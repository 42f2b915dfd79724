// Server-side apply and every patch that is one PATCH. Source: k8s-client.md W1, W2, W5, W12.
#include "apply/json_text.h"
#include "apply/task.h"
#include "base/json_read.h"
#include "base/json_writer.h"
#include "base/log.h"

namespace hookd::apply {
namespace {

using kube::ApiRequest;
using kube::ApiResponse;

class PatchTask final : public Task {
 public:
  using Task::Task;

 private:
  void begin() override {
    body_ = make_body();
    warn_of_status();
    // Whether a patch made the version that its answer shows can only be told from the version that it was made on.
    if (dry_run() || !request_.version_of) return send_patch();
    if (locked()) {
      base_ = locked_version();
      return send_patch();
    }
    const auto known = request_.version_of(op_, type_);
    if (!known) return send_patch();
    known->empty() ? look_for_base() : send_on(*known);
  }

  void warn_of_status() const {
    if (!subresource().empty()) return;
    const bool merges = op_.verb == Verb::kMergePatch || op_.verb == Verb::kStrategicMergePatch;
    if (merges && type_.has_subresource("status") && json_raw_at(op_.patch, {"status"}))  // W12
      log::warn("the server ignores `status` in this patch; use the operation Status",
                {{"hook", request_.hook}, {"call", request_.call_id}, {"operation", op_.describe()}});
  }

  // With the version as a precondition: what the answer shows beyond it was made by this patch.
  void send_on(const std::string& version) {
    base_ = version;
    bound_ = !version.empty();
    body_ = make_body();
    send_patch();
  }
  void look_for_base() {
    if (++looks_ > kLooks) return send_unbound();
    get(path(), true, true, [this](Result<ApiResponse> result) {
      if (!result) return send_unbound();
      const auto version = json_string_at(result->body, {"metadata", "resourceVersion"});
      version && !version->empty() ? send_on(*version) : send_unbound();
    });
  }
  // As the hook asked for it; whose version comes of it stays unknown.
  void send_unbound() {
    base_.reset();
    bound_ = false;
    body_ = make_body();
    send_patch();
  }
  // Was it our own precondition that the server could not meet?
  bool missed_base(const Error& error) const {
    if (!bound_) return false;
    if (op_.verb == Verb::kJsonPatch && error.http_status == 422) return true;
    return (error.code == Errc::kConflict && !is_field_conflict(error)) ||
           (error.code == Errc::kNotFound && is_upsert(op_.verb));
  }

  std::string_view content_type() const {
    switch (op_.verb) {
      case Verb::kApply:
        return "application/apply-patch+yaml";
      case Verb::kStrategicMergePatch:
        return "application/strategic-merge-patch+json";
      case Verb::kJsonPatch:
        return "application/json-patch+json";
      default:
        return "application/merge-patch+json";
    }
  }
  std::string_view doing() const {
    if (!op_.words.doing.empty()) return op_.words.doing;
    switch (op_.verb) {
      case Verb::kApply:
        return op_.subresource == "status" ? "apply the status of" : "apply";
      case Verb::kScale:
        return "scale";
      case Verb::kStatus:
        return "patch the status of";
      case Verb::kLabel:
        return "label";
      case Verb::kAnnotate:
        return "annotate";
      default:
        return "patch";
    }
  }
  std::string_view past(int status) const {
    if (!op_.words.done.empty()) return op_.words.done;
    switch (op_.verb) {
      case Verb::kApply:
        if (op_.subresource == "status") return "applied the status of";
        return status == 201 ? "created (by apply)" : "applied";
      case Verb::kScale:
        return "scaled";
      case Verb::kStatus:
        return "patched the status of";
      case Verb::kLabel:
        return "labelled";
      case Verb::kAnnotate:
        return "annotated";
      default:
        return "patched";
    }
  }

  // As members of metadata they make the server refuse another object or version with 409 (W2).
  Changes preconditions() const {
    Changes changes;
    if (!op_.uid.empty()) changes.emplace_back("uid", json_string(op_.uid));
    const std::string& version = bound_ ? *base_ : op_.resource_version;
    if (!version.empty()) changes.emplace_back("resourceVersion", json_string(version));
    return changes;
  }

  std::string make_body() const {
    switch (op_.verb) {
      case Verb::kApply: {
        // Output of kubectl carries these; the first is a 400 (W5), a null in an apply takes nothing away (section 11).
        Changes strip{{"managedFields", std::nullopt}};
        if (json_raw_at(op_.object, {"metadata", "creationTimestamp"}) == "null")
          strip.emplace_back("creationTimestamp", std::nullopt);
        if (bound_) strip.emplace_back("resourceVersion", json_string(*base_));
        return with_metadata(op_.object, strip);
      }
      case Verb::kJsonPatch:
        return json_patch();
      case Verb::kStatus:
        return with_metadata(fmt::format(R"({{"status":{}}})", op_.patch), preconditions());
      case Verb::kScale:
        return bound_ ? fmt::format(R"({{"metadata":{{"resourceVersion":{}}},"spec":{{"replicas":{}}}}})",
                                    json_string(*base_), op_.replicas)
                      : fmt::format(R"({{"spec":{{"replicas":{}}}}})", op_.replicas);
      case Verb::kLabel:
        return with_metadata("{}", with(preconditions(), "labels"));
      case Verb::kAnnotate:
        return with_metadata("{}", with(preconditions(), "annotations"));
      default:
        return with_metadata(op_.patch, preconditions());
    }
  }

  Changes with(Changes changes, std::string_view field) const {
    JsonWriter out;
    out.begin_object();
    for (const auto& [key, value] : op_.entries) value ? out.key(key).string(*value) : out.key(key).null();
    out.end_object();
    changes.emplace_back(field, std::move(out).take());
    return changes;
  }

  std::string json_patch() const {
    const auto steps = json_elements(op_.patch);
    JsonWriter out;
    out.begin_array();
    for (const auto& [field, value] : preconditions())
      out.begin_object()
          .key("op")
          .string("test")
          .key("path")
          .string("/metadata/" + field)
          .key("value")
          .raw(*value)
          .end_object();
    if (steps)
      for (const auto step : *steps) out.raw(step);
    out.end_array();
    return std::move(out).take();
  }

  // Did the hook ask for one version of the object? Then a conflict is the answer, not a race.
  bool locked() const {
    if (!op_.resource_version.empty()) return true;
    const std::string& text = op_.verb == Verb::kApply ? op_.object : op_.patch;
    const bool whole =
        op_.verb == Verb::kApply || op_.verb == Verb::kMergePatch || op_.verb == Verb::kStrategicMergePatch;
    return whole && json_raw_at(text, {"metadata", "resourceVersion"}).value_or("null") != "null";
  }

  std::string locked_version() const {
    if (!op_.resource_version.empty()) return op_.resource_version;
    const std::string& text = op_.verb == Verb::kApply ? op_.object : op_.patch;
    return json_string_at(text, {"metadata", "resourceVersion"}).value_or("");
  }

  void send_patch() {
    ApiRequest request;
    request.method = "PATCH";
    request.path = path(subresource());
    request.content_type = content_type();
    request.body = body_;
    add_write_query(request);
    if (op_.verb == Verb::kApply && op_.force) request.query.emplace_back("force", "true");
    send(std::move(request), [this](Result<ApiResponse> result) {
      if (!result) return failed(result.error());
      std::string text(past(result->status));
      if (op_.verb == Verb::kScale) return finish_written(fmt::format("{} to {}:", text, op_.replicas), *result, base_);
      finish_written(text, *result, result->status == 201 ? std::string() : base_);
    });
  }

  void refused(const Error& error, std::string text) {
    Outcome outcome = failed_outcome(op_, doing(), error);
    outcome.kind = Outcome::Kind::kRefused;
    outcome.text = std::move(text);
    finish(std::move(outcome));
  }

  void failed(const Error& error) {
    const bool test_failed = op_.verb == Verb::kJsonPatch && error.http_status == 422;
    if (!op_.uid.empty() &&
        (is_uid_mismatch(error) || (test_failed && error.what.find("/metadata/uid") != std::string::npos)))
      return finish(Outcome::Kind::kNotNeeded,
                    is_no_object(error)
                        ? fmt::format("{} is gone already (uid {})", op_.display(), op_.uid)
                        : fmt::format("{}: another object has this name now, not changed (uid {} is gone)",
                                      op_.display(), op_.uid));
    if (missed_base(error)) return look_for_base();
    if (error.code == Errc::kConflict && op_.verb == Verb::kApply && locked_version() == kMustNotExist) {
      // Told as a conflict of fields, where there is one, before the version is looked at.
      Outcome outcome = failed_outcome(op_, doing(), error);
      outcome.kind = Outcome::Kind::kRetry;
      outcome.text = fmt::format("{}: not made: an object of this name is there already, not changed", op_.display());
      return finish(std::move(outcome));
    }
    if (is_field_conflict(error))
      return refused(
          error, fmt::format("{}: apply refused: other managers own fields that it sets; `force: true` takes them: {}",
                             op_.display(), error.what));
    if (error.code == Errc::kConflict) {
      if (locked())
        return refused(error, fmt::format("{}: it changed since the version that the hook names, not changed: {}",
                                          op_.display(), error.what));
      return after_conflict(doing(), error, [this] { send_patch(); });  // a plain race (W5)
    }
    finish_failed(doing(), error);
  }

  static constexpr int kLooks = 3;  // at the object for its version; then the patch goes without it

  std::string body_;
  std::optional<std::string> base_;  // the version that it is made on, where that matters and is known
  bool bound_ = false;               // base_ is a precondition that the hook did not ask for
  int looks_ = 0;
};

}  // namespace

std::unique_ptr<Task> make_patch_task(const TaskContext& context, const Operation& operation,
                                      const kube::ResourceType& type, Task::Done done) {
  return std::make_unique<PatchTask>(context, operation, type, std::move(done));
}

}  // namespace hookd::apply
