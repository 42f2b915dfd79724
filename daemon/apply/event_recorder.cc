#include "apply/event_recorder.h"

#include <algorithm>

#include "base/json_read.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/time.h"

namespace hookd::apply {
namespace {

constexpr size_t kMessageBytes = 1024;  // ValidateEvent (core/v1 Event)
constexpr uint64_t kSaidEvery = 100;    // dropped Events, in the log
constexpr std::string_view kCombined = "(combined from similar events): ";

std::string cut(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return std::string(text.substr(0, bytes));
}

std::string cut_message(std::string_view text) {
  constexpr std::string_view kMore = "…";
  return text.size() <= kMessageBytes ? std::string(text) : cut(text, kMessageBytes - kMore.size()).append(kMore);
}

std::string key_of(std::initializer_list<std::string_view> parts) {
  std::string key;
  for (const auto part : parts) key.append(part).push_back('\0');
  return key;
}
std::string object_key(const EventNote& note) {
  return key_of({note.hook, note.api_version, note.kind, note.ns, note.name, note.uid});
}
std::string similar_key(const EventNote& note) { return object_key(note) + key_of({note.type, note.reason}); }
std::string same_key(const EventNote& note, bool combined) {
  return similar_key(note) + (combined ? std::string("\1") : note.message);
}

bool is_dns_subdomain(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  char before = '.';
  for (const char c : name) {
    const bool alnum = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!alnum && c != '-' && c != '.') return false;
    if (c == '.' ? (before == '.' || before == '-') : (c == '-' && before == '.')) return false;
    before = c;
  }
  return before != '.' && before != '-';
}

std::string event_namespace(const EventNote& note) { return note.ns.empty() ? "default" : note.ns; }  // E2

// What never reached the server, or the server could not say; only such is tried again (E5).
bool is_transport(const Error& error) {
  return error.code == Errc::kTransport || error.code == Errc::kTimeout || error.code == Errc::kTls;
}

}  // namespace

template <class T>
T& EventRecorder::Recent<T>::get(const std::string& key, bool& fresh) {
  const auto found = index_.find(key);
  fresh = found == index_.end();
  if (!fresh) {
    order_.splice(order_.begin(), order_, found->second);
    return found->second->second;
  }
  order_.emplace_front(key, T{});
  index_[key] = order_.begin();
  if (order_.size() > kRemembered) {
    index_.erase(order_.back().first);
    order_.pop_back();
  }
  return order_.front().second;
}

template <class T>
T* EventRecorder::Recent<T>::find(const std::string& key) {
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : &found->second->second;
}

template <class T>
void EventRecorder::Recent<T>::erase(const std::string& key) {
  const auto found = index_.find(key);
  if (found == index_.end()) return;
  order_.erase(found->second);
  index_.erase(found);
}

EventRecorder::~EventRecorder() = default;

void EventRecorder::record(EventNote note) {
  note.message = cut_message(note.message);
  note.reason = cut(note.reason, 128);
  if (spam(note) || queue_.size() >= kQueue) {
    if (dropped_++ % kSaidEvery == 0)
      log::warn("Kubernetes Events dropped: too many", {{"hook", note.hook},
                                                        {"about", note.kind + " " + note.name},
                                                        {"reason", note.reason},
                                                        {"dropped", dropped_}});
    return;
  }
  Pending pending;
  pending.note = std::move(note);
  pending.at = scheduler_.wall_now();
  combine(pending);
  queue_.push_back(std::move(pending));
  if (queue_.size() == 1 && !busy_) next();
}

bool EventRecorder::spam(const EventNote& note) {
  return take_token(object_key(note) + note.type, kBurst, kRefill) ||
         take_token(key_of({"hook", note.hook}), kHookBurst, kHookRefill);
}

bool EventRecorder::take_token(const std::string& key, double burst, Duration refill) {
  bool fresh = false;
  Bucket& bucket = buckets_.get(key, fresh);
  const auto now = scheduler_.now();
  if (fresh) {
    bucket.tokens = burst;
  } else {
    const std::chrono::duration<double> since = now - bucket.filled;
    bucket.tokens = std::min(burst, bucket.tokens + since / std::chrono::duration<double>(refill));
  }
  bucket.filled = now;
  if (bucket.tokens < 1) return true;
  bucket.tokens -= 1;
  return false;
}

void EventRecorder::combine(Pending& pending) {
  bool fresh = false;
  Similar& similar = similar_.get(similar_key(pending.note), fresh);
  const auto now = scheduler_.now();
  if (!fresh && now - similar.last > kSimilarWindow) similar.messages.clear();
  similar.last = now;
  if (similar.messages.size() < kSimilar) similar.messages.insert(pending.note.message);
  if (similar.messages.size() < kSimilar) return;
  pending.combined = true;
  pending.note.message = cut_message(std::string(kCombined) + pending.note.message);
}

