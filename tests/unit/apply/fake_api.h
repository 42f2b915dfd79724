// A kube::Api that answers by script: what was asked is kept, what is not scripted is a test failure.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "base/scheduler.h"
#include "kube/client.h"
#include "kube/status.h"

namespace hookd::apply {

class FakeApi final : public kube::Api {
 public:
  using Answer = Result<kube::ApiResponse>;

  explicit FakeApi(Scheduler& scheduler) : scheduler_(scheduler) {}

  // The next answer to this method and path; several are given in order, the last one again and again.
  FakeApi& on(std::string_view method, std::string_view path, Answer answer) {
    answers_[fmt::format("{} {}", method, path)].push_back(std::move(answer));
    return *this;
  }
  // Requests to it stay open until release().
  void hold(std::string_view method, std::string_view path) { held_.insert(fmt::format("{} {}", method, path)); }
  void release() {
    held_.clear();
    for (auto& waiting : std::exchange(waiting_, {})) deliver(waiting.first, waiting.second);
  }

  std::unique_ptr<kube::ApiCall> request(kube::ApiRequest request, kube::ApiCallback callback) override {
    const std::string key = fmt::format("{} {}", request.method, request.path);
    requests.push_back(std::move(request));
    auto alive = std::make_shared<kube::ApiCallback>(std::move(callback));
    ++open;
    most_open = std::max(most_open, open);
    if (held_.contains(key))
      waiting_.emplace_back(key, alive);
    else
      deliver(key, alive);
    return std::make_unique<Call>(std::move(alive));
  }

  std::unique_ptr<kube::ApiCall> stream(kube::ApiRequest, kube::StreamHandlers) override {
    ADD_FAILURE() << "apply streams nothing";
    return nullptr;
  }

  // "PATCH /api/v1/…" of every request so far.
  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    for (const auto& request : requests) all.push_back(fmt::format("{} {}", request.method, request.path));
    return all;
  }
  const kube::ApiRequest& last() const { return requests.back(); }

  std::vector<kube::ApiRequest> requests;
  int open = 0;
  int most_open = 0;

 private:
  using Callback = std::shared_ptr<kube::ApiCallback>;
  struct Call final : kube::ApiCall {
    explicit Call(Callback c) : callback(std::move(c)) {}
    ~Call() override { *callback = nullptr; }  // as the contract says: destroyed, no callback
    Callback callback;
  };

  void deliver(const std::string& key, Callback callback) {
    scheduler_.post([this, key, callback] {
      --open;
      if (!*callback) return;
      auto& scripted = answers_[key];
      if (scripted.empty()) {
        ADD_FAILURE() << "no answer scripted for " << key;
        return;
      }
      Answer answer = scripted.front();
      if (scripted.size() > 1) scripted.pop_front();
      const auto call = *callback;
      call(std::move(answer));
    });
  }

  Scheduler& scheduler_;
  std::map<std::string, std::deque<Answer>> answers_;
  std::set<std::string> held_;
  std::vector<std::pair<std::string, Callback>> waiting_;
};

inline FakeApi::Answer ok(std::string body = R"({"kind":"Status","apiVersion":"v1","status":"Success"})",
                          int status = 200) {
  return kube::ApiResponse{
      .status = status, .body = std::move(body), .content_type = "application/json", .warnings = {}};
}

// A Status as the real client decodes it.
inline FakeApi::Answer refused(int code, std::string_view reason, std::string_view message,
                               std::string_view causes = "[]", std::string_view retry_after = "",
                               std::string_view method = "PATCH") {
  const std::string body = fmt::format(
      R"({{"kind":"Status","apiVersion":"v1","status":"Failure","code":{},"reason":{},"message":{},"details":{{"causes":{}}}}})",
      code, json_string(reason), json_string(message), causes);
  return fail(kube::error_from_answer(code, body, retry_after, method));
}
inline FakeApi::Answer not_found(std::string_view what = "pods \"b\" not found") {
  return refused(404, "NotFound", what);
}
inline FakeApi::Answer not_served() { return fail(kube::error_from_answer(404, "404 page not found\n", "", "GET")); }
inline FakeApi::Answer cut() { return fail(Error{Errc::kTransport, "connection reset", 0, {}, {}}); }

inline std::string object_json(std::string_view kind, std::string_view name, std::string_view uid,
                               std::string_view version = "7") {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"{}","metadata":{{"name":"{}","namespace":"a","uid":"{}","resourceVersion":"{}"}}}})",
      kind, name, uid, version);
}

}  // namespace hookd::apply
