// Sends core/v1 Events in the background: never waits, never fails its caller. Thread: loop only.
// Source: k8s-client.md E1, E2, E3, E5 (client-go tools/record: EventCorrelator, recordToSink).
//
//   record() -> queue (at most 1000, full = dropped and counted)
//            -> spam filter (per object: 25 at once, then one per 300 s; per hook: 300 at once, then one a second)
//            -> aggregation (10 different messages in 10 min become one "combined" Event)
//            -> the same Event as before: PATCH of count; else, or when that is gone: POST
//            -> transport error: again, 12 tries, 10 s apart; a refusal: logged, dropped
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "base/scheduler.h"
#include "kube/client.h"

namespace hookd::apply {

struct EventNote {
  // The object that it is about.
  std::string api_version{}, kind{}, ns{}, name{};
  std::string uid{};       // "" = not known
  std::string uid_path{};  // without uid: where to read the object for it, "" = nowhere
  std::string reason{}, message{};
  std::string type = "Normal";  // or "Warning"
  std::string hook{};           // becomes reportingInstance
};

class EventRecorder {
 public:
  EventRecorder(kube::Api& api, Scheduler& scheduler, Random& random)
      : api_(api), scheduler_(scheduler), random_(random) {}
  ~EventRecorder();

  void record(EventNote note);

  size_t waiting() const { return queue_.size(); }
  uint64_t dropped() const { return dropped_; }  // queue full, spam, or refused by the server

  static constexpr size_t kQueue = 1000;
  static constexpr size_t kRemembered = 4096;
  static constexpr int kTries = 12;
  static constexpr Duration kBetweenTries = std::chrono::seconds(10);
  static constexpr double kBurst = 25;
  static constexpr Duration kRefill = std::chrono::seconds(300);
  static constexpr double kHookBurst = 300;  // a hook in a loop over many objects must not flood etcd
  static constexpr Duration kHookRefill = std::chrono::seconds(1);
  static constexpr size_t kSimilar = 10;
  static constexpr Duration kSimilarWindow = std::chrono::minutes(10);

 private:
  struct Pending {
    EventNote note;
    WallTime at{};
    int tries = 0;
    bool uid_asked = false;
    bool combined = false;
  };
  struct Sent {  // an Event that the server has
    std::string name;
    int64_t count = 0;
    WallTime first{};
  };
  struct Bucket {
    double tokens = 0;
    SteadyTime filled{};
  };
  struct Similar {
    std::set<std::string> messages;
    SteadyTime last{};
  };
  // At most kRemembered entries; the one not used for longest goes.
  template <class T>
  class Recent {
   public:
    T& get(const std::string& key, bool& fresh);
    T* find(const std::string& key);
    void erase(const std::string& key);

   private:
    std::list<std::pair<std::string, T>> order_;
    std::unordered_map<std::string, typename std::list<std::pair<std::string, T>>::iterator> index_;
  };

  bool spam(const EventNote& note);
  // Is there none left? `key` is of an object or a hook.
  bool take_token(const std::string& key, double burst, Duration refill);
  void combine(Pending& pending);
  void pump();
  void ask_uid(Pending& pending);
  void send(Pending& pending);
  void answered(Result<kube::ApiResponse> result, bool was_patch);
  void next();
  std::string event_name(const EventNote& note);

  kube::Api& api_;
  Scheduler& scheduler_;
  Random& random_;
  std::deque<Pending> queue_;
  bool busy_ = false;
  Recent<Bucket> buckets_;
  Recent<Similar> similar_;
  Recent<Sent> sent_;
  std::string sending_key_, sending_name_;
  std::unique_ptr<kube::ApiCall> call_;
  Timer timer_;
  uint64_t dropped_ = 0;
  int64_t last_stamp_ = 0;
};

}  // namespace hookd::apply
