#include "hook/worker_process.h"

#include <algorithm>

#include "base/log.h"
#include "base/time.h"
#include "hook/environment.h"
#include "hook/hook_log.h"

namespace hookd::hook {
namespace {

constexpr size_t kShownIdBytes = 80;

}  // namespace

process::ChildSpec worker_spec(const Hook& hook, const CallerServices& services) {
  process::ChildSpec spec;
  spec.command = hook.run.command;
  spec.directory = hook.run.directory;
  spec.environment = worker_environment(hook, services.kubeconfig, services.environment);
  spec.user = hook.run.user;
  spec.limits = hook.run.limits;
  spec.temp_parent = services.runtime_dir;  // one for its life
  spec.keep_tmpdir = hook.run.env.contains("TMPDIR");
  spec.grace = hook.run.grace;
  spec.stdout_limit_bytes = 0;  // its lines are bounded here, its life is not
  spec.keep_stdin = true;
  return spec;
}

void to_one_line(std::string& json) {
  std::ranges::replace(json, '\n', ' ');
  std::ranges::replace(json, '\r', ' ');
}

WorkerProcess::WorkerProcess(const Hook& hook, const CallerServices& services, WorkerOwner& owner)
    : hook_(hook),
      services_(services),
      owner_(owner),
      at_once_(static_cast<size_t>(hook.run.worker.calls_at_once)),
      lines_(services.answer_limit_bytes),
      errors_([this](std::string_view text) { said(text); }, kStderrLineBytes) {}

WorkerProcess::~WorkerProcess() = default;

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const Hook& hook, const CallerServices& services,
                                                            WorkerOwner& owner) {
  auto worker = std::make_unique<WorkerProcess>(hook, services, owner);
  HOOKD_CHECK(worker->launch());
  return worker;
}

Result<void> WorkerProcess::launch() {
  process::ChildHandlers handlers;
  handlers.input = [this] { return next_input(); };
  handlers.on_input_refused = [this] { hurt("it closed its standard input"); };
  handlers.on_stdout = [this](std::string_view bytes) { heard(bytes); };
  handlers.on_stdout_end = [this] { hurt("it closed its standard output"); };
  handlers.on_stderr = [this](std::string_view bytes) { errors_.feed(bytes); };
  handlers.on_exit = [this](process::ChildExit exit) { exited(std::move(exit)); };
  HOOKD_TRY(child_, services_.launcher.start(worker_spec(hook_, services_), std::move(handlers)));
  pid_ = child_->pid();
  started_ = services_.scheduler.now();
  log::info("worker started", {{"hook", hook_.name}, {"pid", pid_}});
  was_ready_ = !hook_.run.worker.says_ready;
  if (was_ready_) return {};
  state_ = State::kStarting;
  limit_ = services_.scheduler.after(hook_.run.worker.ready_timeout, [this] {
    fail(fmt::format(R"(it did not say {{"ready":true}} within {})", format_duration(hook_.run.worker.ready_timeout)));
  });
  return {};
}

// ---------------------------------------------------------------- calls

void WorkerProcess::give(WorkerCallPtr call) {
  const int64_t number = ++given_;
  call->due = services_.scheduler.now() + hook_.run.timeout;
  by_id_.emplace(call->request.call->id, number);
  sending_.push_back({call, nullptr});
  open_.emplace(number, std::move(call));
  arm_deadline();
  child_->more_input();
}

void WorkerProcess::drop(const WorkerCallPtr& call) {
  const auto unsent = std::ranges::find(sending_, call, &Sending::call);
  if (unsent == sending_.end() || unsent->writer) return;  // it will answer: till then it is busy with it
  sending_.erase(unsent);
  const auto number = by_id_.find(call->request.call->id);
  if (number == by_id_.end()) return;
  open_.erase(number->second);
  by_id_.erase(number);
  close_when_done();
}

// White space within a document may hold line ends; within its texts JSON has none.
std::string WorkerProcess::next_input() {
  std::string piece;
  while (!sending_.empty() && piece.size() < CallWriter::kPieceBytes) {
    Sending& sending = sending_.front();
    if (const auto& document = sending.call->request.document) {
      std::string whole = *document;
      to_one_line(whole);
      piece += whole;
      piece += '\n';
      sending_.pop_front();
      continue;
    }
    if (!sending.writer) sending.writer = std::make_unique<CallWriter>(sending.call->request.call);
    std::string next = sending.writer->next();
    if (next.empty()) {
      if (piece.ends_with(' '))
        piece.back() = '\n';
      else
        piece += '\n';
      sending_.pop_front();
      continue;
    }
    to_one_line(next);
    if (piece.empty())
      piece = std::move(next);
    else
      piece += next;
  }
  return piece;
}

