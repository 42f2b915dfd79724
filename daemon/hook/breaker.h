// Whether an endpoint that hooks POST to may be called now. One for each URL (without query) and TLS settings, shared
// by all hooks of the daemon that call it so. Thread: loop only.
//
//   closed      calls go. kFailuresToOpen failures in a row, of whichever calls                         -> open
//   open        none goes until the back-off is over, then one alone: the probe. It failed              -> open, longer
//               it, or a call that was still under way, was answered                                    -> recovering
//   recovering  calls go one after another with gaps of random length, so that what waited does not come all at once.
//               kRecovery is over -> closed                                               one failure   -> open
//
// While calls may not go they are not started at all: they hold no slot, count no attempt, keep their order, and their
// snapshots are gathered when they go.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/backoff.h"
#include "base/random.h"
#include "base/scheduler.h"
#include "metrics/registry.h"

namespace hookd::hook {

class Breaker {
 public:
  enum class Outcome {
    kAnswered,  // the endpoint works, whatever it thinks of the call
    kFailed,    // no connection, no whole answer, or a 5xx
    kUnknown,   // it was not reached for reasons of our own
  };
  // A call under way. Dropping it without left() is left(kUnknown).
  class Pass {
   public:
    Pass(Pass&& other) noexcept;
    Pass& operator=(Pass&&) = delete;
    ~Pass();
    // `why`: a few words for people: "connection refused". `at_least`: the endpoint asked to be left alone so long.
    void left(Outcome outcome, std::string_view why = {}, Duration at_least = {});
    bool probe() const { return probe_; }

   private:
    friend class Breaker;
    Pass(std::weak_ptr<Breaker> breaker, bool probe) : breaker_(std::move(breaker)), probe_(probe) {}
    std::weak_ptr<Breaker> breaker_;
    bool probe_ = false;
  };
  // Whoever waits for the endpoint; called in turns of the loop whenever a call may go.
  class Waiting {
   public:
    Waiting() = default;
    Waiting(Waiting&& other) noexcept { *this = std::move(other); }
    Waiting& operator=(Waiting&& other) noexcept;
    ~Waiting();

   private:
    friend class Breaker;
    std::weak_ptr<Breaker> breaker_;
    uint64_t id_ = 0;
  };

  // hookd_breaker_open of one endpoint, by whichever ways it is called.
  class Gauge {
   public:
    Gauge(std::string endpoint, metrics::Registry& metrics);
    ~Gauge();
    Gauge(const Gauge&) = delete;
    Gauge& operator=(const Gauge&) = delete;
    void add(int open);
    const std::string& endpoint() const { return endpoint_; }

   private:
    const std::string endpoint_;
    metrics::Registry& metrics_;
    int open_ = 0;
  };

  static std::shared_ptr<Breaker> make(std::shared_ptr<Gauge> gauge, Scheduler& scheduler, Random& random);
  static std::shared_ptr<Breaker> make(std::string endpoint, Scheduler& scheduler, Random& random,
                                       metrics::Registry& metrics) {
    return make(std::make_shared<Gauge>(std::move(endpoint), metrics), scheduler, random);
  }
  ~Breaker();
  Breaker(const Breaker&) = delete;
  Breaker& operator=(const Breaker&) = delete;

  bool ready() const;           // may a call go now?
  std::optional<Pass> enter();  // nullopt = not now
  Duration wait() const;        // until it is worth asking again; 0 with ready()
  Waiting listen(std::function<void()> look);

  // "https://x:443: 5 failures in a row (connection refused), next probe in 20s"; nullopt unless it is open.
  std::optional<std::string> trouble() const;

  static constexpr int kFailuresToOpen = 5;
  static constexpr Duration kFirstProbe = std::chrono::seconds(5);
  static constexpr Duration kSlowestProbe = std::chrono::minutes(1);
  static constexpr Duration kRecovery = std::chrono::seconds(10);
  static constexpr Duration kMeanGap = std::chrono::milliseconds(50);  // between two calls while recovering

 private:
  enum class State { kClosed, kOpen, kRecovering };
  Breaker(std::shared_ptr<Gauge> gauge, Scheduler& scheduler, Random& random);
  void left(bool probe, Outcome outcome, std::string_view why, Duration at_least);
  void open(Duration at_least);
  void recover();
  void wake_at(SteadyTime due);
  void wake();

  const std::shared_ptr<Gauge> gauge_;
  Scheduler& scheduler_;
  Random& random_;
  State state_ = State::kClosed;
  int failures_ = 0;  // in a row
  std::string why_;   // of the last failure
  Backoff backoff_;
  bool probing_ = false;
  SteadyTime next_{};  // of the next probe, or of the next call while recovering
  SteadyTime recovered_{};
  Timer timer_;
  std::list<std::pair<uint64_t, std::function<void()>>> waiting_;
  uint64_t last_id_ = 0;
  std::weak_ptr<Breaker> self_;
};

// All breakers of a daemon, each as long as somebody uses it. A changed hook takes its own from the version before,
// which goes after it, and so begins with what is known.
class Breakers {
 public:
  Breakers(Scheduler& scheduler, Random& random, metrics::Registry& metrics)
      : scheduler_(scheduler), random_(random), metrics_(metrics) {}
  // `endpoint`: endpoint_of() in url_caller.h. `way`: what decides whether it can be reached, such as TLS settings: a
  // mistake there must not shut out those who have none.
  std::shared_ptr<Breaker> of(const std::string& endpoint, const std::string& way);

 private:
  Scheduler& scheduler_;
  Random& random_;
  metrics::Registry& metrics_;
  std::map<std::string, std::weak_ptr<Breaker>> all_;
  std::map<std::string, std::weak_ptr<Breaker::Gauge>> gauges_;  // by endpoint
};

}  // namespace hookd::hook
