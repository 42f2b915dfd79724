#include "trigger/command_source.h"

#include "base/log.h"
#include "base/time.h"
#include "hook/environment.h"
#include "hook/hook_log.h"

namespace hookd::trigger {
namespace {}  // namespace

CommandSource::CommandSource(std::shared_ptr<const hook::Hook> hook, const hook::SourceBinding& binding,
                             SourceServices services, Emit emit)
    : SourceTrigger(std::move(hook), binding, std::move(services), std::move(emit)),
      backoff_({kFirstPause, kLongestPause, 2.0, 0.1}, services_.random),
      errors_([this](std::string_view line) { said(line); }) {}

std::string CommandSource::what() const { return fmt::format("command {}", fmt::join(binding_.command, " ")); }

void CommandSource::start() { launch(); }

void CommandSource::launch() {
  due_ = full_;
  if (due_) return;
  process::ChildSpec spec;
  spec.command = binding_.command;
  spec.directory = hook_->run.directory;
  spec.environment =
      hook::hook_environment(*hook_, {"", binding_.name, 1, "", services_.kubeconfig}, services_.environment);
  std::erase_if(spec.environment, [](const std::string& entry) {  // of calls
    return entry.starts_with("HOOKD_CALL_ID=") || entry.starts_with("HOOKD_ATTEMPT=") ||
           entry.starts_with("HOOKD_ANSWER=");
  });
  spec.user = hook_->run.user;
  spec.limits = hook_->run.limits;
  spec.grace = hook_->run.grace;
  spec.temp_parent = services_.runtime_dir;  // one for its life
  spec.keep_tmpdir = hook_->run.env.contains("TMPDIR");
  spec.stdout_limit_bytes = 0;

  process::ChildHandlers handlers;
  handlers.on_stdout = [this](std::string_view piece) { printed(piece); };
  handlers.on_stderr = [this](std::string_view piece) { errors_.feed(piece); };
  handlers.on_exit = [this](const process::ChildExit& exit) { exited(exit); };
  last_words_.clear();
  auto child = services_.launcher.start(std::move(spec), std::move(handlers));
  if (!child) return again(child.error().what);
  child_ = *std::move(child);
  log::info(
      "a source's program is started",
      {{"hook", hook_->name}, {"binding", binding_.name}, {"command", binding_.command[0]}, {"pid", child_->pid()}});
  well_ = services_.scheduler.after(kRunsWell, [this] {
    backoff_.reset();
    trouble_.clear();
  });
}

// ---- lines ----------------------------------------------------------------------------------------------------

void CommandSource::printed(std::string_view piece) {
  unread_ += piece;
  work_off();
}

// Inside of emit() the source may become full: the rest waits. What a stopped one has left is all told.
void CommandSource::work_off() {
  if (working_) return;
  working_ = true;
  const SteadyTime begun = services_.scheduler.now();
  for (size_t lines = 1; unread_at_ < unread_.size() && (!full_ || stopped_); ++lines) {
    if (lines % kLinesBetweenLooks == 0 && !stopped_ && services_.scheduler.now() - begun >= kTurn) {
      rest();
      break;
    }
    const size_t end = unread_.find('\n', unread_at_);
    take(std::string_view(unread_).substr(unread_at_, end == std::string::npos ? end : end - unread_at_));
    unread_at_ = end == std::string::npos ? unread_.size() : end + 1;
    if (end != std::string::npos) end_line();
  }
  if (unread_at_ == unread_.size()) {
    unread_.clear();
    unread_at_ = 0;
  }
  working_ = false;
}

// Others have their turn. A pipe's content can be ten thousand lines, each of them asked of jq.
void CommandSource::rest() {
  if (std::exchange(resting_, true)) return;
  if (child_) child_->pause_output();
  services_.scheduler.post([this, alive = std::weak_ptr(alive_)] {
    if (!alive.lock()) return;
    resting_ = false;
    go_on();
  });
}

void CommandSource::go_on() {
  work_off();
  if (full_ || resting_) return;
  if (child_) child_->resume_output();
  if (due_) launch();
}

void CommandSource::take(std::string_view part) {
  if (!skipping_ && line_.size() + part.size() <= binding_.max_line_bytes) {
    line_ += part;
    return;
  }
  if (!std::exchange(skipping_, true)) {
    skipped_bytes_ = line_.size();
    line_.clear();
    line_.shrink_to_fit();
  }
  skipped_bytes_ += part.size();
}

void CommandSource::end_line() {
  if (std::exchange(skipping_, false)) {
    dropped("too long");
    if (seldom())
      log::warn("a source's line is too long and was skipped", {{"hook", hook_->name},
                                                                {"binding", binding_.name},
                                                                {"bytes", skipped_bytes_},
                                                                {"limit", binding_.max_line_bytes}});
    return;
  }
  if (line_.ends_with('\r')) line_.pop_back();
  if (line_.empty()) return;
  std::string data = json_of_bytes(line_);
  if (line_.capacity() > (64u << 10))
    line_ = {};  // one long line must not hold its memory for good
  else
    line_.clear();
  emit(std::move(data));
}

void CommandSource::full() {
  full_ = true;
  if (child_ && !stopped_) child_->pause_output();
}

void CommandSource::room() {
  full_ = false;
  go_on();
}

void CommandSource::said(std::string_view line) {
  last_words_.note(line);
  hook::log_hook_line({hook_->name, binding_.name, ""}, line);
}

// ---- its end --------------------------------------------------------------------------------------------------

void CommandSource::exited(const process::ChildExit& exit) {
  errors_.finish();
  work_off();
  const bool clean = exit.kind == process::ChildExit::Kind::kExited && exit.code == 0 && exit.problem.empty();
  // While full the rest of its lines is not split yet, so a last one without an end stays with what comes after it:
  // ended here, that the next program's first line is not glued to it.
  if (unread_at_ < unread_.size()) {
    if (!unread_.ends_with('\n')) {
      if (clean) {
        unread_ += '\n';
      } else {
        unread_.resize(std::max(unread_.rfind('\n') + 1, unread_at_));
        dropped("cut");
      }
    }
  } else if (skipping_ || !line_.empty()) {
    if (clean || skipping_) {
      end_line();
    } else {
      line_.clear();
      dropped("cut");
    }
  }
  const std::string why = last_words_.after(exit.describe());
  // Posted: the child's handler is under way, and it must not go in it.
  services_.scheduler.post([this, alive = std::weak_ptr(alive_), why] {
    if (!alive.lock()) return;
    child_.reset();
    if (!stopped_) again(why);
  });
}

void CommandSource::again(std::string why) {
  well_.cancel();
  const Duration pause = backoff_.next();
  log::warn("a source's program ended, it is started again",
            {{"hook", hook_->name},
             {"binding", binding_.name},
             {"error", why},
             {"after", format_duration(std::chrono::floor<std::chrono::milliseconds>(pause))}});
  trouble_ = fmt::format("{}: {}", binding_.command[0], why);
  again_ = services_.scheduler.after(pause, [this] { launch(); });
}

void CommandSource::stop() {
  if (std::exchange(stopped_, true)) return;
  due_ = false;
  again_.cancel();
  well_.cancel();
  if (child_) {
    child_->resume_output();
    child_->terminate();
  }
  work_off();
}

std::optional<Error> CommandSource::trouble() const {
  if (trouble_.empty() || stopped_) return std::nullopt;
  Error error;
  error.code = Errc::kHookFailed;
  error.what = trouble_;
  return error;
}

}  // namespace hookd::trigger
