// A source that is a program: each line of its standard output is an event (json_of_bytes()). Thread: loop only.
//
//   a line that is empty                      skipped
//   a line longer than `maxLine`              skipped whole, counted, never kept in memory
//   a last line without its end               taken if the program ended with exit code 0, else counted as cut
//   full                                      not read any more: the pipe (64 KiB) fills, the program blocks
//   it ends                                   started again after 1 s, doubling to 1 min; anew from 1 s once it ran
//                                             10 s; not while full, or what it prints each time would pile up
//   stop                                      SIGTERM to its group, SIGKILL after run.grace; what it printed is told
#pragma once

#include "base/backoff.h"
#include "process/last_words.h"
#include "process/line_splitter.h"
#include "trigger/source_trigger.h"

namespace hookd::trigger {

class CommandSource final : public SourceTrigger {
 public:
  CommandSource(std::shared_ptr<const hook::Hook> hook, const hook::SourceBinding& binding, SourceServices services,
                Emit emit);

  void start() override;
  void stop() override;
  bool stopping() const override { return stopped_ && child_ != nullptr; }
  std::optional<Error> trouble() const override;
  std::string what() const override;

  static constexpr Duration kFirstPause = std::chrono::seconds(1);
  static constexpr Duration kLongestPause = std::chrono::minutes(1);
  static constexpr Duration kRunsWell = std::chrono::seconds(10);
  static constexpr Duration kTurn = std::chrono::milliseconds(3);  // of lines at once, then others have their turn
  static constexpr size_t kLinesBetweenLooks = 16;                 // at the time

 private:
  void launch();
  void printed(std::string_view piece);
  void work_off();  // unread_, as far as there is room and time
  void rest();
  void go_on();
  void take(std::string_view part);
  void end_line();
  void said(std::string_view line);
  void exited(const process::ChildExit& exit);
  void again(std::string why);
  void full() override;
  void room() override;

  Backoff backoff_;
  std::unique_ptr<process::Child> child_;
  std::string unread_;  // came in while full: the rest of a piece, and what an ended program had left in the pipe
  size_t unread_at_ = 0;
  std::string line_;       // so far, at most maxLine
  bool skipping_ = false;  // of a line that is too long
  uint64_t skipped_bytes_ = 0;
  bool working_ = false;
  bool stopped_ = false;
  bool full_ = false;
  bool resting_ = false;
  bool due_ = false;  // to be started when there is room
  process::LineSplitter errors_;
  process::LastWords last_words_;
  std::string trouble_;
  Timer again_, well_;
};

}  // namespace hookd::trigger