void WorkerProcess::arm_deadline() {
  if (deadline_.pending() || open_.empty() || state_ == State::kEnding) return;
  deadline_ = services_.scheduler.at(open_.begin()->second->due, [this] { look_at_deadlines(); });
}

void WorkerProcess::look_at_deadlines() {
  const SteadyTime now = services_.scheduler.now();
  bool hung = false;
  for (const auto& [number, call] : open_) {
    if (call->due > now) break;
    hung = call->timed_out = true;
  }
  if (hung)
    fail(fmt::format("no answer within {}, it is taken for hung", format_duration(hook_.run.timeout)));
  else
    arm_deadline();
}

// ---------------------------------------------------------------- what it prints

void WorkerProcess::heard(std::string_view bytes) {
  lines_.feed(
      bytes, [this](std::string_view text) { return line(text); },
      [this](std::string_view beginning) { return too_long(beginning); });
}

// Returns whether this is still there: an owner's reaction may be the end of everything.
bool WorkerProcess::line(std::string_view text) {
  using Kind = WorkerLine::Kind;
  WorkerLine read = read_worker_line(text);
  switch (read.kind) {
    case Kind::kEmpty:
      no_answer();
      return true;
    case Kind::kReady: {
      if (state_ != State::kStarting) {
        no_answer();
        return true;
      }
      state_ = State::kReady;
      was_ready_ = true;
      limit_.cancel();
      const std::weak_ptr alive(alive_);
      owner_.worker_ready(*this);
      return !alive.expired();
    }
    case Kind::kReply:
      return answer(read.id, std::move(read.reply));
    case Kind::kBroken:
      if (!read.id.empty() && by_id_.contains(read.id)) {
        Reply reply;
        reply.why = "the answer was not understood, nothing was applied: " + read.problem;
        return answer(read.id, std::move(reply));
      }
      rubbish(read.problem, {});
      return true;
    case Kind::kText:
      rubbish({}, text);
      return true;
  }
  return true;
}

bool WorkerProcess::too_long(std::string_view beginning) {
  const std::string id = leading_id(beginning);
  const std::string problem = fmt::format("a line is longer than {} bytes", services_.answer_limit_bytes);
  if (!id.empty() && by_id_.contains(id)) {
    Reply reply;
    reply.why = fmt::format("the answer is too long, nothing was applied: {} (`answerLimit` of hookd.yaml)", problem);
    return answer(id, std::move(reply));
  }
  rubbish(problem, {});
  return true;
}

bool WorkerProcess::answer(const std::string& id, Reply reply) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) {
    unknown(id);
    return true;
  }
  const auto entry = open_.find(found->second);
  if (entry->second->timed_out) return true;  // said to have failed; it is over when the process is
  const WorkerCallPtr call = entry->second;
  open_.erase(entry);
  by_id_.erase(found);
  recent_[recent_at_++ % recent_.size()] = id;
  ++answered_;
  rubbish_in_a_row_ = 0;
  close_when_done();
  const std::weak_ptr alive(alive_);
  owner_.worker_answered(*this, call, std::move(reply));
  return !alive.expired();
}

void WorkerProcess::unknown(const std::string& id) {
  no_answer();
  if (!may_log()) return;
  const bool twice = std::ranges::find(recent_, id) != recent_.end();
  log::warn(twice ? "a worker answered a call twice, only the first answer counts"
                  : "a worker answered a call that it was not given, or has not open any more",
            {{"hook", hook_.name}, {"pid", pid_}, {"id", id.substr(0, kShownIdBytes)}});
}

// A line that answers nothing, whatever it is: a flood of them is held back.
void WorkerProcess::no_answer() {
  if (++rubbish_in_a_row_ < kPauseAfterRubbish || !child_) return;
  child_->pause_output();
  resume_ = services_.scheduler.after(kRubbishPause, [this] {
    if (child_) child_->resume_output();
  });
}

