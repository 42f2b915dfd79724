// The account that `hookd play` gives: what happened, which hook was called and why, how long it took, what it
// answered, what changed. Lines on stdout, made for people. Thread: loop only.
//
//    12.4s  ── delete Pod default/web-0
//    12.4s  Pod default/web-0 changed
//             + .metadata.deletionTimestamp: "…"
//    42.4s  ▶ force-delete is called: Added Pod default/web-0 (stuck)
//    42.5s  ✔ force-delete answers after 52ms: Delete Pod default/web-0, Event …
//    42.5s    deleted Pod default/web-0 (uid …)
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/scheduler.h"
#include "embedded/store/store.h"
#include "rehearsal/recorder.h"

namespace hookd::rehearsal {

class Account {
 public:
  Account(Scheduler& scheduler, bool colour, std::function<void(std::string_view)> print);

  void begin() { start_ = scheduler_.now(); }  // the time of its lines counts from here
  void note(std::string_view text);            // of hookd play itself
  void say(std::string_view text);             // of the scenario
  void step(std::string_view text);            // what the scenario does
  void problem(std::string_view text);
  void output(std::string_view text);  // of a command of the scenario
  void change(const embedded::StoreEvent& event);
  // Takes its lines from what the recorder notes.
  void follow(Recorder& recorder);

 private:
  enum class Paint { kNone, kDim, kBold, kGreen, kRed, kYellow, kCyan };
  void line(std::string_view text, Paint paint = Paint::kNone);
  void below(std::string_view text, Paint paint = Paint::kNone);  // each of its lines, without the time
  std::string painted(std::string_view text, Paint paint) const;
  void started(const CallRecord& call);
  void ended(const CallRecord& call);

  Scheduler& scheduler_;
  SteadyTime start_;
  bool colour_;
  std::function<void(std::string_view)> print_;
};

}  // namespace hookd::rehearsal
