#include "app/cluster_identity.h"

#include "base/json_read.h"
#include "base/log.h"

namespace hookd::app {
namespace {

// It becomes part of a file's name.
bool is_uid(const std::string& text) {
  return !text.empty() && text.size() <= 64 && text.find_first_not_of("0123456789abcdefABCDEF-") == std::string::npos;
}

}  // namespace

void ClusterIdentity::ask(kube::Api& api, std::function<void(std::string)> known) {
  api_ = &api;
  known_ = std::move(known);
  send();
}

void ClusterIdentity::stop() {
  timer_.cancel();
  call_.reset();
  api_ = nullptr;
}

void ClusterIdentity::send() {
  if (!api_) return;
  kube::ApiRequest request;
  request.path = "/api/v1/namespaces/kube-system";
  request.retry = false;
  call_ = api_->request(std::move(request), [this](Result<kube::ApiResponse> result) { answered(std::move(result)); });
}

void ClusterIdentity::answered(Result<kube::ApiResponse> result) {
  // The call that runs this goes later, in a turn of its own.
  scheduler_.post([call = std::shared_ptr<kube::ApiCall>(std::move(call_))] {});
  const bool nobody_knows =
      !result && (result.error().code == Errc::kForbidden || result.error().code == Errc::kNotFound);
  std::string uid = result ? json_string_at(result->body, {"metadata", "uid"}).value_or("") : "";
  if (result && !is_uid(uid)) result = fail(Errc::kDecode, "the answer is no namespace");
  if (!result && !nobody_knows) {
    const std::string why = "which cluster this is cannot be told yet: " + result.error().what;
    if (!trouble_) log::warn(why);
    trouble_ = why;
    timer_ = scheduler_.after(backoff_.next(), [this] { send(); });
    return;
  }
  trouble_.reset();
  if (nobody_knows)
    log::warn(
        "which cluster this is cannot be told, so what stateDir keeps is used unchecked: with another cluster it would "
        "be taken for that one's; allow hookd to `get` the namespace kube-system",
        {{"error", result.error().what}});
  if (const auto tell = std::exchange(known_, nullptr)) tell(std::move(uid));
}

}  // namespace hookd::app