// `text` goes to the log as it is; of what looks like a document only what is wrong with it.
void WorkerProcess::rubbish(std::string_view what, std::string_view text) {
  no_answer();
  if (!may_log()) return;
  if (!text.empty())
    log_hook_line({hook_.name, "", ""}, text.substr(0, kStderrLineBytes));
  else
    log::warn("a line of a worker's output is no answer", {{"hook", hook_.name}, {"pid", pid_}, {"error", what}});
  if (owner_.worker_hint_due())
    log::info(
        R"(a worker's output is a JSON object a line, with the "id" of the call that it answers; other text belongs on )"
        "stderr. A call without its answer fails when its time is over",
        {{"hook", hook_.name}, {"pid", pid_}});
}

// ---------------------------------------------------------------- its log

void WorkerProcess::said(std::string_view text) {
  if (text.find_first_not_of(" \t\r") == std::string_view::npos) return;
  last_words_.note(text);
  if (!may_log()) return;
  // With several calls open nobody knows which of them it is about.
  if (open_.size() == 1 && !open_.begin()->second->gone && open_.begin()->second->request.said)
    open_.begin()->second->request.said(text);
  else
    log_hook_line({hook_.name, "", ""}, text);
}

bool WorkerProcess::may_log() {
  if (log_lines_.take(services_.scheduler.now())) return true;
  ++left_out_;
  if (!left_out_timer_.pending())
    left_out_timer_ = services_.scheduler.after(std::chrono::seconds(1), [this] { tell_left_out(); });
  return false;
}

void WorkerProcess::tell_left_out() {
  if (left_out_ == 0) return;
  log::warn("a worker writes too much, lines were left out of the log",
            {{"hook", hook_.name}, {"pid", pid_}, {"lines", left_out_}, {"limit_per_second", kLogLinesPerSecond}});
  left_out_ = 0;
}

// ---------------------------------------------------------------- its end

void WorkerProcess::hurt(std::string why) {
  if (hurt_ || input_closed_ || state_ == State::kEnding) return;
  hurt_ = true;
  // Most often it is just ending, and its exit tells more.
  limit_ = services_.scheduler.after(kSettle, [this, why = std::move(why)]() mutable { fail(std::move(why)); });
}

void WorkerProcess::fail(std::string why) {
  if (state_ == State::kEnding) return;
  const bool retired = retired_;
  end(why);
  if (!retired) owner_.worker_failing(*this, why);
}

void WorkerProcess::end(std::string why) {
  if (state_ == State::kEnding) return;
  state_ = State::kEnding;
  end_reason_ = std::move(why);
  limit_.cancel();
  child_->terminate();
}

void WorkerProcess::retire() {
  if (state_ == State::kEnding) return;
  retired_ = true;
  state_ = State::kRetiring;
  if (!hurt_) limit_.cancel();
  close_when_done();
}

void WorkerProcess::close_when_done() {
  if (state_ != State::kRetiring || !open_.empty() || std::exchange(input_closed_, true)) return;
  child_->close_input();
  limit_ = services_.scheduler.after(hook_.run.grace, [this] {
    end(fmt::format("it did not end within {} after the end of its input", format_duration(hook_.run.grace)));
  });
}

void WorkerProcess::exited(process::ChildExit exit) {
  const std::weak_ptr alive(alive_);
  errors_.finish();
  if (const std::string rest = lines_.take_rest(); !rest.empty()) {
    WorkerLine last = read_worker_line(rest);  // a whole answer counts without its line end, a cut one does not
    if (last.kind == WorkerLine::Kind::kReply && !answer(last.id, std::move(last.reply))) return;
    if (last.kind == WorkerLine::Kind::kText) rubbish({}, rest);
  }
  tell_left_out();
  limit_.cancel();
  deadline_.cancel();
  resume_.cancel();
  left_out_timer_.cancel();
  state_ = State::kEnding;
  WorkerEnd end;
  end.asked = retired_ && end_reason_.empty();
  end.why =
      last_words_.after(end_reason_.empty() ? exit.describe() : fmt::format("{} ({})", end_reason_, exit.describe()));
  for (auto& [number, call] : open_) end.calls.push_back(std::move(call));
  open_.clear();
  by_id_.clear();
  sending_.clear();
  owner_.worker_ended(*this, std::move(end));
}

}  // namespace hookd::hook
