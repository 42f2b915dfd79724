#include "trigger/http_secret.h"

#include "base/fd.h"
#include "base/json_read.h"
#include "kube/base64.h"
#include "kube/token_file.h"

namespace hookd::trigger {

HttpSecret::HttpSecret(const hook::SourceBinding::SecretFrom& from, Scheduler& scheduler, kube::Api* api)
    : from_(from), scheduler_(scheduler), api_(api) {}

void HttpSecret::start() {
  if (!from_.name.empty()) fetch();
}

void HttpSecret::stop() {
  call_.reset();
  timer_.cancel();
  waiting_.clear();
}

Result<std::string> HttpSecret::get() const {
  if (!from_.file.empty()) {
    HOOKD_TRY(const std::string text, read_file(from_.file, kMaxBytes));
    const auto secret = kube::trim(text);
    if (secret.empty()) return fail(Errc::kConfig, "{}: is empty", from_.file);
    return std::string(secret);
  }
  if (value_) return *value_;
  if (error_) return fail(*error_);
  return fail(Errc::kUnavailable, "the Secret {}/{} was not read yet", from_.ns, from_.name);
}

std::optional<Error> HttpSecret::trouble() const {
  if (!from_.name.empty()) return error_;
  if (auto secret = get(); !secret) return secret.error();
  return std::nullopt;
}

bool HttpSecret::refresh(std::function<void()> asked) {
  if (from_.name.empty() || !api_ || waiting_.size() >= kMaxWaiting) return false;
  if (!call_ && fetched_at_ && scheduler_.now() - *fetched_at_ < kLeast) return false;
  waiting_.push_back(std::move(asked));
  if (!call_) fetch();
  return true;
}

void HttpSecret::fetch() {
  if (!api_) {
    error_ = Error{Errc::kConfig, "a Secret can only be read where there is an API server", 0, {}, {}};
    return;
  }
  kube::ApiRequest request;
  request.path = fmt::format("/api/v1/namespaces/{}/secrets/{}", from_.ns, from_.name);
  call_ = api_->request(std::move(request), [this](Result<kube::ApiResponse> response) {
    const auto call = std::move(call_);
    fetched(std::move(response));
  });
}

void HttpSecret::fetched(Result<kube::ApiResponse> response) {
  fetched_at_ = scheduler_.now();
  const auto name = fmt::format("the Secret {}/{}", from_.ns, from_.name);
  error_.reset();
  if (!response) {
    error_ = response.error().with(name);
    if (error_->code == Errc::kNotFound) value_.reset();  // taken away: nobody may come with it any more
  } else {
    const auto encoded = json_string_at(response->body, {"data", from_.key});
    const auto bytes = encoded ? kube::base64_decode(*encoded) : std::nullopt;
    const std::string secret(bytes ? kube::trim(*bytes) : std::string_view());
    if (secret.empty()) {
      error_ = Error{Errc::kConfig, fmt::format("{}: the key {} is missing or empty", name, from_.key), 0, {}, {}};
      value_.reset();
    } else {
      value_ = secret;
    }
  }
  timer_ = scheduler_.after(error_ ? kLeast * 2 : kRefresh, [this] {
    if (!call_) fetch();
  });
  for (const auto& asked : std::exchange(waiting_, {})) asked();
}

}  // namespace hookd::trigger
