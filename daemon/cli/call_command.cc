// `hookd call`: one call of one hook, without a daemon and without applying anything.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>

#include "app/load_hooks.h"
#include "app/runtime_dir.h"
#include "apply/plan.h"
#include "base/fd.h"
#include "base/ids.h"
#include "base/json_read.h"
#include "base/time.h"
#include "cli/call_reconcile.h"
#include "cli/call_url.h"
#include "cli/call_worker.h"
#include "cli/cli.h"
#include "config/yaml_source.h"
#include "hook/answer.h"
#include "hook/environment.h"
#include "hook/runner.h"
#include "process/posix_launcher.h"

namespace hookd::cli {
namespace {

Result<std::shared_ptr<const hook::Hook>> find_hook(const CallOptions& options) {
  std::error_code error;
  const bool is_file = std::filesystem::exists(options.hook, error);
  const auto loaded = app::load_hooks(is_file ? std::vector{options.hook} : options.hooks);
  for (const auto& hook : loaded.hooks)
    if (is_file || hook->name == options.hook) {
      if (is_file && loaded.hooks.size() > 1)
        return fail(Errc::kConfig, "{} has {} hooks: give one's name and --hooks {}", options.hook, loaded.hooks.size(),
                    options.hook);
      return hook;
    }
  std::string problems;
  for (const auto& problem : loaded.errors) problems += problem.text() + "\n";
  if (!problems.empty()) return fail(Errc::kConfig, "{}", problems);
  return fail(Errc::kConfig, "no hook file and no hook named \"{}\"{}", options.hook,
              options.hooks.empty() ? "; with a name, give --hooks DIR" : "");
}

const hook::WatchBinding* binding_for(const hook::Hook& hook, const CallOptions& options, std::string_view kind) {
  if (!options.binding.empty()) return hook.find_watch(options.binding);
  for (const auto& watch : hook.watches)
    if (watch.kind == kind && !watch.snapshot_only()) return &watch;
  // A binding may name the kind by its plural or short name: where there is but one, it is meant.
  const hook::WatchBinding* only = nullptr;
  for (const auto& watch : hook.watches) {
    if (watch.snapshot_only()) continue;
    if (only) return nullptr;
    only = &watch;
  }
  return only;
}

// The call for one object, as the daemon would write it; the snapshots it includes are empty but for the object itself.
Result<std::string> call_for_object(const hook::Hook& hook, const CallOptions& options, const std::string& id) {
  const std::string& file = options.object_files.front();
  if (options.object_files.size() > 1)
    return fail(Errc::kConfig, "the hook {} does not reconcile: give --object once", hook.name);
  HOOKD_TRY(const std::string text, read_named_file(file));
  HOOKD_TRY(const auto documents, config::yaml_to_json(text, file));
  if (documents.size() != 1) return fail(Errc::kConfig, "{}: one object was expected, not {}", file, documents.size());
  HOOKD_TRY(auto incoming, cache::read_object(documents[0], "", ""));
  const std::string kind = json_string_at(incoming.text, {"kind"}).value_or("");
  const auto* binding = binding_for(hook, options, kind);
  if (!binding)
    return fail(Errc::kConfig, "the hook {} has no watch {}", hook.name,
                options.binding.empty() ? fmt::format("of kind {}: name one with --binding", kind)
                                        : "\"" + options.binding + "\"");
  if (options.binding.empty() && binding->kind != kind)
    fmt::print(stderr, "note: taking the binding {} (kind {}) for an object of kind {}\n", binding->name, binding->kind,
               kind);
  if (binding->when) {
    const auto holds = binding->when->test(incoming.text);
    if (!holds) return fail(Errc::kConfig, "when: {}", holds.error().what);
    if (!*holds) fmt::print(stderr, "note: `when` does not hold for this object: the daemon would not call the hook\n");
  }
  if (!binding->include.empty())
    fmt::print(stderr,
               "note: the snapshots of this call hold this object at most; give a whole call on stdin to try others\n");
  hook::Event event;
  event.type = options.event == "Modified"  ? hook::Event::Type::kModified
               : options.event == "Deleted" ? hook::Event::Type::kDeleted
                                            : hook::Event::Type::kAdded;
  event.binding = binding->name;
  auto object = std::make_shared<cache::Object>();
  static_cast<cache::Identity&>(*object) = incoming;
  object->text = cache::PackedText(incoming.text, nullptr);
  event.object = object;
  if (binding->value) {
    HOOKD_TRY(auto value, binding->value->run(incoming.text));
    event.value = std::make_shared<const std::string>(std::move(value));
  }
  hook::Queue::Item item;
  item.events.push_back(event);
  const auto gather = [&](const std::string& name) {
    hook::Snapshot snapshot;
    if (name == binding->name && event.type != hook::Event::Type::kDeleted)
      snapshot.entries.push_back({event.object, event.value});
    return snapshot;
  };
  hook::CallWriter writer(hook::make_call(hook, item, gather, id, std::chrono::system_clock::now()));
  std::string call;
  for (std::string piece = writer.next(); !piece.empty(); piece = writer.next()) call += piece;
  return call;
}

int report(const hook::Hook& hook, const ReconcileCall* reconcile, const process::ChildExit& exit, std::string output) {
  if (exit.kind != process::ChildExit::Kind::kExited || exit.code != 0) {
    fmt::print(stderr, "{}: {}: nothing would be applied\n", hook.name, exit.describe());
    return 1;
  }
  if (reconcile) return reconcile->report(output);
  auto answer = hook::parse_answer(output);
  if (!answer) {
    fmt::print(stderr, "{}: the answer was not understood: {}\n", hook.name, answer.error().what);
    return 1;
  }
  for (const std::string& line : answer->text)
    fmt::print(stderr, "text outside documents (logged, not applied): {}\n", line);
  for (const std::string& message : answer->messages) fmt::print("message: {}\n", message);
  for (const auto& operation : answer->operations) print_operation(operation);
  if (answer->status) fmt::print("status of the object\n  {}\n", *answer->status);
  if (answer->requeue_after) fmt::print("call again after {}\n", format_duration(*answer->requeue_after));
  if (auto allowed = apply::check_allowed(answer->operations, hook.allow); !allowed) {
    fmt::print(stderr, "{}: {}\n", hook.name, allowed.error().what);
    return 1;
  }
  if (answer->operations.empty() && !answer->status) fmt::print("no operations\n");
  return 0;
}

}  // namespace

int run_call(const CallOptions& options) {
  const auto complain = [](const Error& error) {
    fmt::print(stderr, "hookd call: {}\n", error.what);
    return 1;
  };
  auto hook = find_hook(options);
  if (!hook) return complain(hook.error());
  auto runtime = app::RuntimeDir::make();
  if (!runtime) return complain(runtime.error());
  SystemRandom random;
  const std::string id = make_id(random);

  std::string input;
  std::optional<ReconcileCall> reconcile;
  const auto reconcile_by = [&](Result<ReconcileCall> call) -> Result<void> {
    if (!call) return fail(call.error());
    reconcile = *std::move(call);
    return {};
  };
  if (!options.object_files.empty() && (*hook)->reconcile) {
    if (auto made = reconcile_by(ReconcileCall::from_files(*hook, options)); !made) return complain(made.error());
    input = reconcile->document(id);
  } else if (!options.object_files.empty()) {
    auto call = call_for_object(**hook, options, id);
    if (!call) return complain(call.error());
    input = *std::move(call);
  } else {
    if (::isatty(STDIN_FILENO))
      fmt::print(stderr, "reading the call (JSON) from stdin; --object FILE makes one for you\n");
    input.assign(std::istreambuf_iterator<char>(std::cin), {});
    if (input.find_first_not_of(" \t\r\n") == std::string::npos)
      return complain(
          fail(Errc::kInvalid, "stdin is empty; a call as JSON belongs there, or give --object FILE").error());
    if (auto valid = validate_json(input); !valid) return complain(valid.error().with("stdin"));
    if ((*hook)->reconcile)
      if (auto read = reconcile_by(ReconcileCall::from_document(*hook, input)); !read)
        return complain(read.error().with("stdin"));
  }
  const ReconcileCall* asked = reconcile ? &*reconcile : nullptr;

  if (const auto mode = (*hook)->run.mode; mode != hook::Run::Mode::kOnce) {
    auto answer = mode == hook::Run::Mode::kUrl ? call_url(*hook, id, std::move(input))
                                                : call_worker(*hook, id, std::move(input), options.kubeconfig);
    if (answer) return report(**hook, asked, {}, *std::move(answer));
    fmt::print(stderr, "{}: {}: nothing would be applied\n", (*hook)->name, answer.error().what);
    return 1;
  }

  boost::asio::io_context context{1};
  AsioScheduler scheduler(context);
  process::PosixLauncher launcher(scheduler);
  const std::string answer_file = runtime->path() + "/answer-" + id;
  const auto& run = (*hook)->run;
  process::ChildSpec spec;
  spec.command = run.command;
  spec.directory = run.directory;
  spec.environment = hook::hook_environment(**hook, {id, options.binding, 1, answer_file, options.kubeconfig},
                                            hook::own_environment());
  spec.user = run.user;
  spec.limits = run.limits;
  spec.temp_parent = runtime->path();
  spec.keep_tmpdir = run.env.contains("TMPDIR");
  spec.timeout = run.timeout;
  spec.grace = run.grace;
  std::string output;
  int code = 1;
  process::ChildHandlers handlers;
  handlers.input = [&input] { return std::exchange(input, {}); };
  handlers.on_stdout = [&output](std::string_view bytes) { output += bytes; };
  handlers.on_stderr = [](std::string_view bytes) { fmt::print(stderr, "{}", bytes); };
  handlers.on_exit = [&](process::ChildExit exit) {
    if (auto file = read_file(answer_file); file && !file->empty()) {
      fmt::print(stderr, "{}", output);
      output = *std::move(file);
    }
    code = report(**hook, asked, exit, std::move(output));
    context.stop();
  };
  auto child = launcher.start(std::move(spec), std::move(handlers));
  if (!child) return complain(child.error());
  context.run();
  return code;
}

}  // namespace hookd::cli
