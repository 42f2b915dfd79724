#include "apply/task.h"

#include <set>

#include "apply/json_diff.h"
#include "apply/json_text.h"
#include "base/json_read.h"
#include "base/log.h"

namespace hookd::apply {
namespace {

constexpr size_t kFieldManagerBytes = 128;  // W5
constexpr std::string_view kMetadataOnly =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

std::string path_segment(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain || std::string_view("-._~:@!$'()*,;=").find(c) != std::string_view::npos)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace

std::string object_path(const kube::ResourceType& type, std::string_view ns, std::string_view name,
                        std::string_view subresource) {
  return type.object_path(path_segment(ns), path_segment(name), subresource);
}

std::unique_ptr<Task> Task::make(const TaskContext& context, const Operation& operation, const kube::ResourceType& type,
                                 Done done) {
  switch (operation.verb) {
    case Verb::kDelete:
    case Verb::kDeleteInBackground:
    case Verb::kDeleteNonCascading:
    case Verb::kEvict:
      return make_delete_task(context, operation, type, std::move(done));
    case Verb::kCreate:
    case Verb::kCreateIfNotExists:
    case Verb::kCreateOrUpdate:
      return make_create_task(context, operation, type, std::move(done));
    case Verb::kCondition:
      return make_condition_task(context, operation, type, std::move(done));
    case Verb::kJqPatch:
      return make_jq_task(context, operation, type, std::move(done));
    default:
      return make_patch_task(context, operation, type, std::move(done));
  }
}

Task::Task(const TaskContext& context, const Operation& operation, const kube::ResourceType& type, Done done)
    : api_(context.api),
      scheduler_(context.scheduler),
      random_(context.random),
      request_(context.request),
      op_(operation),
      type_(type),
      done_(std::move(done)),
      backoff_({.initial = std::chrono::milliseconds(10), .max = std::chrono::seconds(1), .factor = 2, .jitter = 0.1},
               random_) {}

void Task::start() {
  const bool shows_change = dry_run() && !is_delete(op_.verb) && op_.verb != Verb::kEvict && !op_.name.empty();
  if (!shows_change) return begin();
  get(path(subresource() == "scale" ? "scale" : ""), false, true, [this](Result<kube::ApiResponse> result) {
    if (result) before_ = std::move(result->body);
    begin();
  });
}

std::string Task::field_manager() const {
  const std::string& wanted = op_.field_manager.empty() ? request_.field_manager : op_.field_manager;
  std::string name;
  // Printable only, or the server refuses it; single bytes are enough: a name beyond ASCII becomes readable
  // underscores.
  for (const char c : wanted.empty() ? "hookd-" + request_.hook : wanted) name += c > 0x20 && c < 0x7f ? c : '_';
  return name.substr(0, kFieldManagerBytes);
}

std::string_view Task::subresource() const {
  return op_.verb == Verb::kStatus ? "status" : op_.verb == Verb::kScale ? "scale" : std::string_view(op_.subresource);
}

std::string Task::path_of(std::string_view name, std::string_view subresource) const {
  return object_path(type_, op_.ns, name, subresource);
}

std::string Task::collection_path() const { return type_.collection_path(path_segment(op_.ns)); }

void Task::add_write_query(kube::ApiRequest& request) const {
  request.query.emplace_back("fieldManager", field_manager());
  request.query.emplace_back("fieldValidation", "Warn");
  if (dry_run()) request.query.emplace_back("dryRun", "All");
}

void Task::send(kube::ApiRequest request, Handler handler) {
  auto call = api_.request(std::move(request), [this, handler = std::move(handler)](Result<kube::ApiResponse> result) {
    if (result) {
      std::set<std::string> seen;
      for (const auto& warning : result->warnings)
        if (seen.insert(warning).second)
          log::warn("the server warns", {{"hook", request_.hook},
                                         {"call", request_.call_id},
                                         {"operation", op_.describe()},
                                         {"warning", warning}});
    }
    handler(std::move(result));
  });
  calls_.push_back(std::move(call));
}

void Task::get(std::string path, bool metadata_only, bool retry, Handler handler) {
  kube::ApiRequest request;
  request.path = std::move(path);
  if (metadata_only) request.accept = kMetadataOnly;
  request.retry = retry;
  send(std::move(request), std::move(handler));
}

void Task::finish(Outcome outcome) {
  if (dry_run()) outcome.text = "dry run: " + outcome.text;
  timer_ = scheduler_.after(Duration{0}, [this, outcome = std::move(outcome)]() mutable {
    const auto done = std::move(done_);
    Outcome result = std::move(outcome);
    done(std::move(result));  // may destroy this
  });
}

void Task::finish(Outcome::Kind kind, std::string text) {
  Outcome outcome;
  outcome.kind = kind;
  outcome.text = std::move(text);
  finish(std::move(outcome));
}

void Task::finish_written(std::string_view past, const kube::ApiResponse& response,
                          const std::optional<std::string>& base) {
  Outcome outcome;
  outcome.http_status = response.status;
  outcome.uid = json_string_at(response.body, {"metadata", "uid"}).value_or("");
  outcome.resource_version = json_string_at(response.body, {"metadata", "resourceVersion"}).value_or("");
  if (base && !outcome.resource_version.empty())
    outcome.made = outcome.resource_version == *base ? Outcome::Made::kNo : Outcome::Made::kYes;
  if (op_.keep_object) outcome.object = response.body;
  outcome.text = fmt::format("{} {}", past, op_.display());
  if (dry_run()) outcome.diff = json_diff(before_, response.body);
  finish(std::move(outcome));
}

void Task::finish_failed(std::string_view doing, const Error& error) {
  const std::string sub(subresource());
  if (error.code == Errc::kNotFound && !sub.empty() && !type_.has_subresource(sub))
    return finish(Outcome::Kind::kRefused, fmt::format("{}: {} refused: {} has no subresource {} ({})", op_.display(),
                                                       doing, type_.display(), sub, error.what));
  if (error.code == Errc::kNotFound && op_.ignore_missing_object && !is_unserved_type(error))
    return finish(Outcome::Kind::kNotNeeded, fmt::format("{} does not exist, nothing to {}", op_.display(), doing));
  finish(failed_outcome(op_, doing, error));
}

void Task::after_conflict(Outcome last, std::function<void()> again) {
  if (backoff_.failures() + 1 >= kConflictTries) return finish(std::move(last));
  timer_ = scheduler_.after(backoff_.next(), std::move(again));
}

}  // namespace hookd::apply
