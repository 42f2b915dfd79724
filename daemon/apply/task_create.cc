// Create, CreateIfNotExists, CreateOrUpdate. Source: k8s-client.md W3, W4, W6, A25.
#include "apply/json_text.h"
#include "apply/task.h"
#include "base/json_read.h"
#include "base/json_writer.h"

namespace hookd::apply {
namespace {

using kube::ApiRequest;
using kube::ApiResponse;

class CreateTask final : public Task {
 public:
  using Task::Task;

 private:
  static constexpr int kNameTries = 8;
  static constexpr size_t kGeneratedPrefix = 58;  // the server's own limit (W6)

  void begin() override {
    // What only the server sets: a resourceVersion is a 400 on create, the others are of another object.
    object_ = with_metadata(
        op_.object, {{"resourceVersion", std::nullopt}, {"uid", std::nullopt}, {"managedFields", std::nullopt}});
    name_ = op_.name;
    if (name_.empty()) generate();
    post();
  }

  // The name is chosen here and not by the server, so that after a lost answer it can be looked for (A25).
  void generate() {
    static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
    name_ = op_.generate_name.substr(0, kGeneratedPrefix);
    for (int i = 0; i < 5; ++i) name_ += kAlphabet[random_.bits() % kAlphabet.size()];
    ++names_tried_;
    object_ = with_metadata(object_, {{"name", json_string(name_)}});
  }

  void post() {
    ApiRequest request;
    request.method = "POST";
    request.path = collection_path();
    request.content_type = "application/json";
    request.body = object_;
    add_write_query(request);
    send(std::move(request), [this](Result<ApiResponse> result) {
      if (!result) return post_failed(result.error());
      finish_written(op_.name.empty() ? fmt::format("created {} as", name_) : "created", *result, "");
    });
  }

  void post_failed(const Error& error) {
    if (error.code == Errc::kExists) return exists(error);
    if (!is_unknown_outcome(error)) return finish_failed("create", error);
    if (op_.verb != Verb::kCreate) return finish_failed("create", error);  // a repetition does no harm
    look_again(error);
  }

  void exists(const Error& error) {
    if (error.what.find("is being deleted") != std::string::npos) {
      Outcome outcome = failed_outcome(op_, "create", error);
      outcome.kind = Outcome::Kind::kRetry;
      outcome.text =
          fmt::format("{}: not created yet, the one before is still terminating: {}", op_.display(), error.what);
      return finish(std::move(outcome));
    }
    if (op_.verb == Verb::kCreateIfNotExists)
      return finish(Outcome::Kind::kNotNeeded, fmt::format("{} exists already", op_.display()));
    if (op_.verb == Verb::kCreateOrUpdate) return update();
    if (!op_.made_uid.empty()) return look_whose(error);
    if (lost_) return look_again(*lost_);  // perhaps by the request whose answer was lost
    if (op_.name.empty() && names_tried_ < kNameTries) {
      generate();
      return post();
    }
    in_the_way(error);
  }

  void in_the_way(const Error& error) {
    Outcome outcome = failed_outcome(op_, "create", error);
    outcome.kind = op_.name.empty() ? Outcome::Kind::kRetry : Outcome::Kind::kRefused;
    outcome.text = fmt::format("{}: create refused, it exists already (CreateIfNotExists or Apply take that): {}",
                               op_.display(), error.what);
    finish(std::move(outcome));
  }

  // Is it the one that an earlier attempt of the same call made?
  void look_whose(const Error& error) {
    get(path_of(name_), true, false, [this, error](Result<ApiResponse> result) {
      if (!result && result.error().code == Errc::kNotFound && !is_unserved_type(result.error()))
        return after_conflict("create", result.error(), [this] { post(); });  // it went in between
      // Who may make it need not be allowed to read it.
      const bool unread = !result && result.error().code == Errc::kForbidden;
      if (!result && !unread) return finish_failed("create", result.error());
      if (result && json_string_at(result->body, {"metadata", "uid"}) != op_.made_uid)
        return lost_ ? look_again(*lost_) : in_the_way(error);  // made anew, perhaps
      Outcome outcome;
      outcome.kind = Outcome::Kind::kNotNeeded;
      outcome.uid = op_.made_uid;
      outcome.text = fmt::format("{} is there: the attempt before created it", op_.display());
      finish(std::move(outcome));
    });
  }

