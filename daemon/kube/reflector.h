// Keeps an ObjectStore equal to one collection on the server: list, then watch from the list's version, for ever.
// The only place that knows resource versions. Thread: loop only.
// Source: k8s-client.md section 1 (client-go's Reflector, and where we differ: section 9).
//
//   state      leaves it when                              goes to
//   kListing   the last page is read                       kWatching (store replaced, version = the list's)
//              410 or "too large version", with a version  kListing, most recent, at once (R10)
//              410 on a later page                         kListing, in one piece (R9)
//              any other failure                           kWaiting, then kListing
//   kWatching  ended after >= 1 s or >= 1 event            kWatching from the last version, rate-limited (R33)
//              ended sooner, undecodable, 401/403/404/5xx  kWaiting, then kListing
//              410 Gone, "too large version"               kListing (the first time at once; R10: then the most recent)
//              429, 5xx with Retry-After, not reachable    kWaiting, then kWatching: nothing is lost, no relist
//              500 InternalError event                     kWaiting, then kWatching, for 30 s; then kListing
//   kWaiting   the delay is over                           whatever it waited for
//
// A failed list never empties the store: only a complete one replaces it (R14, R47).
// The streaming list (WatchList, R15-R19) would enter as a fourth state before kListing: list() would try it first
// where the server has it, stage what comes until the end bookmark, and go on watching on the same stream.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/backoff.h"
#include "base/random.h"
#include "base/scheduler.h"
#include "base/token_bucket.h"
#include "cache/object_store.h"
#include "kube/client.h"
#include "kube/list_reader.h"
#include "kube/resource_type.h"
#include "kube/watch_reader.h"

namespace hookd::kube {

class Reflector {
 public:
  struct Options {
    ResourceType type;
    std::string ns;  // "" = all namespaces
    std::string label_selector;
    std::string field_selector;
    bool metadata_only = false;
    int page_size = 500;                  // objects a list page
    size_t max_object_bytes = 32u << 20;  // R22
  };
  enum class State { kListing, kWatching, kWaiting };
  struct Health {
    State state = State::kListing;
    bool listed = false;         // a complete list was read
    std::optional<Error> error;  // why it is not watching now; unset while all is well
    SteadyTime last_byte_at{};
    uint64_t lists = 0, watches = 0, events = 0, bookmarks = 0;
  };

  // `on_change` is called when Health::listed or Health::error changed; it may destroy the reflector. All references
  // must outlive the reflector.
  Reflector(Api& api, Scheduler& scheduler, Random& random, cache::ObjectStore& store, Options options,
            std::function<void()> on_change);
  void start();
  const Health& health() const { return health_; }
  const Options& options() const { return options_; }
  const std::string& resource_version() const { return last_version_; }

  static constexpr Duration kShortWatch = std::chrono::seconds(1);
  static constexpr Duration kQuietReset = std::chrono::minutes(2);         // R32
  static constexpr Duration kBookmarkSilence = std::chrono::seconds(165);  // R52
  static constexpr Duration kInternalErrorRetry = std::chrono::seconds(30);
  static constexpr Duration kHeadTimeout = std::chrono::seconds(90);   // from a watch request to its answer's head
  static constexpr Duration kMaxRetryAfter = std::chrono::minutes(5);  // a longer one is a mistake on the way

 private:
  enum class Next { kList, kWatch };
  void list();
  void fetch_page();
  void page_done(Result<void> result);
  void watch();
  void start_watch();
  void watch_connected();
  void guard_silence();
  void watch_silent(std::string_view what);
  Result<void> on_event(WatchEvent event);
  void watch_done(Result<void> result);
  void wait_then(Next next, const Error& why, Duration at_least = Duration::zero());
  void tell();
  Duration next_delay(Duration at_least);

  Api& api_;
  Scheduler& scheduler_;
  Random& random_;
  cache::ObjectStore& store_;
  Options options_;
  std::function<void()> on_change_;
  Health health_;
  Backoff backoff_;
  SteadyTime resumes_at_{};  // when the last wait ended or will end

  std::unique_ptr<ApiCall> call_;
  Timer timer_;
  Timer guard_;                    // over a watch that says nothing
  bool fresh_connection_ = false;  // the last one stopped answering (R52)

  std::string last_version_;
  bool version_unavailable_ = false;  // the last version cannot be served: list the most recent (R10)

  // The list under way.
  std::unique_ptr<ListReader> list_reader_;
  std::optional<Error> read_error_;  // why our own reader stopped the transfer
  std::string list_version_;         // asked for, "" = most recent
  std::string continue_;
  bool paged_ = true;
  int page_ = 0;

  // The watch under way.
  std::unique_ptr<WatchReader> watch_reader_;
  std::optional<Error> event_error_;  // an ERROR event
  bool connected_ = false;
  SteadyTime watch_started_{};
  bool bookmarks_seen_ = false;
  std::optional<SteadyTime> internal_errors_since_;
  bool gone_before_ = false;  // the last relist was already for a 410
  bool wrong_kind_told_ = false;
  TokenBucket reconnects_{1, 3};  // R33
};

}  // namespace hookd::kube
