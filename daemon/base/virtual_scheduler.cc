#include "base/virtual_scheduler.h"

namespace hookd {

VirtualScheduler::VirtualScheduler(boost::asio::io_context& context, std::function<bool()> working, WallTime start)
    : ManualScheduler(start),
      context_(context),
      guard_(boost::asio::make_work_guard(context)),
      working_(std::move(working)) {}

// Did anything happen?
bool VirtualScheduler::one_round() {
  bool happened = run_posted_round();
  if (const auto due = next_due(); due && *due <= now()) {
    run_due(now());
    happened = true;
  }
  return context_.poll() > 0 || happened;
}

void VirtualScheduler::settle() {
  for (int round = 0; !given_up_; ++round) {
    if (round == kMostRounds) {
      loops_ = given_up_ = true;
      return;
    }
    if (one_round()) continue;
    if (!working_()) return;
    context_.run_one();
  }
}

void VirtualScheduler::settle_with_sockets(Duration real) {
  settle();
  if (!given_up_ && context_.run_one_for(real) > 0) settle();
}

}  // namespace hookd
