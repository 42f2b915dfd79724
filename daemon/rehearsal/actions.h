// Carries out the steps that tests and scenarios share. Thread: loop only; callbacks come later, never inline.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "rehearsal/recorder.h"
#include "rehearsal/steps.h"
#include "rehearsal/world.h"

namespace hookd::rehearsal {

class Actions {
 public:
  // `folder`: of the file, where `run` runs. `print` takes what such a command says.
  Actions(World& world, const Recorder& recorder, std::string folder, std::function<void(std::string_view)> print)
      : world_(world), recorder_(recorder), folder_(std::move(folder)), print_(std::move(print)) {}

  using Done = std::function<void(Result<void>)>;
  // Everything but wait, advance and expect. Errors: why it did not go well, for people.
  void carry_out(const Step& step, Done done);

  // Does what is waited for hold now? Not for kTime. Errors: it cannot be looked up.
  void holds(const WaitFor& wait, std::function<void(Result<bool>)> done);

 private:
  Result<app::HookUnit*> find(const std::string& hook);
  Result<void> tell(const SourceEvent& event);
  Result<void> tell_file(app::HookUnit& unit, const SourceEvent& event);
  void post(const Post& post, Done done);
  void send(const Post& post, const hook::SourceBinding& source, std::string_view secret, Done done);
  Result<void> fail_as_told(const Failing& failing);
  void run(const std::vector<std::string>& command, Done done);
  void later(Done done, Result<void> result);

  World& world_;
  const Recorder& recorder_;
  std::string folder_;
  std::function<void(std::string_view)> print_;
  std::unique_ptr<process::Child> child_;
  std::unique_ptr<net::HttpCall> http_;
  std::map<std::pair<std::string, std::string>, std::string>
      told_files_;  // by hook and binding: `data` of the last event
};

}  // namespace hookd::rehearsal
