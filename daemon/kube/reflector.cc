#include "kube/reflector.h"

#include "base/json_read.h"
#include "base/log.h"
#include "base/time.h"
#include "kube/status.h"

namespace hookd::kube {
namespace {

constexpr std::string_view kListMetadata =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
constexpr std::string_view kWatchMetadata =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

ApiRequest collection_request(const Reflector::Options& options, bool watch) {
  ApiRequest request;
  request.path = options.type.collection_path(options.ns);
  request.retry = false;  // the reflector's own back-off decides
  request.pool = net::Pool::kWatch;
  if (options.metadata_only) request.accept = watch ? kWatchMetadata : kListMetadata;
  if (!options.label_selector.empty()) request.query.emplace_back("labelSelector", options.label_selector);
  if (!options.field_selector.empty()) request.query.emplace_back("fieldSelector", options.field_selector);
  return request;
}

Duration retry_after(const Error& error) {
  return error.retry_after ? std::min(Duration(*error.retry_after), Reflector::kMaxRetryAfter) : Duration::zero();
}

}  // namespace

Reflector::Reflector(Api& api, Scheduler& scheduler, Random& random, cache::ObjectStore& store, Options options,
                     std::function<void()> on_change)
    : api_(api),
      scheduler_(scheduler),
      random_(random),
      store_(store),
      options_(std::move(options)),
      on_change_(std::move(on_change)),
      backoff_(Backoff::Options{}, random) {}

void Reflector::start() { list(); }

// ---------------------------------------------------------------- list

void Reflector::list() {
  health_.state = State::kListing;
  ++health_.lists;
  // First list: the most recent state, since what is read is acted upon (R7). Later: anything not older than what we
  // had, in one piece, so that the server's watch cache can answer (R5).
  list_version_ = version_unavailable_ ? "" : last_version_;
  paged_ = list_version_.empty();
  continue_.clear();
  page_ = 0;
  store_.begin_replace();
  fetch_page();
}

void Reflector::fetch_page() {
  ++page_;
  ApiRequest request = collection_request(options_, false);
  if (paged_) request.query.emplace_back("limit", std::to_string(options_.page_size));
  if (!continue_.empty())
    request.query.emplace_back("continue", continue_);
  else if (!list_version_.empty())
    request.query.emplace_back("resourceVersion", list_version_);
  request.total_timeout = Duration::zero();  // a list may take minutes (R14)
  request.idle_timeout = std::chrono::seconds(90);
  request.accept_gzip = true;
  request.fresh_connection = std::exchange(fresh_connection_, false);
  read_error_.reset();
  list_reader_ = std::make_unique<ListReader>(
      [this](std::string item) -> Result<void> {
        HOOKD_TRY(auto object, cache::read_object(std::move(item), options_.type.api_version(), options_.type.kind));
        store_.stage(std::move(object));
        return {};
      },
      options_.max_object_bytes);
  StreamHandlers handlers;
  handlers.on_data = [this](std::string_view bytes) {
    health_.last_byte_at = scheduler_.now();
    if (auto read = list_reader_->feed(bytes); !read) {
      read_error_ = read.error();
      return false;
    }
    return true;
  };
  handlers.on_done = [this](Result<void> result) { page_done(std::move(result)); };
  call_ = api_.stream(std::move(request), std::move(handlers));
}

void Reflector::page_done(Result<void> result) {
  if (read_error_) result = Failure(*read_error_);
  if (result) result = list_reader_->finish();
  if (result) {
    continue_ = list_reader_->continue_token();
    if (!continue_.empty()) return fetch_page();
    last_version_ = list_reader_->resource_version();
    version_unavailable_ = false;
    internal_errors_since_.reset();
    list_reader_.reset();
    health_.listed = true;
    health_.error.reset();
    store_.finish_replace();
    watch();
    return tell();
  }
  const Error error = result.error().with(fmt::format("list {}", options_.type.display()));
  if (error.code == Errc::kTimeout) fresh_connection_ = true;
  const bool lost_version = error.code == Errc::kGone || is_resource_version_too_large(error);
  if (lost_version && page_ > 1 && paged_) {  // the token is too old: everything once more in one piece (R9)
    paged_ = false;
    continue_.clear();
    page_ = 0;
    store_.begin_replace();
    return fetch_page();
  }
  store_.abandon_replace();
  list_reader_.reset();
  if (lost_version && !list_version_.empty()) {
    version_unavailable_ = true;
    return list();
  }
  wait_then(Next::kList, error, retry_after(error));
}

// ---------------------------------------------------------------- watch

void Reflector::watch() {
  if (reconnects_.take(scheduler_.now())) return start_watch();
  timer_ = scheduler_.after(reconnects_.wait(scheduler_.now()), [this] { watch(); });
}

void Reflector::start_watch() {
  health_.state = State::kWatching;
  ++health_.watches;
  const int timeout_seconds = 300 + static_cast<int>(random_.uniform() * 301);
  ApiRequest request = collection_request(options_, true);
  request.query.emplace_back("watch", "true");
  request.query.emplace_back("allowWatchBookmarks", "true");
  request.query.emplace_back("resourceVersion", last_version_);
  request.query.emplace_back("timeoutSeconds", std::to_string(timeout_seconds));
  // The server promises to end the watch, and a dead connection may never tell: both are bounded here (R52, R53).
  request.total_timeout = std::chrono::seconds(timeout_seconds + 30);
  if (bookmarks_seen_) request.idle_timeout = kBookmarkSilence;
  request.fresh_connection = std::exchange(fresh_connection_, false);
  event_error_.reset();
  read_error_.reset();
  connected_ = false;
  watch_started_ = scheduler_.now();
  watch_reader_ = std::make_unique<WatchReader>([this](WatchEvent event) { return on_event(std::move(event)); },
                                                options_.max_object_bytes);
  StreamHandlers handlers;
  handlers.on_head = [this](const net::HttpHead&) { watch_connected(); };
  handlers.on_data = [this](std::string_view bytes) {
    health_.last_byte_at = scheduler_.now();
    if (auto read = watch_reader_->feed(bytes); !read) {
      if (!event_error_) read_error_ = read.error();
      return false;
    }
    return true;
  };
  handlers.on_done = [this](Result<void> result) { watch_done(std::move(result)); };
  guard_ = scheduler_.after(kHeadTimeout, [this] { watch_silent("no answer"); });
  call_ = api_.stream(std::move(request), std::move(handlers));
}

void Reflector::watch_connected() {
  connected_ = true;
  health_.last_byte_at = scheduler_.now();
  guard_.cancel();
  // An error may still be the first thing that comes through this stream (R27): it counts as working a little later.
  if (health_.error)
    timer_ = scheduler_.after(kShortWatch, [this] {
      health_.error.reset();
      log::info("watch is back", {{"resource", options_.type.display()}, {"namespace", options_.ns}});
      tell();
    });
}

// The stream under way was begun before it was known that this server sends bookmarks.
void Reflector::guard_silence() {
  guard_ = scheduler_.at(health_.last_byte_at + kBookmarkSilence, [this] {
    if (scheduler_.now() < health_.last_byte_at + kBookmarkSilence) return guard_silence();
    watch_silent("no byte, not even a bookmark,");
  });
}

void Reflector::watch_silent(std::string_view what) {
  call_.reset();
  const Duration since = scheduler_.now() - (connected_ ? health_.last_byte_at : watch_started_);
  watch_done(fail(Errc::kTimeout, "{} for {}", what, format_duration(since)));
}

Result<void> Reflector::on_event(WatchEvent event) {
  if (event.type == WatchEvent::Type::kError) {
    event_error_ = error_from_status(event.object, "GET");
    return Failure(*event_error_);
  }
  if (event.type == WatchEvent::Type::kBookmark) {
    const auto version = json_string_at(event.object, {"metadata", "resourceVersion"});
    if (version && !version->empty()) last_version_ = *version;
    if (!std::exchange(bookmarks_seen_, true)) guard_silence();
    ++health_.bookmarks;
    internal_errors_since_.reset();
    gone_before_ = false;
    return {};
  }
  HOOKD_TRY(auto object, cache::read_object(std::move(event.object), options_.type.api_version(), options_.type.kind));
  // R23: what is of another kind is not ours, and its version is not either.
  if (!object.kind.empty() && object.kind != options_.type.kind && object.kind != "PartialObjectMetadata") {
    if (!std::exchange(wrong_kind_told_, true))
      log::warn("the watch brings objects of another kind, they are skipped",
                {{"resource", options_.type.display()}, {"kind", object.kind}});
    return {};
  }
  std::string version = object.resource_version;
  ++health_.events;
  if (event.type == WatchEvent::Type::kDeleted)
    store_.remove(std::move(object));
  else
    store_.upsert(std::move(object));
  if (!version.empty()) last_version_ = std::move(version);  // after the event was taken (R24)
  internal_errors_since_.reset();
  gone_before_ = false;
  return {};
}

void Reflector::watch_done(Result<void> result) {
  const SteadyTime now = scheduler_.now();
  guard_.cancel();
  timer_.cancel();
  const size_t events = watch_reader_->events();
  const bool lasted = connected_ && (now - watch_started_ >= kShortWatch || (events > 0 && !event_error_));
  if (event_error_) result = Failure(*event_error_);
  if (read_error_) result = Failure(*read_error_);
  if (!result && result.error().code == Errc::kTimeout) fresh_connection_ = true;

  const bool no_answer = !result && result.error().http_status == 0 &&
                         (result.error().code == Errc::kTransport || result.error().code == Errc::kTimeout ||
                          result.error().code == Errc::kTls);
  const bool disconnected = !read_error_ && !event_error_ && (result || no_answer);
  if (disconnected && lasted) {
    const bool was_failing = health_.error.has_value();
    health_.error.reset();
    watch();
    if (was_failing) tell();
    return;
  }
  const Error error =
      (result ? Error{Errc::kTransport, "it ended at once and without an event", 0, {}, {}} : result.error())
          .with(fmt::format("watch {}", options_.type.display()));
  // Never connected: the version stays good.
  if (disconnected) return wait_then(connected_ ? Next::kList : Next::kWatch, error);

  const bool too_large = is_resource_version_too_large(error);
  if (too_large || error.code == Errc::kGone) {
    if (too_large) version_unavailable_ = true;
    if (std::exchange(gone_before_, true)) return wait_then(Next::kList, error);
    log::info("the watch's version cannot be served, listing again",
              {{"resource", options_.type.display()}, {"error", error.what}});
    return list();
  }
  if (error.code == Errc::kThrottled) return wait_then(Next::kWatch, error, retry_after(error));
  if (error.reason == "StorageReadError")
    return wait_then(Next::kList, error, retry_after(error));  // R28: a deletion was lost
  if (error.http_status >= 500 && error.retry_after) return wait_then(Next::kWatch, error, retry_after(error));
  if (event_error_ && error.reason == "InternalError") {
    if (!internal_errors_since_) internal_errors_since_ = now;
    if (now - *internal_errors_since_ < kInternalErrorRetry) return wait_then(Next::kWatch, error);
  }
  wait_then(Next::kList, error, retry_after(error));
}

// ---------------------------------------------------------------- waiting

Duration Reflector::next_delay(Duration at_least) {
  const SteadyTime now = scheduler_.now();
  if (backoff_.failures() > 0 && now - resumes_at_ > kQuietReset) backoff_.reset();
  const Duration delay = std::max(at_least, backoff_.next());
  resumes_at_ = now + delay;
  return delay;
}

void Reflector::wait_then(Next next, const Error& why, Duration at_least) {
  const Duration delay = next_delay(at_least);
  health_.state = State::kWaiting;
  health_.error = why;
  log::warn(next == Next::kList ? "list and watch failed, will list again" : "watch failed, will watch again",
            {{"resource", options_.type.display()},
             {"namespace", options_.ns},
             {"error", why.what},
             {"in", format_duration(delay)}});
  timer_ = scheduler_.after(delay, [this, next] {
    if (next == Next::kList)
      list();
    else
      start_watch();
  });
  tell();
}

// Always the last thing that is done: it may destroy this reflector.
void Reflector::tell() {
  const auto on_change = on_change_;
  if (on_change) on_change();
}

}  // namespace hookd::kube
