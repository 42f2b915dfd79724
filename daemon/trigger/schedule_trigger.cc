#include "trigger/schedule_trigger.h"

#include "base/json_read.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/time.h"

namespace hookd::trigger {

ScheduleTrigger::ScheduleTrigger(std::shared_ptr<const hook::Hook> hook, const hook::ScheduleBinding& binding,
                                 Scheduler& scheduler, Random& random, metrics::Registry& metrics, Emit emit,
                                 std::function<bool(const std::string&)> busy, state::Store* store)
    : hook_(std::move(hook)),
      binding_(binding),
      scheduler_(scheduler),
      random_(random),
      metrics_(metrics),
      emit_(std::move(emit)),
      busy_(std::move(busy)),
      store_(store && store->durable() && store->keeps("ticked") ? store : nullptr) {
  if (binding_.every) return;
  auto cron = Cron::parse(binding_.cron, binding_.time_zone);
  // The loader checked it; only a time zone data base that vanished since can fail here.
  if (cron)
    cron_ = *std::move(cron);
  else
    log::error("a schedule cannot run",
               {{"hook", hook_->name}, {"binding", binding_.name}, {"error", cron.error().what}});
}

std::optional<WallTime> ScheduleTrigger::following(WallTime after) const {
  if (binding_.every) return after + *binding_.every;
  return cron_ ? cron_->next(after) : std::nullopt;
}

void ScheduleTrigger::start() {
  next_ = following(scheduler_.wall_now());
  take_up();
  arm();
}

// From where the last daemon left off.
void ScheduleTrigger::take_up() {
  if (!store_ || !next_) return;
  const WallTime now = scheduler_.wall_now();
  const auto after = following(*next_);
  if (after && *after - *next_ < kRemembered) {
    store_ = nullptr;
    return;
  }
  const auto row = store_->read("ticked", hook_->name + "\n" + binding_.name);
  if (!row) {  // what stands there stays, for the next start
    store_ = nullptr;
    return;
  }
  const auto& text = *row;
  const auto at = text ? json_string_at(*text, {"at"}) : std::nullopt;
  const auto last = at ? parse_rfc3339(*at) : fail(Errc::kDecode, "none");
  // Another schedule than then, or a clock that was wrong: as if it were the first start.
  if (!last || *last > now || json_string_at(*text, {"schedule"}) != description()) return remember(now);
  const auto due = following(*last);
  if (!due || *due > now) {
    next_ = due;
    return;
  }
  // `every` stays in step with its first tick; cron times are what they are.
  if (binding_.every) next_ = *last + ((now - *last) / *binding_.every + 1) * *binding_.every;
  if (binding_.missed == hook::ScheduleBinding::Missed::kSkip) return;
  log::info("a tick was missed while hookd was down",
            {{"hook", hook_->name}, {"binding", binding_.name}, {"due", format_rfc3339(*due)}});
  // One call for all that were missed.
  ticked_ = binding_.every ? *next_ - *binding_.every : now;
  const Duration delay(static_cast<int64_t>(static_cast<double>(binding_.jitter.count()) * random_.uniform()));
  jitter_ = scheduler_.after(delay, [this] { tick(); });
}

std::string ScheduleTrigger::description() const {
  return binding_.every ? "every " + format_duration(*binding_.every)
                        : fmt::format("cron {} {}", binding_.cron, binding_.time_zone);
}

void ScheduleTrigger::remember(WallTime at) {
  JsonWriter out;
  out.begin_object().key("at").string(format_rfc3339(at, 3)).key("schedule").string(description()).end_object();
  store_->put("ticked", hook_->name + "\n" + binding_.name, std::move(out).take());
}

void ScheduleTrigger::handled() {
  if (store_ && told_) remember(*told_);
}

void ScheduleTrigger::arm() {
  if (!next_) return;
  armed_at_ = scheduler_.now();
  armed_wall_ = scheduler_.wall_now();
  const Duration wait = std::min<Duration>(std::max<Duration>(*next_ - scheduler_.wall_now(), Duration::zero()), kLook);
  timer_ = scheduler_.after(wait, [this] { due(); });
}

void ScheduleTrigger::due() {
  const WallTime now = scheduler_.wall_now();
  if (now < *next_) {
    // The clock was set back. `every` goes on within one interval. A cron time that comes twice fires once, but not
    // when the clock was far ahead (a machine that started with a wrong date): that could be years.
    const Duration back = armed_wall_ + (scheduler_.now() - armed_at_) - now;
    if (binding_.every && *next_ - now > *binding_.every)
      next_ = now + *binding_.every;
    else if (!binding_.every && back > kSetBack)
      next_ = following(now);
    return arm();
  }
  const bool missed = now - *next_ > kMissed;
  ticked_ = *next_;
  // From the planned time, not from now: no drift; past ticks that were missed are stepped over.
  auto next = following(*next_);
  if (binding_.every && next && *next <= now) {
    const auto steps = (now - *next_) / *binding_.every;
    next = *next_ + (steps + 1) * *binding_.every;
  } else {
    while (next && *next <= now) next = following(now);
  }
  next_ = next;
  if (missed && binding_.missed == hook::ScheduleBinding::Missed::kSkip) {
    log::info("a missed tick is skipped", {{"hook", hook_->name}, {"binding", binding_.name}});
  } else if (jitter_.pending()) {
    skipped();  // the one before has not even begun
  } else if (binding_.jitter > Duration::zero()) {
    const Duration delay(static_cast<int64_t>(static_cast<double>(binding_.jitter.count()) * random_.uniform()));
    jitter_ = scheduler_.after(delay, [this] { tick(); });
  } else {
    tick();
  }
  arm();
}

void ScheduleTrigger::skipped() {
  metrics_.count("hookd_schedule_skipped_total", {{"hook", hook_->name}, {"binding", binding_.name}});
  log::debug("a tick is skipped: the one before is not over", {{"hook", hook_->name}, {"binding", binding_.name}});
}

void ScheduleTrigger::tick() {
  told_ = ticked_;
  const std::string key = "schedule/" + binding_.name;
  if (binding_.overlap == hook::ScheduleBinding::Overlap::kSkip && busy_(key)) return skipped();
  hook::Event event;
  event.type = hook::Event::Type::kSchedule;
  event.binding = binding_.name;
  event.seen = scheduler_.now();
  metrics_.count("hookd_events_total", {{"hook", hook_->name}, {"binding", binding_.name}, {"type", "Schedule"}});
  emit_(key, std::move(event), false);
}

}  // namespace hookd::trigger
