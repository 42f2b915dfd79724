// A source that takes POSTs at a path of the daemon's address. Thread: loop only. Source: GitHub docs "Validating
// webhook deliveries" (X-Hub-Signature-256, X-GitHub-Delivery), RFC 6750 (bearer), RFC 9110 (status codes).
//
//   202 queued      401 signature or token missing or wrong      405 not a POST         409 seen before, or too old
//   413 over maxBody      400 said to be JSON and is not      415 neither JSON nor UTF-8      429 the buffer is full
//   503 the secret cannot be read, or the hook is going
//   with `reply: handled` 200, 500, 503 and 504 in the place of 202: http_reply.h
//
// data: {"method","path","query","headers":{lower case},"body": JSON value, text, or null}, without what could be used
// to come again: authorization, cookies, signatures.
#pragma once

#include <deque>
#include <set>

#include "trigger/http_reply.h"
#include "trigger/http_secret.h"
#include "trigger/source_trigger.h"

namespace hookd::trigger {

// Deliveries of the last while. Bounded: past the bound the oldest is forgotten before its time.
class SeenDeliveries {
 public:
  bool seen(const std::string& id) const { return ids_.contains(id); }
  void note(const std::string& id, SteadyTime now);
  void forget_before(SteadyTime then);
  size_t size() const { return ids_.size(); }

  static constexpr size_t kMost = 100'000;

 private:
  std::set<std::string> ids_;
  std::deque<std::pair<SteadyTime, std::string>> order_;
};

class HttpSource final : public SourceTrigger {
 public:
  HttpSource(std::shared_ptr<const hook::Hook> hook, const hook::SourceBinding& binding, SourceServices services,
             Emit emit);

  void start() override;
  void stop() override;
  std::optional<Error> trouble() const override;
  std::string what() const override { return "http " + binding_.http; }

  static constexpr Duration kPathRetry = std::chrono::seconds(5);  // the path is another hook's for now
  static constexpr size_t kMaxIdBytes = 200;
  static constexpr size_t kMostWaiting = 64;  // senders: the daemon's address must stay open to /healthz

 private:
  void take_path();
  void serve(net::ServerRequest request, const net::Responder& respond, bool secret_is_fresh);
  enum class Check { kGood, kWrong, kNoSecret };
  Check check(const net::ServerRequest& request) const;
  std::vector<std::string> delivery_ids(const net::ServerRequest& request) const;
  bool too_old(const net::ServerRequest& request) const;
  std::string data_of(const net::ServerRequest& request, std::string body) const;
  bool join(const std::vector<std::string>& ids, const net::Responder& respond);
  void serve_slowly(std::string data, std::vector<std::string> ids, const net::Responder& respond);
  size_t senders_waiting() const;
  void refuse(const net::Responder& respond, int status, const char* why, std::string text);
  std::string credential_header() const;

  HttpSecret secret_;
  std::unique_ptr<net::HttpRoutes::Registration> path_;
  std::optional<Error> path_error_;
  SeenDeliveries seen_;
  std::list<std::pair<std::vector<std::string>, std::weak_ptr<HttpReply>>> replies_;  // ids of the delivery
  Timer retry_;
  bool stopped_ = false;
};

}  // namespace hookd::trigger