  // Was it created although no answer came? The field manager tells whose it is.
  void look_again(Error error) {  // by value: it may be *lost_
    const bool again = !std::exchange(lost_, error).has_value();
    get(path_of(name_), true, false, [this, error, again](Result<ApiResponse> result) {
      if (result) {
        const auto managers = json_raw_at(result->body, {"metadata", "managedFields"}).value_or("");
        if (managers.find(fmt::format("\"manager\":{}", json_string(field_manager()))) != std::string_view::npos)
          return finish_written(fmt::format("created{} (the answer was lost, but it is there)",
                                            op_.name.empty() ? fmt::format(" {} as", name_) : std::string()),
                                *result);
        Outcome outcome = failed_outcome(op_, "create", error);
        outcome.kind = Outcome::Kind::kRefused;
        outcome.unknown = false;
        outcome.text =
            fmt::format("{}: create refused, an object of this name exists that is not this hook's", op_.display());
        return finish(std::move(outcome));
      }
      if (result.error().code == Errc::kNotFound && again) return post();  // the same name: it cannot be there twice
      Outcome outcome = failed_outcome(op_, "create", error);
      outcome.unknown = true;
      if (op_.name.empty()) outcome.text += fmt::format(" (it would be named {})", name_);
      finish(std::move(outcome));
    });
  }

  void update() {
    get(path_of(name_), false, true, [this](Result<ApiResponse> result) {
      if (!result) {
        if (result.error().code == Errc::kNotFound && !is_unserved_type(result.error()))  // deleted in between
          return after_conflict("create or update", result.error(), [this] { post(); });
        return finish_failed("update", result.error());
      }
      put(result->body);
    });
  }

  void put(const std::string& current) {
    const auto version = json_string_at(current, {"metadata", "resourceVersion"}).value_or("");
    Changes meta{{"resourceVersion", json_string(version)}};
    if (const auto uid = json_string_at(current, {"metadata", "uid"})) meta.emplace_back("uid", json_string(*uid));
    std::string body = with_metadata(object_, meta);
    // Where the status is part of the object, leaving it out would wipe it.
    const auto status = json_raw_at(current, {"status"});
    if (status && !type_.has_subresource("status") && !json_raw_at(object_, {"status"}))
      body = with_members(body, {{"status", std::string(*status)}});
    ApiRequest request;
    request.method = "PUT";
    request.path = path_of(name_);
    request.content_type = "application/json";
    request.body = std::move(body);
    add_write_query(request);
    send(std::move(request), [this, version](Result<ApiResponse> result) {
      if (result) {
        if (!dry_run() && json_string_at(result->body, {"metadata", "resourceVersion"}) == version)
          return finish(Outcome::Kind::kNotNeeded, fmt::format("{} is as wanted already", op_.display()));
        return finish_written("updated", *result, version);
      }
      if (result.error().code == Errc::kConflict) return after_conflict("update", result.error(), [this] { update(); });
      if (result.error().code == Errc::kNotFound && !is_unserved_type(result.error()))
        return after_conflict("create or update", result.error(), [this] { post(); });
      finish_failed("update", result.error());
    });
  }

  std::string object_;
  std::string name_;
  int names_tried_ = 0;
  std::optional<Error> lost_;  // of a POST whose answer was lost
};

}  // namespace

std::unique_ptr<Task> make_create_task(const TaskContext& context, const Operation& operation,
                                       const kube::ResourceType& type, Task::Done done) {
  return std::make_unique<CreateTask>(context, operation, type, std::move(done));
}

}  // namespace hookd::apply
