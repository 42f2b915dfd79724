#include "rehearsal/actions.h"

#include "base/fd.h"
#include "base/json_read.h"
#include "hook/environment.h"
#include "kube/base64.h"
#include "kube/token_file.h"
#include "rehearsal/subset.h"

namespace hookd::rehearsal {
namespace {

constexpr Duration kCommandTimeout = std::chrono::seconds(60);  // real time
constexpr size_t kMostOutput = 1u << 20;

std::vector<std::string> command_environment(const std::string& kubeconfig, const std::string& post_url) {
  std::vector<std::string> environment = hook::own_environment();
  std::erase_if(environment, [](const std::string& entry) {
    return entry.starts_with("KUBECONFIG=") || entry.starts_with("HOOKD_");
  });
  environment.push_back("KUBECONFIG=" + kubeconfig);
  environment.push_back("HOOKD_URL=" + post_url);
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
      return later(std::move(done), fail_as_told(step.fail));
    case Step::Kind::kPost:
      return post(step.post, std::move(done));
    case Step::Kind::kRestart:
      told_files_.clear();  // a source tells anew what is there
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

Result<app::HookUnit*> Actions::find(const std::string& hook) {
  std::string names;
  if (auto* engine = world_.engine())
    for (const auto& [name, unit] : engine->units()) {
      if (name == hook) return unit.get();
      names += (names.empty() ? "" : ", ") + name;
    }
  return fail(Errc::kConfig, "there is no hook \"{}\"; there {}", hook, names.empty() ? "is none" : "is " + names);
}

Result<void> Actions::fail_as_told(const Failing& failing) {
  if (failing.what == Failing::What::kHook) {
    HOOKD_CHECK(find(failing.hook));
    world_.hook_faults().fail_next(failing.hook, failing.exit, failing.times);
    return {};
  }
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
    world_.server().faults().add(std::move(fault));
  } else if (failing.silent) {
    world_.server().mute_watches();
  } else {
    world_.transport().break_connections();
  }
  return {};
}

Result<void> Actions::tell(const SourceEvent& event) {
  HOOKD_TRY(auto* const unit, find(event.hook));
  if (event.data.empty()) return tell_file(*unit, event);
  HOOKD_CHECK(unit->give_source_event(event.binding, event.data, event.old));
  told_files_[{event.hook, event.binding}] = event.data;
  return {};
}

// What the source itself would tell (trigger/file_state.h).
Result<void> Actions::tell_file(app::HookUnit& unit, const SourceEvent& event) {
  const auto& sources = unit.hook().sources;
  const auto source = std::ranges::find(sources, event.binding, &hook::SourceBinding::name);
  if (source == sources.end() || source->file.empty())
    return fail(Errc::kConfig, "{} has no source \"{}\" that is a file; to others `data` is told", event.hook,
                event.binding);
  boost::json::object data{{"path", source->file}, {"exists", event.content.has_value()}};
  if (event.content) data["content"] = *event.content;
  std::string text = boost::json::serialize(data);
  std::string& told = told_files_[{event.hook, event.binding}];
  if (told == text) return fail(Errc::kConfig, "the file holds this already: its source tells nothing");
  HOOKD_CHECK(unit.give_source_event(event.binding, text, told.empty() ? std::nullopt : std::optional(told)));
  told = std::move(text);
  return {};
}

void Actions::post(const Post& post, Done done) {
  const hook::SourceBinding* source = nullptr;
  std::string paths;
  for (const auto& one : world_.receivers()) {
    if (one.source->http == post.path) source = one.source;
    paths +=
        fmt::format("{}{} ({} of {})", paths.empty() ? "" : ", ", one.source->http, one.source->name, one.hook->name);
  }
  if (!source)
    return later(std::move(done), fail(Errc::kConfig, "no hook has a source with http: {}; there is {}", post.path,
                                       paths.empty() ? "none with http" : paths));
  const auto& from = source->secret_from;
  if (!post.sign || source->check == hook::SourceBinding::Check::kNone) return send(post, *source, "", std::move(done));
  if (!from.file.empty()) {
    const auto secret = read_file(from.file);
    if (!secret) return later(std::move(done), fail(secret.error()));
    return send(post, *source, kube::trim(*secret), std::move(done));
  }
  // A copy: the hook may be loaded anew meanwhile.
  const auto with = [this, &post, source = *source, done = std::move(done)](Result<Hands::Objects> secrets) {
    if (!secrets) return done(fail(secrets.error()));
    const auto& wanted = source.secret_from;
    for (const boost::json::value& one : *secrets) {
      const std::string text = boost::json::serialize(one);
      if (json_string_at(text, {"metadata", "namespace"}) != wanted.ns ||
          json_string_at(text, {"metadata", "name"}) != wanted.name)
        continue;
      const auto value = kube::base64_decode(json_string_at(text, {"data", wanted.key}).value_or(""));
      if (value && !kube::trim(*value).empty()) return send(post, source, kube::trim(*value), done);
    }
    done(fail(Errc::kConfig,
              "there is no Secret {}/{} with the key {}, with which {} checks what is POSTed: it must be "
              "among what is given",
              wanted.ns, wanted.name, wanted.key, source.name));
  };
  world_.hands().list("v1", "Secret", with);
}

void Actions::send(const Post& post, const hook::SourceBinding& source, std::string_view secret, Done done) {
  struct Answer {
    int status = 0;
    std::string body;
  };
  auto answer = std::make_shared<Answer>();
  net::HttpHandlers handlers;
  handlers.on_head = [answer](const net::HttpHead& head) { answer->status = head.status; };
  handlers.on_data = [answer](std::string_view bytes) {
    answer->body += bytes.substr(0, kMostOutput - answer->body.size());
    return true;
  };
  handlers.on_done = [this, answer, wanted = post.status.value_or(source.reply_handled ? 200 : 202),
                      done = std::move(done)](Result<void> sent) {
    const std::string_view said = kube::trim(answer->body);
    if (sent) print_(fmt::format("{} {}\n", answer->status, said));
    if (sent && answer->status != wanted)
      sent =
          fail(Errc::kInvalid, "was answered with {} ({}); {} was expected (`status`)", answer->status, said, wanted);
    // Posted: the call goes first, its handlers are under way.
    later(
        [this, done](Result<void> result) {
          http_.reset();
          done(std::move(result));
        },
        std::move(sent));
  };
  auto request = request_of(post, source, world_.post_url(), secret, world_.scheduler().wall_now());
  request.total_timeout = kCommandTimeout;
  http_ = world_.post(std::move(request), std::move(handlers), source.reply_handled);
}

void Actions::run(const std::vector<std::string>& command, Done done) {
  process::ChildSpec spec;
  spec.command = command;
  spec.directory = folder_;
  spec.environment = command_environment(world_.kubeconfig_file(), world_.post_url());
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
