// What is to become of a batch of items of a queue. Thread: any.
#pragma once

namespace hookd::queue {

enum class Verdict {
  kDone,
  kRetry,          // it failed by itself: back-off, counts towards `attempts`, and from now on it is called alone
  kRetryTogether,  // something around it failed: the same, but it may be called together with others again
  kLater,          // it asked for another time: back-off, counts only with `later_counts`
  kNotTried,       // like kLater, and this was no attempt at all
  kGiveUp,
  kSplit,  // a batch of several events failed: both halves run at once, without counting or back-off
};

}  // namespace hookd::queue
