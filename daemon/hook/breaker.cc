#include "hook/breaker.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/time.h"

namespace hookd::hook {

namespace {

constexpr char kOpenGauge[] = "hookd_breaker_open";

Duration in_seconds(Duration duration) { return std::chrono::ceil<std::chrono::seconds>(duration); }

}  // namespace

Breaker::Pass::Pass(Pass&& other) noexcept : breaker_(std::exchange(other.breaker_, {})), probe_(other.probe_) {}

Breaker::Pass::~Pass() { left(Outcome::kUnknown); }

void Breaker::Pass::left(Outcome outcome, std::string_view why, Duration at_least) {
  if (const auto breaker = std::exchange(breaker_, {}).lock()) breaker->left(probe_, outcome, why, at_least);
}

Breaker::Waiting& Breaker::Waiting::operator=(Waiting&& other) noexcept {
  std::swap(breaker_, other.breaker_);
  std::swap(id_, other.id_);
  return *this;
}

Breaker::Waiting::~Waiting() {
  if (const auto breaker = breaker_.lock())
    breaker->waiting_.remove_if([this](const auto& entry) { return entry.first == id_; });
}

Breaker::Gauge::Gauge(std::string endpoint, metrics::Registry& metrics)
    : endpoint_(std::move(endpoint)), metrics_(metrics) {
  add(0);
}

Breaker::Gauge::~Gauge() { metrics_.remove(kOpenGauge, {{"endpoint", endpoint_}}); }

void Breaker::Gauge::add(int open) {
  open_ += open;
  metrics_.set(kOpenGauge, {{"endpoint", endpoint_}}, open_ > 0);
}

std::shared_ptr<Breaker> Breaker::make(std::shared_ptr<Gauge> gauge, Scheduler& scheduler, Random& random) {
  std::shared_ptr<Breaker> breaker(new Breaker(std::move(gauge), scheduler, random));
  breaker->self_ = breaker;
  return breaker;
}

Breaker::Breaker(std::shared_ptr<Gauge> gauge, Scheduler& scheduler, Random& random)
    : gauge_(std::move(gauge)),
      scheduler_(scheduler),
      random_(random),
      backoff_({kFirstProbe, kSlowestProbe, 2.0, 0.2}, random) {}

Breaker::~Breaker() {
  if (state_ == State::kOpen) gauge_->add(-1);
}

bool Breaker::ready() const {
  if (state_ == State::kClosed) return true;
  return !probing_ && scheduler_.now() >= next_;
}

Duration Breaker::wait() const {
  if (ready()) return Duration::zero();
  // How long a probe takes is not known; a second later is soon enough to look again.
  return probing_ ? Duration(std::chrono::seconds(1)) : next_ - scheduler_.now();
}

std::optional<Breaker::Pass> Breaker::enter() {
  if (!ready()) return std::nullopt;
  if (state_ == State::kOpen) probing_ = true;
  if (state_ == State::kRecovering) {
    if (scheduler_.now() - recovered_ >= kRecovery) {
      state_ = State::kClosed;
    } else {
      next_ = scheduler_.now() + std::chrono::duration_cast<Duration>(2 * random_.uniform() * kMeanGap);
      wake_at(next_);
    }
  }
  return Pass(self_, probing_);
}

void Breaker::left(bool probe, Outcome outcome, std::string_view why, Duration at_least) {
  if (probe) probing_ = false;
  switch (outcome) {
    case Outcome::kUnknown:
      if (probe && state_ == State::kOpen) wake_at(scheduler_.now());  // the next one may try
      return;
    case Outcome::kAnswered:
      failures_ = 0;
      if (state_ == State::kOpen) recover();
      return;
    case Outcome::kFailed:
      ++failures_;
      why_ = why;
      // Of calls that were under way when it opened only the probe says anything new.
      if (state_ == State::kOpen ? probe : state_ == State::kRecovering || failures_ >= kFailuresToOpen) open(at_least);
      return;
  }
}

void Breaker::open(Duration at_least) {
  const bool fresh = state_ != State::kOpen;
  const Duration delay = std::max(backoff_.next(), at_least);
  state_ = State::kOpen;
  if (fresh) {
    log::error("the endpoint of hooks does not work, their calls wait",
               {{"endpoint", gauge_->endpoint()},
                {"failures", failures_},
                {"error", why_},
                {"nextProbe", format_duration(in_seconds(delay))}});
    gauge_->add(1);
  }
  next_ = scheduler_.now() + delay;
  wake_at(next_);
}

void Breaker::recover() {
  state_ = State::kRecovering;
  probing_ = false;  // if another call brought the news
  backoff_.reset();
  recovered_ = next_ = scheduler_.now();
  gauge_->add(-1);
  log::info("the endpoint of hooks works again", {{"endpoint", gauge_->endpoint()}});
  wake_at(next_);
}

void Breaker::wake_at(SteadyTime due) {
  timer_ = scheduler_.at(due, [this] { wake(); });
}

void Breaker::wake() {
  const auto self = self_.lock();
  // Each in its turn is asked first, or one hook with much to do would leave nothing for the others.
  if (!waiting_.empty()) waiting_.splice(waiting_.end(), waiting_, waiting_.begin());
  std::vector<uint64_t> ids;
  for (const auto& [id, look] : waiting_) ids.push_back(id);
  for (const uint64_t id : ids) {
    if (!ready()) break;
    const auto it = std::ranges::find(waiting_, id, [](const auto& entry) { return entry.first; });
    if (it == waiting_.end()) continue;
    const auto look = it->second;  // it may leave the list
    look();
  }
}

Breaker::Waiting Breaker::listen(std::function<void()> look) {
  Waiting waiting;
  waiting.breaker_ = self_;
  waiting.id_ = ++last_id_;
  waiting_.emplace_back(waiting.id_, std::move(look));
  return waiting;
}

std::optional<std::string> Breaker::trouble() const {
  if (state_ != State::kOpen) return std::nullopt;
  const Duration left = std::max(next_ - scheduler_.now(), Duration::zero());
  const std::string next = probing_                  ? "probing it now"
                           : left > Duration::zero() ? "next probe in " + format_duration(in_seconds(left))
                                                     : "the next call is the probe";
  return fmt::format("{}: {} failures in a row ({}), {}", gauge_->endpoint(), failures_, why_, next);
}

std::shared_ptr<Breaker> Breakers::of(const std::string& endpoint, const std::string& way) {
  std::erase_if(all_, [](const auto& entry) { return entry.second.expired(); });
  auto& known = all_[endpoint + "\n" + way];
  auto breaker = known.lock();
  if (breaker) return breaker;
  std::erase_if(gauges_, [](const auto& entry) { return entry.second.expired(); });
  auto gauge = gauges_[endpoint].lock();
  if (!gauge) gauges_[endpoint] = gauge = std::make_shared<Breaker::Gauge>(endpoint, metrics_);
  known = breaker = Breaker::make(std::move(gauge), scheduler_, random_);
  return breaker;
}

}  // namespace hookd::hook
