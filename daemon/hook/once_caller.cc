#include "hook/once_caller.h"

#include "hook/answer_file.h"
#include "hook/environment.h"
#include "process/last_words.h"
#include "process/line_splitter.h"

namespace hookd::hook {
namespace {

constexpr std::string_view kDocumentSigns[] = {"{", "apiVersion:", "kind:", "---"};

class OnceCall final : public OpenCall {
 public:
  OnceCall(const Hook& hook, const CallerServices& services, CallRequest request)
      : services_(services),
        request_(std::move(request)),
        answer_file_(services.runtime_dir, request_.call->id, !hook.run.user.empty()) {
    process::ChildSpec spec;
    spec.command = hook.run.command;
    spec.directory = hook.run.directory;
    spec.environment = hook_environment(
        hook, {request_.call->id, request_.binding, request_.call->attempt, answer_file_.path(), services.kubeconfig},
        services.environment);
    spec.user = hook.run.user;
    spec.limits = hook.run.limits;
    spec.temp_parent = services.runtime_dir;
    spec.keep_tmpdir = hook.run.env.contains("TMPDIR");
    spec.timeout = hook.run.timeout;
    spec.grace = hook.run.grace;
    spec.stdout_limit_bytes = services.answer_limit_bytes;

    process::ChildHandlers handlers;
    handlers.input = [writer = std::make_shared<CallWriter>(request_.call)] { return writer->next(); };
    handlers.on_stdout = [this](std::string_view bytes) { output_ += bytes; };
    handlers.on_stderr = [this](std::string_view bytes) { errors_.feed(bytes); };
    handlers.on_exit = [this](process::ChildExit exit) { exited(std::move(exit)); };
    auto child = services.launcher.start(std::move(spec), std::move(handlers));
    if (child) {
      child_ = *std::move(child);
      return;
    }
    Reply reply;
    reply.why = child.error().what;
    services.scheduler.post([this, alive = std::weak_ptr(alive_), reply = std::move(reply)]() mutable {
      if (alive.lock()) request_.replied(std::move(reply));
    });
  }

  void terminate() override {
    if (child_) child_->terminate();
  }

 private:
  void exited(process::ChildExit exit) {
    errors_.finish();
    child_.reset();
    Reply reply = reply_for(exit);
    reply.exit = std::move(exit);
    request_.replied(std::move(reply));  // may destroy this
  }

  Reply reply_for(const process::ChildExit& exit) {
    auto from_file = answer_file_.take(services_.answer_limit_bytes);
    if (exit.kind == process::ChildExit::Kind::kExited && exit.problem.empty() && exit.code == 0)
      return answer(std::move(from_file));
    Reply reply = reply_to_exit(exit);
    if (reply.kind != Reply::Kind::kLater) reply.why = with_last_line(std::move(reply.why));
    return reply;
  }

  Reply answer(Result<std::string> from_file) {
    Reply reply;
    reply.kind = Reply::Kind::kAnswered;
    if (from_file) {
      reply.text = *std::move(from_file);
      reply.log_text = std::move(output_);
    } else if (from_file.error().code == Errc::kNotFound) {
      reply.text = std::move(output_);
    } else {
      reply.kind = Reply::Kind::kFailed;
      reply.why = "the answer file cannot be read, nothing was applied: " + from_file.error().what;
    }
    return reply;
  }

  // A hook that fails without a word on stderr may have said it on stdout; but of a document there nothing may get into
  // the log, it can be a Secret.
  std::string with_last_line(std::string text) const {
    process::LastWords words = last_words_;
    const bool document =
        std::ranges::any_of(kDocumentSigns, [&](std::string_view sign) { return output_.contains(sign); });
    if (words.empty() && !document) {
      const std::string_view said = std::string_view(output_).substr(0, output_.find_last_not_of(" \t\r\n") + 1);
      words.note(said.substr(said.rfind('\n') + 1));
    }
    return words.after(std::move(text));
  }

  const CallerServices& services_;
  CallRequest request_;
  AnswerFile answer_file_;
  std::unique_ptr<process::Child> child_;
  std::string output_;
  process::LastWords last_words_;
  process::LineSplitter errors_{[this](std::string_view line) {
    last_words_.note(line);
    request_.said(line);
  }};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

Reply reply_to_exit(const process::ChildExit& exit) {
  using Exit = process::ChildExit::Kind;
  Reply reply;
  if (exit.kind == Exit::kExited && exit.problem.empty()) {
    switch (exit.code) {
      case 75:  // EX_TEMPFAIL
        reply.kind = Reply::Kind::kLater;
        reply.result = "later";
        reply.why = "the hook asked to be called again later (exit code 75)";
        return reply;
      case 65:  // EX_DATAERR
      case 78:  // EX_CONFIG
        reply.kind = Reply::Kind::kRefused;
        reply.result = "refused";
        reply.why = fmt::format("the hook gave up on this event for good ({})", exit.describe());
        return reply;
      default:
        break;
    }
  }
  if (exit.kind == Exit::kTimedOut) reply.result = "timeout";
  reply.why = exit.describe();
  return reply;
}

OnceCaller::OnceCaller(std::shared_ptr<const Hook> hook, CallerServices services)
    : hook_(std::move(hook)), services_(std::move(services)) {}

std::unique_ptr<OpenCall> OnceCaller::start(CallRequest request) {
  return std::make_unique<OnceCall>(*hook_, services_, std::move(request));
}

}  // namespace hookd::hook
