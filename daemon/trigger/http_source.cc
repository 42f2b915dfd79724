#include "trigger/http_source.h"

#include <charconv>

#include "base/ascii.h"
#include "base/json_read.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "kube/token_file.h"
#include "net/hmac.h"

namespace hookd::trigger {
namespace {

using Checked = hook::SourceBinding::Check;

constexpr std::string_view kHidden[] = {"authorization",     "proxy-authorization", "cookie",
                                        "x-hub-signature",   "x-hub-signature-256", "x-gitlab-token",
                                        "x-gitea-signature", "x-gogs-signature"};

std::string_view without_prefix(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

bool says_json(std::string_view content_type) {
  const std::string_view type = kube::trim(content_type.substr(0, content_type.find(';')));
  return type == "application/json" || type.ends_with("+json");
}

}  // namespace

void SeenDeliveries::note(const std::string& id, SteadyTime now) {
  if (!ids_.insert(id).second) return;
  order_.emplace_back(now, id);
  if (order_.size() <= kMost) return;
  ids_.erase(order_.front().second);
  order_.pop_front();
}

void SeenDeliveries::forget_before(SteadyTime then) {
  while (!order_.empty() && order_.front().first < then) {
    ids_.erase(order_.front().second);
    order_.pop_front();
  }
}

HttpSource::HttpSource(std::shared_ptr<const hook::Hook> hook, const hook::SourceBinding& binding,
                       SourceServices services, Emit emit)
    : SourceTrigger(std::move(hook), binding, std::move(services), std::move(emit)),
      secret_(binding_.secret_from, services_.scheduler, services_.api) {}

void HttpSource::start() {
  secret_.start();
  take_path();
}

void HttpSource::take_path() {
  if (!services_.routes) {
    path_error_ = Error{
        Errc::kConfig, "nothing can be POSTed to this hook: the daemon has no HTTP address (`listen`)", 0, {}, {}};
    return log::warn("a source takes no POSTs", {{"hook", hook_->name}, {"error", path_error_->what}});
  }
  auto taken = services_.routes->add(binding_.http, [this](net::ServerRequest request, net::Responder respond) {
    serve(std::move(request), respond, false);
  });
  if (taken) {
    path_ = *std::move(taken);
    path_error_.reset();
    return;
  }
  if (!path_error_) log::warn("a source takes no POSTs", {{"hook", hook_->name}, {"error", taken.error().what}});
  path_error_ = taken.error();
  retry_ = services_.scheduler.after(kPathRetry, [this] { take_path(); });
}

void HttpSource::stop() {
  stopped_ = true;
  path_.reset();
  retry_.cancel();
  secret_.stop();
}

std::optional<Error> HttpSource::trouble() const {
  if (stopped_) return std::nullopt;
  if (path_error_) return path_error_;
  return binding_.check == Checked::kNone ? std::nullopt : secret_.trouble();
}

void HttpSource::refuse(const net::Responder& respond, int status, const char* why, std::string text) {
  services_.metrics.count("hookd_source_refused_total",
                          {{"hook", hook_->name}, {"binding", binding_.name}, {"status", std::to_string(status)}});
  if (why[0] != '\0') dropped(why);
  net::ServerResponse response;
  response.status = status;
  response.body = std::move(text) + "\n";
  if (status == 405) response.headers.emplace_back("Allow", "POST");
  if (status == 401 && binding_.check == Checked::kBearer) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (status == 429) response.headers.emplace_back("Retry-After", "1");
  if (status == 503) response.headers.emplace_back("Retry-After", "5");
  respond(std::move(response));
}

void HttpSource::serve(net::ServerRequest request, const net::Responder& respond, bool secret_is_fresh) {
  if (stopped_) return refuse(respond, 503, "", "not now");
  if (request.method != "POST") return refuse(respond, 405, "", "only POST is taken here");
  if (request.body.size() > binding_.max_body_bytes)
    return refuse(respond, 413, "too large", fmt::format("more than {} bytes", binding_.max_body_bytes));
  const Check checked = check(request);
  if (checked != Check::kGood && !secret_is_fresh) {
    // The Secret may be another by now: with the new one it is looked at once more.
    auto kept = std::make_shared<net::ServerRequest>(std::move(request));
    if (secret_.refresh([this, kept, respond] { serve(std::move(*kept), respond, true); })) return;
    request = std::move(*kept);
  }
  if (checked == Check::kNoSecret) {
    if (const auto secret = secret_.get(); !secret && seldom())  // it may be there by now
      log::warn("POSTs to a source are refused: there is no secret to check them with",
                {{"hook", hook_->name}, {"binding", binding_.name}, {"error", secret.error().what}});
    return refuse(respond, 503, "", "not now");
  }
  if (checked == Check::kWrong) return refuse(respond, 401, "", "unauthorized");
  if (too_old(request)) return refuse(respond, 409, "replayed", "the time of the request is too far from now");
  const SteadyTime now = services_.scheduler.now();
  const auto ids = delivery_ids(request);
  // A signed time may be ahead by as much as it may lie back, and the request is good for all of that.
  const int windows = binding_.timestamp_header.empty() ? 1 : 2;
  if (binding_.replay_window > Duration::zero()) seen_.forget_before(now - windows * binding_.replay_window);
  if (join(ids, respond)) return;
  for (const std::string& id : ids)
    if (seen_.seen(id)) return refuse(respond, 409, "replayed", "this delivery was taken before");

  const bool blank = kube::trim(request.body).empty();
  const bool text = is_utf8(request.body);
  const bool json = text && !blank && validate_json(request.body, kMaxJsonDepth).has_value();
  if (!json && !blank && says_json(lower(request.header("content-type"))))
    return refuse(respond, 400, "not JSON", fmt::format("the body is no JSON of at most {} levels", kMaxJsonDepth));
  if (!text) return refuse(respond, 415, "not text", "the body is neither JSON nor UTF-8 text");
  if (paused() || senders_waiting() >= kMostWaiting)
    return refuse(respond, 429, "", "too many events wait for the hook");
  std::string body = blank ? "null" : json ? one_line(request.body) : json_string(request.body);
  if (binding_.reply_handled) return serve_slowly(data_of(request, std::move(body)), ids, respond);
  const bool taken = emit(data_of(request, std::move(body)));
  for (const std::string& id : ids) seen_.note(id, now);
  net::ServerResponse response;
  response.status = 202;
  response.body = taken ? "queued\n" : "not of interest\n";
  respond(std::move(response));
}

// ---- `reply: handled` -----------------------------------------------------------------------------------------

size_t HttpSource::senders_waiting() const {
  size_t waiting = 0;
  for (const auto& [ids, reply] : replies_)
    if (const auto open = reply.lock()) waiting += open->waiting();
  return waiting;
}

// A sender that ran out of patience sends again: that is the same event, which may still wait.
bool HttpSource::join(const std::vector<std::string>& ids, const net::Responder& respond) {
  std::erase_if(replies_, [](const auto& entry) { return entry.second.expired(); });
  for (const auto& [known, reply] : replies_)
    for (const std::string& id : ids) {
      if (std::ranges::find(known, id) == known.end()) continue;
      const auto open = reply.lock();
      if (!open || open->settled()) continue;
      if (open->waiting() >= kMostWaiting)
        refuse(respond, 429, "", "too many wait for this delivery");
      else
        open->add(respond);
      return true;
    }
  return false;
}

// Seen is what was handled: what was given up, or got lost, may be sent again.
void HttpSource::serve_slowly(std::string data, std::vector<std::string> ids, const net::Responder& respond) {
  auto reply = std::make_shared<HttpReply>(services_.scheduler, binding_.reply_within,
                                           [this, ids, alive = std::weak_ptr(alive_)](bool handled) {
                                             if (!handled || !alive.lock()) return;
                                             for (const std::string& id : ids)
                                               seen_.note(id, services_.scheduler.now());
                                           });
  replies_.emplace_back(std::move(ids), reply);
  const auto answer =
      std::make_shared<const std::function<void(bool)>>([reply](bool handled) { reply->settle(handled); });
  reply->add(respond);
  if (!emit(std::move(data), nullptr, answer)) reply->settle(true);  // `when`: not of interest
}

// ---- is it who it should be? ----------------------------------------------------------------------------------

std::string HttpSource::credential_header() const {
  if (!binding_.header.empty()) return binding_.header;
  return binding_.check == Checked::kHmac ? "x-hub-signature-256" : "authorization";
}

HttpSource::Check HttpSource::check(const net::ServerRequest& request) const {
  if (binding_.check == Checked::kNone) return Check::kGood;
  const auto secret = secret_.get();
  if (!secret) return Check::kNoSecret;
  const std::string_view sent = kube::trim(request.header(credential_header()));
  if (sent.empty()) return Check::kWrong;
  if (binding_.check == Checked::kBearer) {
    // Both hashed, so that not even the length of the secret shows.
    const std::string_view token = binding_.header.empty() && sent.size() > 7 && lower(sent.substr(0, 7)) == "bearer "
                                       ? kube::trim(sent.substr(7))
                                   : binding_.header.empty() ? std::string_view()
                                                             : sent;
    const bool same = net::equal_secrets(net::hmac_sha256_hex("hookd", token), net::hmac_sha256_hex("hookd", *secret));
    return same && !token.empty() ? Check::kGood : Check::kWrong;
  }
  net::HmacSha256 mac(*secret);
  if (!binding_.timestamp_header.empty()) {
    const std::string_view time = kube::trim(request.header(binding_.timestamp_header));
    if (time.empty()) return Check::kWrong;
    mac.update(time);
    mac.update(".");
  }
  mac.update(request.body);
  return net::equal_secrets(mac.hex(), lower(without_prefix(sent, "sha256="))) ? Check::kGood : Check::kWrong;
}

// The signature is what cannot be made up: it is always looked at. X-GitHub-Delivery is not signed, and only tells
// apart what bears no signature.
std::vector<std::string> HttpSource::delivery_ids(const net::ServerRequest& request) const {
  std::vector<std::string> ids;
  if (binding_.replay_window <= Duration::zero()) return ids;
  if (binding_.check == Checked::kHmac)
    ids.push_back("signature " + lower(without_prefix(kube::trim(request.header(credential_header())), "sha256=")));
  if (const auto delivery = kube::trim(request.header("x-github-delivery")); !delivery.empty())
    ids.push_back("delivery " + std::string(delivery.substr(0, kMaxIdBytes)));
  return ids;
}

// Seconds since 1970, as Stripe, Slack and "Standard Webhooks" send them.
bool HttpSource::too_old(const net::ServerRequest& request) const {
  if (binding_.timestamp_header.empty()) return false;
  const std::string_view text = kube::trim(request.header(binding_.timestamp_header));
  int64_t seconds = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size() || seconds < 0 || seconds > 9'000'000'000)
    return true;
  const Duration away = services_.scheduler.wall_now() - WallTime(std::chrono::seconds(seconds));
  return away > binding_.replay_window || -away > binding_.replay_window;
}

// ---- what the hook is told ------------------------------------------------------------------------------------

std::string HttpSource::data_of(const net::ServerRequest& request, std::string body) const {
  const std::string credential = credential_header();
  std::map<std::string, std::string> headers;
  for (const auto& [name, value] : request.headers) {
    if (name == credential || std::ranges::find(kHidden, name) != std::end(kHidden)) continue;
    auto [it, fresh] = headers.emplace(name, value);
    if (!fresh) it->second += ", " + value;
  }
  JsonWriter out;
  out.begin_object();
  out.key("method").string(request.method);
  out.key("path").string(request.path);
  out.key("query").string(request.query);
  out.key("headers").begin_object();
  for (const auto& [name, value] : headers) out.key(name).string(value);
  out.end_object();
  out.key("body").raw(body);
  out.end_object();
  return std::move(out).take();
}

}  // namespace hookd::trigger
