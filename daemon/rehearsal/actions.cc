#include "rehearsal/actions.h"

#include "hook/environment.h"
#include "rehearsal/subset.h"

namespace hookd::rehearsal {
namespace {

constexpr Duration kCommandTimeout = std::chrono::seconds(60);  // real time
constexpr size_t kMostOutput = 1u << 20;

std::vector<std::string> command_environment(const std::string& kubeconfig) {
  std::vector<std::string> environment = hook::own_environment();
  std::erase_if(environment, [](const std::string& entry) {
    return entry.starts_with("KUBECONFIG=") || entry.starts_with("HOOKD_");
  });
  environment.push_back("KUBECONFIG=" + kubeconfig);
  return environment;
}

}  // namespace

void Actions::later(Done done, Result<void> result) {
  world_.scheduler().post([done = std::move(done), result = std::move(result)] { done(result); });
}

void Actions::carry_out(const Step& step, Done done) {
  switch (step.kind) {
    case Step::Kind::kObjects:
      return world_.hands().carry_out(step.operations, std::move(done));
    case Step::Kind::kSource:
      return later(std::move(done), tell(step.source));
    case Step::Kind::kFail:
      if (const auto& fail_of = step.fail;
          fail_of.what == Failing::What::kHook && world_.engine() && !world_.engine()->units().contains(fail_of.hook))
        return later(std::move(done), fail(Errc::kConfig, "there is no hook \"{}\"", fail_of.hook));
      fail_as_told(step.fail);
      return later(std::move(done), {});
    case Step::Kind::kRestart:
      return later(std::move(done), world_.restart_hooks());
    case Step::Kind::kRun:
      return run(step.command, std::move(done));
    case Step::Kind::kSay:
    case Step::Kind::kAdvance:
    case Step::Kind::kWait:
    case Step::Kind::kExpect:
      return later(std::move(done), {});
  }
}

void Actions::fail_as_told(const Failing& failing) {
  if (failing.what == Failing::What::kHook)
    return world_.launcher().fail_next(failing.hook, failing.exit, failing.times);
  embedded::Fault fault;
  fault.times = failing.times;
  if (failing.what == Failing::What::kApi) {
    fault.method = failing.method;
    fault.path = failing.path;
    fault.verb = failing.verb;
    fault.resource = failing.resource;
    fault.ns = failing.ns;
    fault.name = failing.name;
    fault.status = failing.code;
    fault.retry_after_seconds = failing.retry_after_seconds;
    fault.apply_then_cut = failing.lost_answer;
    return world_.server().faults().add(std::move(fault));
  }
  if (failing.silent) return world_.server().mute_watches();
  world_.transport().break_connections();
}

Result<void> Actions::tell(const SourceEvent& event) {
  const auto* engine = world_.engine();
  const auto unit = engine ? engine->units().find(event.hook) : decltype(engine->units().end()){};
  if (!engine || unit == engine->units().end()) return fail(Errc::kConfig, "there is no hook \"{}\"", event.hook);
  return unit->second->give_source_event(event.binding, event.data, event.old);
}

void Actions::run(const std::vector<std::string>& command, Done done) {
  process::ChildSpec spec;
  spec.command = command;
  spec.directory = folder_;
  spec.environment = command_environment(world_.kubeconfig_file());
  spec.timeout = kCommandTimeout;
  spec.stdout_limit_bytes = kMostOutput;
  auto complaints = std::make_shared<std::string>();
  process::ChildHandlers handlers;
  handlers.on_stdout = [this](std::string_view bytes) { print_(bytes); };
  handlers.on_stderr = [this, complaints](std::string_view bytes) {
    print_(bytes);
    if (complaints->size() < kMostOutput) *complaints += bytes;
  };
  handlers.on_exit = [this, complaints, done](process::ChildExit exit) {
    const bool good = exit.kind == process::ChildExit::Kind::kExited && exit.code == 0;
    // Posted: the child goes first, its handlers are under way.
    later(
        [this, done](Result<void> result) {
          child_.reset();
          done(std::move(result));
        },
        good ? Result<void>{} : fail(Errc::kHookFailed, "the command ended with {}: {}", exit.describe(), *complaints));
  };
  auto child = world_.launcher().start(std::move(spec), std::move(handlers));
  if (!child) return later(std::move(done), fail(child.error()));
  child_ = *std::move(child);
}

void Actions::holds(const WaitFor& wait, std::function<void(Result<bool>)> done) {
  using What = WaitFor::What;
  if (wait.what == What::kObject || wait.what == What::kAbsent) {
    const bool wants_it = wait.what == What::kObject;
    return world_.hands().list(wait.object->api_version, wait.object->kind,
                               [wants_it, subset = boost::json::value(wait.object->subset),
                                done = std::move(done)](Result<Hands::Objects> objects) {
                                 // A kind may be served a little later. That none of a kind that is not served is
                                 // there would hold for a misspelt one too: an error, as in `expect`.
                                 if (!objects && objects.error().code == Errc::kNotFound && wants_it)
                                   return done(false);
                                 if (!objects) return done(fail(objects.error()));
                                 done(wants_it == std::ranges::any_of(*objects, [&](const boost::json::value& one) {
                                        return subset_differences(subset, &one).empty();
                                      }));
                               });
  }
  bool holds = true;
  if (wait.what == What::kCalled)
    holds = std::ranges::count_if(recorder_.calls(), [&](const CallRecord& call) {
              return call.hook == wait.hook && call.ended && !call.only_operations;
            }) >= wait.times;
  else if (wait.what == What::kIdle)
    holds = !world_.engine() || world_.engine()->quiet();
  world_.scheduler().post([holds, done = std::move(done)] { done(holds); });
}

}  // namespace hookd::rehearsal
