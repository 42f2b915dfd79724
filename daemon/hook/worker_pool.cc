#include "hook/worker_pool.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/fd.h"
#include "base/log.h"
#include "base/time.h"

namespace hookd::hook {
namespace {

constexpr int kMostEndedWorkers = 2;  // a call that ended so many is taken for the cause

double mebibytes(uint64_t bytes) { return static_cast<double>(bytes) / (1u << 20); }

}  // namespace

uint64_t resident_bytes(int pid) {
  // proc(5), statm: "size resident shared …", in pages.
  const auto text = read_file(fmt::format("/proc/{}/statm", pid), 4096);
  if (!text) return 0;
  const size_t space = text->find(' ');
  uint64_t pages = 0;
  if (space != std::string::npos) std::from_chars(text->data() + space + 1, text->data() + text->size(), pages);
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// What the runner holds of a call; the pool may be gone before it.
class WorkerPool::Handle final : public OpenCall {
 public:
  Handle(WorkerPool& pool, WorkerCallPtr call) : pool_(pool), alive_(pool.alive_), call_(std::move(call)) {}
  ~Handle() override {
    call_->gone = true;
    call_->request.replied = nullptr;
    call_->request.said = nullptr;
    if (alive_.lock()) pool_.dropped(call_);
  }
  void terminate() override {
    if (alive_.lock()) pool_.end_call(call_);
  }

 private:
  WorkerPool& pool_;
  std::weak_ptr<bool> alive_;
  WorkerCallPtr call_;
};

WorkerPool::WorkerPool(std::shared_ptr<const Hook> hook, CallerServices services, MemoryLook memory)
    : hook_(std::move(hook)), services_(std::move(services)), memory_(std::move(memory)) {
  slots_.resize(static_cast<size_t>(hook_->run.worker.processes));
  for (Slot& slot : slots_)
    slot.backoff = std::make_unique<Backoff>(Backoff::Options{kFirstDelay, kMaxDelay, 2.0, 0.2}, services_.random);
  // In turns of their own: starting one takes about a millisecond.
  for (Slot& slot : slots_) slot.restart = services_.scheduler.after({}, [this, &slot] { launch(slot); });
  if (hook_->run.worker.max_memory_bytes > 0)
    memory_timer_ = services_.scheduler.after(kMemoryTimer, [this] { look_at_memory(); });
}

WorkerPool::~WorkerPool() = default;

// ---------------------------------------------------------------- calls

std::unique_ptr<OpenCall> WorkerPool::start(CallRequest request) {
  auto call = std::make_shared<WorkerCall>();
  call->request = std::move(request);
  auto handle = std::make_unique<Handle>(*this, call);
  waiting_.push_back(std::move(call));
  if (closing_)
    services_.scheduler.post([this, alive = std::weak_ptr(alive_)] {
      if (alive.lock()) fail_if_hopeless();
    });
  dispatch();
  return handle;
}

bool WorkerPool::has_room() const {
  return waiting_.empty() &&
         std::ranges::any_of(slots_, [](const Slot& slot) { return slot.process && slot.process->accepts(); });
}

bool WorkerPool::ready() const {
  if (closing_ || has_room()) return true;
  said_no_ = true;
  return false;
}

void WorkerPool::tell_room() {
  if (!look_ || !said_no_ || !(closing_ || has_room())) return;
  said_no_ = false;
  services_.scheduler.post([this, alive = std::weak_ptr(alive_)] {
    if (alive.lock()) look_();
  });
}

void WorkerPool::dispatch() {
  while (!waiting_.empty()) {
    Slot* best = nullptr;
    for (Slot& slot : slots_)
      if (slot.process && slot.process->accepts() && (!best || slot.process->open() < best->process->open()))
        best = &slot;
    if (best && waiting_.front()->ended_workers > 0 && best->process->open() > 0) return;  // soon one has nothing to do
    if (!best) return;
    const WorkerCallPtr call = std::move(waiting_.front());
    waiting_.pop_front();
    best->process->give(call);
    const int64_t most = hook_->run.worker.max_calls;
    if (most > 0 && best->process->given() >= most)
      replace(*best, fmt::format("it was given {} calls (maxCalls)", most), "max_calls");
  }
  tell_room();
}

void WorkerPool::worker_answered(WorkerProcess& worker, const WorkerCallPtr& call, Reply reply) {
  const std::weak_ptr alive(alive_);
  if (Slot* slot = slot_of(worker)) {
    slot->quick_ends = 0;
    slot->backoff->reset();
    slot->trouble.clear();
    if (hook_->run.worker.max_memory_bytes > 0 && services_.scheduler.now() - slot->memory_seen >= kMemoryPause)
      look_at_memory(*slot);
  }
  if (const auto replied = std::move(call->request.replied)) replied(std::move(reply));
  if (alive.lock()) dispatch();
}

void WorkerPool::reply_failed(const WorkerCallPtr& call, std::string why, std::string_view result) {
  const auto replied = std::move(call->request.replied);
  if (!replied) return;
  Reply reply;
  reply.result = result;
  reply.why = std::move(why);
  replied(std::move(reply));
}

// The calls of a worker that is gone.
void WorkerPool::take_back(std::vector<WorkerCallPtr> calls, int pid, const std::string& why) {
  const std::weak_ptr alive(alive_);
  std::vector<WorkerCallPtr> failed;
  // The others have nothing to do with it then.
  const bool cause_known =
      std::ranges::any_of(calls, [](const auto& call) { return call->timed_out || call->terminated; });
  for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
    if ((*call)->gone) continue;
    if (!cause_known) ++(*call)->ended_workers;
    const bool once_more =
        !(*call)->timed_out && !(*call)->terminated && !closing_ && (*call)->ended_workers < kMostEndedWorkers;
    if (once_more)
      waiting_.push_front(*call);
    else
      failed.push_back(*call);
  }
  for (auto call = failed.rbegin(); call != failed.rend() && alive.lock(); ++call) {
    std::string text = fmt::format("worker {}: {}", pid, why);
    if ((*call)->ended_workers >= kMostEndedWorkers) text += "; the second worker that ended with this call open";
    reply_failed(*call, std::move(text), (*call)->timed_out ? "timeout" : "failed");
  }
}

// With no worker and none on its way nobody can say when there will be one: the queue's own back-off is visible.
void WorkerPool::fail_if_hopeless() {
  const auto usable = [](const Slot& slot) { return slot.process != nullptr || slot.blocked; };
  if (!closing_ && std::ranges::any_of(slots_, usable)) return;
  const std::weak_ptr alive(alive_);
  const std::string why = closing_ ? "the hook's workers are being ended" : trouble().value_or("no worker runs");
  for (const auto& call : std::exchange(waiting_, {})) {
    reply_failed(call, why);
    if (!alive.lock()) return;
  }
}

void WorkerPool::dropped(const WorkerCallPtr& call) {
  if (std::erase(waiting_, call) > 0) return;
  for (Slot& slot : slots_)
    if (slot.process && slot.process->has(call)) slot.process->drop(call);
  for (auto& worker : leaving_)
    if (worker->has(call)) worker->drop(call);
}

void WorkerPool::end_call(const WorkerCallPtr& call) {
  if (std::exchange(call->terminated, true)) return;
  if (std::erase(waiting_, call) > 0) {
    services_.scheduler.post([this, alive = std::weak_ptr(alive_), call] {
      if (alive.lock()) reply_failed(call, "ended before a worker had room for it");
    });
    return;
  }
  for (Slot& slot : slots_) {
    if (!slot.process || !slot.process->has(call)) continue;
    slot.process->end("a call of it was ended from outside");
    auto& worker = *leaving_.emplace_back(std::move(slot.process));
    return start_again(slot, worker, "a call of it was ended from outside");
  }
  for (auto& worker : leaving_)
    if (worker->has(call)) worker->end("a call of it was ended from outside");
}

// ---------------------------------------------------------------- processes

WorkerPool::Slot* WorkerPool::slot_of(const WorkerProcess& worker) {
  const auto slot = std::ranges::find_if(slots_, [&](const Slot& s) { return s.process.get() == &worker; });
  return slot == slots_.end() ? nullptr : &*slot;
}

void WorkerPool::count_restart(std::string_view reason) {
  services_.metrics.count("hookd_worker_restarts_total", {{"hook", hook_->name}, {"reason", std::string(reason)}});
}

void WorkerPool::launch(Slot& slot) {
  if (closing_ || slot.process) return;
  slot.blocked = leaving_.size() >= kLeavingForEach * slots_.size();
  if (slot.blocked) return;
  auto worker = WorkerProcess::start(*hook_, services_, *this);
  if (worker) {
    slot.process = *std::move(worker);
    return dispatch();
  }
  slot.trouble = worker.error().what;
  launch_later(slot);
  log::error("a worker could not be started", {{"hook", hook_->name},
                                               {"error", slot.trouble},
                                               {"next", format_duration(slot.restart_at - services_.scheduler.now())}});
  fail_if_hopeless();
}

// After a quick end: the first time at once, then with a growing delay.
void WorkerPool::launch_later(Slot& slot) {
  const Duration delay = slot.quick_ends++ == 0 ? Duration::zero() : slot.backoff->next();
  slot.restart_at = services_.scheduler.now() + delay;
  slot.restart = services_.scheduler.after(delay, [this, &slot] { launch(slot); });
}

// `ended` is going or gone, and no longer in the slot.
void WorkerPool::start_again(Slot& slot, const WorkerProcess& ended, std::string why) {
  if (closing_) return;
  slot.trouble = fmt::format("worker {}: {}", ended.pid(), why);
  const bool quick =
      !ended.was_ready() || (ended.answered() == 0 && services_.scheduler.now() - ended.started() < kQuick);
  if (!quick) {
    slot.quick_ends = 0;
    slot.backoff->reset();
    return launch(slot);
  }
  launch_later(slot);
  // What waits for a start that is far away would hold the daemon's slots meanwhile. One that dies before it was given
  // anything will do so again: nothing can be promised to those that wait.
  if (ended.given() == 0 || slot.restart_at > services_.scheduler.now() + kHeld) fail_if_hopeless();
}

void WorkerPool::replace(Slot& slot, std::string_view reason, std::string_view label) {
  log::info("a worker is replaced", {{"hook", hook_->name}, {"pid", slot.process->pid()}, {"why", reason}});
  count_restart(label);
  auto& worker = *leaving_.emplace_back(std::move(slot.process));
  worker.retire();
  slot.restart = services_.scheduler.after({}, [this, &slot] { launch(slot); });
}

void WorkerPool::look_at_memory() {
  for (Slot& slot : slots_)
    if (slot.process) look_at_memory(slot);
  memory_timer_ = services_.scheduler.after(kMemoryTimer, [this] { look_at_memory(); });
}

void WorkerPool::look_at_memory(Slot& slot) {
  slot.memory_seen = services_.scheduler.now();
  const uint64_t most = hook_->run.worker.max_memory_bytes;
  if (const uint64_t bytes = memory_(slot.process->pid()); bytes > most)
    replace(
        slot,
        fmt::format("it holds {:.1f}Mi of memory, more than {:.1f}Mi (maxMemory)", mebibytes(bytes), mebibytes(most)),
        "max_memory");
}

void WorkerPool::worker_ready(WorkerProcess& worker) {
  log::debug("worker ready", {{"hook", hook_->name}, {"pid", worker.pid()}});
  dispatch();
}

void WorkerPool::worker_failing(WorkerProcess& worker, const std::string& why) {
  log::warn("a worker is ended", {{"hook", hook_->name}, {"pid", worker.pid()}, {"why", why}});
  Slot* slot = slot_of(worker);
  if (!slot) return;
  count_restart("hung");
  leaving_.push_back(std::move(slot->process));
  start_again(*slot, worker, why);
}

void WorkerPool::worker_ended(WorkerProcess& worker, WorkerEnd end) {
  std::unique_ptr<WorkerProcess> gone;
  Slot* slot = slot_of(worker);
  if (slot) {
    gone = std::move(slot->process);
  } else {
    const auto place = std::ranges::find_if(leaving_, [&](const auto& left) { return left.get() == &worker; });
    if (place == leaving_.end()) return;
    gone = std::move(*place);
    leaving_.erase(place);
  }
  const bool expected = !slot && (end.asked || closing_) && end.calls.empty();
  log::write(expected ? log::Level::kInfo : log::Level::kWarn, "worker ended",
             std::vector<log::Field>{{"hook", hook_->name},
                                     {"pid", worker.pid()},
                                     {"why", end.why},
                                     {"answered", worker.answered()},
                                     {"open_calls", end.calls.size()}});
  const std::weak_ptr alive(alive_);
  Scheduler& scheduler = services_.scheduler;  // a reply may end this
  take_back(std::move(end.calls), worker.pid(), end.why);
  if (alive.lock()) {
    if (slot) {
      count_restart("died");
      start_again(*slot, worker, end.why);
    }
    for (size_t i = 0; alive.lock() && i < slots_.size(); ++i)
      if (std::exchange(slots_[i].blocked, false)) launch(slots_[i]);
    if (alive.lock()) dispatch();
  }
  // In a turn of its own: its function is running.
  scheduler.post([gone = std::shared_ptr<WorkerProcess>(std::move(gone))] {});
}

// ---------------------------------------------------------------- from outside

void WorkerPool::close() {
  if (std::exchange(closing_, true)) return;
  memory_timer_.cancel();
  for (Slot& slot : slots_) {
    slot.restart.cancel();
    if (!slot.process) continue;
    auto& worker = *leaving_.emplace_back(std::move(slot.process));
    worker.retire();
  }
  services_.scheduler.post([this, alive = std::weak_ptr(alive_)] {
    if (alive.lock()) fail_if_hopeless();
  });
}

void WorkerPool::terminate() {
  close();  // or fresh ones would take the place of those that go
  for (auto& worker : leaving_) worker->end("hookd stops");
}

std::optional<std::string> WorkerPool::trouble() const {
  const Slot* worst = nullptr;
  size_t down = 0;
  for (const Slot& slot : slots_) {
    const bool up = slot.process && slot.process->state() == WorkerProcess::State::kReady;
    const bool stays = up && services_.scheduler.now() - slot.process->started() >= kQuick;  // though nothing called it
    if (slot.trouble.empty() || stays || (up && slot.quick_ends < 2)) continue;
    if (!slot.process) ++down;
    if (!worst || slot.quick_ends > worst->quick_ends) worst = &slot;
  }
  if (!worst) return std::nullopt;
  std::string text = worst->trouble;
  if (!text.starts_with("worker")) text = "worker: " + text;
  if (slots_.size() > 1 && down > 0) text = fmt::format("{} of {} workers do not run; {}", down, slots_.size(), text);
  if (worst->restart.pending())
    text += "; next start in " + format_duration(std::chrono::ceil<std::chrono::seconds>(
                                     std::max(worst->restart_at - services_.scheduler.now(), Duration::zero())));
  return text;
}

std::map<std::string, size_t> WorkerPool::processes() const {
  std::map<std::string, size_t> states{{"starting", 0}, {"ready", 0}, {"leaving", leaving_.size()}, {"waiting", 0}};
  for (const Slot& slot : slots_)
    ++states[!slot.process                                              ? "waiting"
             : slot.process->state() == WorkerProcess::State::kStarting ? "starting"
                                                                        : "ready"];
  if (closing_) states["waiting"] = 0;
  return states;
}

size_t WorkerPool::at_work() const {
  size_t work = 0;
  for (const auto& worker : leaving_)
    work += worker->open() + (worker->state() == WorkerProcess::State::kEnding ? 1 : 0);
  for (const Slot& slot : slots_)
    if (slot.process) work += slot.process->open() + (slot.process->state() == WorkerProcess::State::kStarting ? 1 : 0);
  return work;
}

}  // namespace hookd::hook