void EventRecorder::next() {
  timer_ = scheduler_.after(Duration{0}, [this] { pump(); });
}

void EventRecorder::pump() {
  if (busy_ || queue_.empty()) return;
  busy_ = true;
  Pending& pending = queue_.front();
  if (pending.note.uid.empty() && !pending.note.uid_path.empty() && !std::exchange(pending.uid_asked, true))
    ask_uid(pending);
  else
    send(pending);
}

void EventRecorder::ask_uid(Pending& pending) {
  kube::ApiRequest request;
  request.path = pending.note.uid_path;
  request.accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
  request.retry = false;
  call_ = api_.request(std::move(request), [this](Result<kube::ApiResponse> result) {
    if (result) queue_.front().note.uid = json_string_at(result->body, {"metadata", "uid"}).value_or("");
    busy_ = false;
    next();
  });
}

std::string EventRecorder::event_name(const EventNote& note) {
  last_stamp_ = std::max<int64_t>(last_stamp_ + 1, scheduler_.wall_now().time_since_epoch().count());
  std::string name = fmt::format("{}.{:x}", note.name, last_stamp_);
  if (is_dns_subdomain(name)) return name;
  const uint64_t a = random_.bits(), b = random_.bits();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32, (a >> 16) & 0xffff, a & 0xfff, 0x8000 | (b >> 50),
                     b & 0xffffffffffff);
}

void EventRecorder::send(Pending& pending) {
  const EventNote& note = pending.note;
  const std::string collection = fmt::format("/api/v1/namespaces/{}/events", event_namespace(note));
  sending_key_ = same_key(note, pending.combined);
  const std::string now = format_rfc3339(pending.at);
  kube::ApiRequest request;
  request.retry = false;
  const Sent* sent = sent_.find(sending_key_);
  if (sent) {
    request.method = "PATCH";
    request.path = fmt::format("{}/{}", collection, sent->name);
    request.content_type = "application/strategic-merge-patch+json";
    JsonWriter body;
    body.begin_object().key("count").number(sent->count + 1).key("lastTimestamp").string(now);
    if (pending.combined) body.key("message").string(note.message);
    request.body = std::move(body.end_object()).take();
  } else {
    sending_name_ = event_name(note);
    request.method = "POST";
    request.path = collection;
    request.content_type = "application/json";
    JsonWriter body;
    body.begin_object().key("apiVersion").string("v1").key("kind").string("Event");
    body.key("metadata")
        .begin_object()
        .key("name")
        .string(sending_name_)
        .key("namespace")
        .string(event_namespace(note))
        .end_object();
    body.key("involvedObject").begin_object().key("apiVersion").string(note.api_version).key("kind").string(note.kind);
    if (!note.ns.empty()) body.key("namespace").string(note.ns);
    body.key("name").string(note.name);
    if (!note.uid.empty()) body.key("uid").string(note.uid);
    body.end_object();
    body.key("reason").string(note.reason).key("message").string(note.message).key("type").string(note.type);
    body.key("count").number(int64_t{1}).key("firstTimestamp").string(now).key("lastTimestamp").string(now);
    body.key("source").begin_object().key("component").string("hookd").end_object();
    body.key("reportingComponent").string("hookd").key("reportingInstance").string(cut(note.hook, 128));
    request.body = std::move(body.end_object()).take();
  }
  call_ = api_.request(std::move(request), [this, patch = sent != nullptr](Result<kube::ApiResponse> result) {
    answered(std::move(result), patch);
  });
}

void EventRecorder::answered(Result<kube::ApiResponse> result, bool was_patch) {
  Pending& pending = queue_.front();
  busy_ = false;
  if (result) {
    bool fresh = false;
    Sent& sent = sent_.get(sending_key_, fresh);
    if (!was_patch) sent = {sending_name_, 0, pending.at};
    ++sent.count;
    queue_.pop_front();
    return next();
  }
  const Error& error = result.error();
  if (was_patch && error.code == Errc::kNotFound) {  // the server keeps Events for an hour only (E3)
    sent_.erase(sending_key_);
    return next();
  }
  if (is_transport(error) && ++pending.tries < kTries) {
    // The first wait is random, so that many daemons do not come back together.
    const auto wait =
        pending.tries == 1
            ? Duration(static_cast<int64_t>(random_.uniform() * static_cast<double>(kBetweenTries.count())))
            : kBetweenTries;
    timer_ = scheduler_.after(wait, [this] { pump(); });
    return;
  }
  ++dropped_;
  log::warn("Kubernetes Event not sent", {{"hook", pending.note.hook},
                                          {"about", pending.note.kind + " " + pending.note.name},
                                          {"reason", pending.note.reason},
                                          {"error", error.what}});
  queue_.pop_front();
  next();
}

}  // namespace hookd::apply
