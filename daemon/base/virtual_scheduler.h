// Virtual time beside real work: the clock stands still while processes run, sockets talk and posted tasks are done,
// and moves only by advance(), timer by timer. So `for: 5m` takes no time, and what a hook does takes none of the
// virtual time. Thread: loop only, the one that calls advance().
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>

#include "base/scheduler.h"

namespace hookd {

class VirtualScheduler final : public ManualScheduler {
 public:
  // `working` says whether something outside (a child process) will bring more without any timer of ours. Timeouts of
  // that work are the business of an AsioScheduler on the same `context`.
  VirtualScheduler(boost::asio::io_context& context, std::function<bool()> working, WallTime start = kStart);

  // Runs what is posted, what is due now and what the io_context has, and waits (in real time) while `working()`,
  // until nothing is left. advance() does so before each timer.
  void settle() override;
  // The same with at least one look at the sockets, waiting for them up to `real` if there is nothing.
  void settle_with_sockets(Duration real);

  // From now on settle() ends at once: something took too long, or the test is over.
  void give_up() { given_up_ = true; }
  bool given_up() const { return given_up_; }

  // Rounds in which something happened without time going on; more is a loop that would never end.
  static constexpr int kMostRounds = 1'000'000;
  bool loops() const { return loops_; }

 private:
  bool one_round();

  boost::asio::io_context& context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  std::function<bool()> working_;
  bool given_up_ = false;
  bool loops_ = false;
};

}  // namespace hookd
