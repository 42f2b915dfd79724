#include "hook/call_faults.h"

#include "hook/once_caller.h"

namespace hookd::hook {
namespace {

class FailedCall final : public OpenCall {
 public:
  FailedCall(int code, CallRequest request, Scheduler& scheduler) : request_(std::move(request)) {
    scheduler.post([this, alive = std::weak_ptr(alive_), code] {
      if (!alive.lock()) return;
      process::ChildExit exit;
      exit.code = code;
      Reply reply = reply_to_exit(exit);
      reply.exit = std::move(exit);
      request_.replied(std::move(reply));  // may destroy this
    });
  }
  void terminate() override {}

 private:
  CallRequest request_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::unique_ptr<OpenCall> start_call(Caller& caller, CallRequest request, CallFaults* faults, Scheduler& scheduler) {
  const auto code = faults ? faults->next(*request.call) : std::nullopt;
  if (code) return std::make_unique<FailedCall>(*code, std::move(request), scheduler);
  return caller.start(std::move(request));
}

}  // namespace hookd::hook
