// JQPatch: read, change by jq, write back the version that was read. Source: shell-operator.md section 5, k8s-client.md
// W4.
#include <boost/json.hpp>

#include "apply/json_text.h"
#include "apply/task.h"
#include "base/json_read.h"
#include "base/json_writer.h"
#include "filter/filter.h"
#include "filter/running.h"

namespace hookd::apply {
namespace {

using kube::ApiRequest;
using kube::ApiResponse;

bool same_json(std::string_view a, std::string_view b) {
  const auto left = parse_json(a), right = parse_json(b);
  return left && right && *left == *right;
}

class JqTask final : public Task {
 public:
  using Task::Task;

 private:
  void begin() override {
    auto filter = filter::Filter::compile(op_.jq_filter);
    if (!filter)
      return finish(Outcome::Kind::kRefused, fmt::format("{}: `jqFilter`: {}", op_.display(), filter.error().what));
    filter_ = *std::move(filter);
    read();
  }

  void read() {
    // The status is part of the main object; of other subresources the object is a different one.
    get(path(op_.subresource == "status" ? "" : op_.subresource), false, true,
        [this](Result<ApiResponse> result) { result ? change(result->body) : finish_failed("patch", result.error()); });
  }

  void refuse(std::string_view why) {
    finish(Outcome::Kind::kRefused, fmt::format("{}: JQPatch refused: {}", op_.display(), why));
  }

  void change(const std::string& current) {
    const auto uid = json_string_at(current, {"metadata", "uid"}).value_or("");
    const auto version = json_string_at(current, {"metadata", "resourceVersion"}).value_or("");
    if (!op_.uid.empty() && uid != op_.uid)
      return finish(
          Outcome::Kind::kNotNeeded,
          fmt::format("{}: another object has this name now, not changed (uid {} is gone)", op_.display(), op_.uid));
    if (!op_.resource_version.empty() && version != op_.resource_version)
      return refuse(fmt::format("it changed since resourceVersion {}", op_.resource_version));
    const filter::RunsFor names(request_.hook, "JQPatch");
    const auto wanted = filter_->run(current);
    if (!wanted) return refuse(wanted.error().what);
    if (!is_json_object(*wanted)) return refuse("the filter must give the whole changed object");
    const bool same_object =
        json_string_at(*wanted, {"kind"}) == json_string_at(current, {"kind"}) &&
        json_string_at(*wanted, {"metadata", "name"}) == json_string_at(current, {"metadata", "name"});
    if (!same_object) return refuse("the filter must give the whole changed object, but its kind or name differs");
    if (same_json(*wanted, current))
      return finish(Outcome::Kind::kNotNeeded, fmt::format("{} is as wanted already", op_.display()));
    put(with_metadata(*wanted, {{"resourceVersion", json_string(version)}, {"uid", json_string(uid)}}), version);
  }

  void put(std::string body, const std::string& version) {
    ApiRequest request;
    request.method = "PUT";
    request.path = path(op_.subresource);
    request.content_type = "application/json";
    request.body = std::move(body);
    add_write_query(request);
    send(std::move(request), [this, version](Result<ApiResponse> result) {
      if (result) return finish_written("patched", *result, version);
      if (result.error().code == Errc::kConflict) return after_conflict("patch", result.error(), [this] { read(); });
      finish_failed("patch", result.error());
    });
  }

  std::shared_ptr<const filter::Filter> filter_;
};

}  // namespace

std::unique_ptr<Task> make_jq_task(const TaskContext& context, const Operation& operation,
                                   const kube::ResourceType& type, Task::Done done) {
  return std::make_unique<JqTask>(context, operation, type, std::move(done));
}

}  // namespace hookd::apply
