// `run.command` with mode once: a process for each call. Thread: loop only. Source: product.md sections 2 and 3.
//
//   exit 0 -> the answer (the file HOOKD_ANSWER, else standard output)     75 -> later     65, 78 -> refused
//   other exits, signals, timeouts -> failed
#pragma once

#include "hook/caller.h"

namespace hookd::hook {

class OnceCaller final : public Caller {
 public:
  OnceCaller(std::shared_ptr<const Hook> hook, CallerServices services);
  std::unique_ptr<OpenCall> start(CallRequest request) override;

 private:
  std::shared_ptr<const Hook> hook_;
  CallerServices services_;
};

// What an end without an answer means: any but exit code 0.
Reply reply_to_exit(const process::ChildExit& exit);

}  // namespace hookd::hook
