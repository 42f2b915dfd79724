// One operation under way: the requests that it takes, and what their answers mean. Thread: loop only.
//
//   operations                       file             requests
//   Delete…, Evict                   task_delete.cc   [GET uid] -> DELETE | POST eviction
//   Create…                          task_create.cc   POST -> [GET -> PUT]
//   JQPatch                          task_jq.cc       GET -> jq -> PUT
//   Condition                        task_condition.cc  GET -> PATCH of status
//   Apply and the other patches      task_patch.cc    PATCH
//
// In a dry run the object is read before, so that the Outcome can tell what would change.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apply/applier.h"
#include "apply/operation.h"
#include "apply/outcome.h"
#include "base/backoff.h"
#include "kube/client.h"
#include "kube/resource_type.h"

namespace hookd::apply {

struct TaskContext {
  kube::Api& api;
  Scheduler& scheduler;
  Random& random;
  const Request& request;
};

class Task {
 public:
  using Done = std::function<void(Outcome)>;

  // `operation` must outlive the Task and be about `type`. Not for Event, Metric, Requeue.
  static std::unique_ptr<Task> make(const TaskContext& context, const Operation& operation,
                                    const kube::ResourceType& type, Done done);
  Task(const TaskContext& context, const Operation& operation, const kube::ResourceType& type, Done done);
  virtual ~Task() = default;

  // `done` comes once and never from inside start(); the Task may be destroyed in it.
  void start();

 protected:
  using Handler = std::function<void(Result<kube::ApiResponse>)>;

  virtual void begin() = 0;

  bool dry_run() const { return op_.dry_run || request_.dry_run; }
  std::string field_manager() const;
  std::string_view subresource() const;  // the verb's own, else the operation's
  std::string path(std::string_view subresource = {}) const { return path_of(op_.name, subresource); }
  std::string path_of(std::string_view name, std::string_view subresource = {}) const;
  std::string collection_path() const;
  // fieldManager, fieldValidation and, where it applies, dryRun.
  void add_write_query(kube::ApiRequest& request) const;
  void send(kube::ApiRequest request, Handler handler);
  void get(std::string path, bool metadata_only, bool retry, Handler handler);

  void finish(Outcome outcome);
  void finish(Outcome::Kind kind, std::string text);
  // kDone with uid and resource version out of the object in the answer; "<past> Pod a/b". `base`: the version that was
  // written on, "" = there was no object, nullopt = not known.
  void finish_written(std::string_view past, const kube::ApiResponse& response,
                      const std::optional<std::string>& base = std::nullopt);
  // kRetry or kRefused by the general rules, or kNotNeeded for a missing object that may be missing.
  void finish_failed(std::string_view doing, const Error& error);
  // Runs `again` a little later; after kConflictTries tries in all it ends with `last` (W4).
  void after_conflict(Outcome last, std::function<void()> again);
  void after_conflict(std::string_view doing, const Error& error, std::function<void()> again) {
    after_conflict(failed_outcome(op_, doing, error), std::move(again));
  }

  static constexpr int kConflictTries = 5;

  kube::Api& api_;
  Scheduler& scheduler_;
  Random& random_;
  const Request& request_;
  const Operation& op_;
  const kube::ResourceType& type_;

 private:
  Done done_;
  std::vector<std::unique_ptr<kube::ApiCall>>
      calls_;  // kept to the end: a handler must not destroy the call that runs it
  Backoff backoff_;
  Timer timer_;
  std::string before_;  // dry run
};

// The path of an object, its names encoded for a URL.
std::string object_path(const kube::ResourceType& type, std::string_view ns, std::string_view name,
                        std::string_view subresource = {});

// The makers of the kinds of tasks.
std::unique_ptr<Task> make_delete_task(const TaskContext&, const Operation&, const kube::ResourceType&, Task::Done);
std::unique_ptr<Task> make_create_task(const TaskContext&, const Operation&, const kube::ResourceType&, Task::Done);
std::unique_ptr<Task> make_condition_task(const TaskContext&, const Operation&, const kube::ResourceType&, Task::Done);
std::unique_ptr<Task> make_jq_task(const TaskContext&, const Operation&, const kube::ResourceType&, Task::Done);
std::unique_ptr<Task> make_patch_task(const TaskContext&, const Operation&, const kube::ResourceType&, Task::Done);

}  // namespace hookd::apply
