#include "hook/native_document.h"

#include <cstdlib>
#include <filesystem>

#include "config/reader.h"
#include "hook/content_hash.h"
#include "hook/native_bindings.h"
#include "hook/script_check.h"
#include "process/program.h"

namespace hookd::hook {
namespace {

using config::Node;
using config::Reader;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kNotSupported = "not supported by this version of hookd";

bool is_hook_name(std::string_view name) {
  return !name.empty() && name.size() <= 100 && name.front() != '-' && name.front() != '.' && name.back() != '-' &&
         name.back() != '.' && std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

bool is_env_name(std::string_view name) {
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
  });
}

void read_metadata(Reader& top, Hook& hook) {
  top.require("metadata");
  auto r = top.map("metadata");
  if (!r) return;
  hook.line = r->at("name").line;
  hook.column = r->at("name").column;
  if (r->required_string("name", hook.name) && !is_hook_name(hook.name))
    r->problem(
        "name",
        fmt::format(
            "\"{}\" is no hook name; expected up to 100 lower case letters, digits, '-' and '.', the first and last a "
            "letter or digit",
            hook.name));
  r->finish();
}

void read_limits(Reader& run, process::Limits& out) {
  auto r = run.map("limits");
  if (!r) return;
  uint64_t number = 0;
  if (r->quantity("memory", number, 1u << 20)) out.memory_bytes = number;
  if (Duration cpu{0}; r->duration("cpu", cpu, seconds(1), hours(24 * 366))) out.cpu = cpu;
  if (r->integer<uint64_t>("files", number, 4, 1u << 30)) out.open_files = number;
  if (r->integer<uint64_t>("processes", number, 1, 1u << 30)) out.processes = number;
  r->finish();
}

void check_env_names(Reader& r) {
  const Node* env = r.raw("env");
  if (env == nullptr) return;
  for (const config::Entry& entry : env->entries) {
    if (!is_env_name(entry.key))
      r.problems().add(entry.at, r.path_of("env"), "\"{}\" is no name of an environment variable", entry.key);
    else if (entry.key.starts_with("HOOKD_"))
      r.problems().add(entry.at, r.path_of("env"), "{} is set by hookd itself; choose a name without HOOKD_",
                       entry.key);
  }
}

void read_inherit_env(Reader& r, Run& run) {
  const Node* node = r.raw("inheritEnv");
  if (node == nullptr) return;
  if (node->kind == Node::Kind::kList) {
    run.inherit_all = false;
    r.string_list("inheritEnv", run.inherit_only);
    for (size_t i = 0; i < run.inherit_only.size(); ++i)
      if (!is_env_name(run.inherit_only[i]))
        r.problem("inheritEnv", i, fmt::format("\"{}\" is no name of an environment variable", run.inherit_only[i]));
  } else if (node->kind == Node::Kind::kMap || node->kind == Node::Kind::kNull) {
    r.problem("inheritEnv", fmt::format("expected true, false or a list of names, found {}", node->describe()));
  } else {
    r.boolean("inheritEnv", run.inherit_all);
  }
}

void read_user(Reader& r, std::string& user) {
  if (const Node* node = r.raw("user"); node != nullptr && node->kind == Node::Kind::kInt) {  // a uid
    user = node->text;
  } else if (!r.string("user", user)) {
    return;
  }
  const size_t colon = user.find(':');
  const bool good =
      user.find_first_of(" \t\n/") == std::string::npos && colon != 0 &&
      (colon == std::string::npos || (user.find(':', colon + 1) == std::string::npos && colon + 1 < user.size()));
  if (!good || user[0] == '-' || user[0] == '+')
    r.problem("user",
              fmt::format("\"{}\" is no user; expected a name or uid, with or without a group: nobody, 1000, 1000:1000",
                          user));
}

// command[0] with a slash is meant from the hook's folder.
void resolve_command(Run& run) {
  std::string& program = run.command[0];
  if (program.find('/') == std::string::npos) return;
  const std::filesystem::path path(program);
  program = (path.is_absolute() ? path : std::filesystem::path(run.directory) / path).lexically_normal().string();
}

// Returns the executable's identity.
uint64_t check_command(Reader& r, const Run& run, const LoadOptions& options) {
  std::string search_path = options.path;
  if (const auto own = run.env.find("PATH"); own != run.env.end()) search_path = own->second;
  if (search_path.empty()) {
    const char* inherited = std::getenv("PATH");
    search_path = inherited == nullptr ? process::kDefaultPath : std::string_view(inherited);
  }
  const auto executable = check_executable(run.command[0], run.directory, search_path);
  if (executable) return executable->identity;
  r.problem("command", executable.error().what);
  return 0;
}

uint64_t read_run(Reader& spec, const LoadOptions& options, Run& run) {
  spec.require("run");
  auto r = spec.map("run");
  if (!r) return 0;
  r->unsupported("url");
  if (!r->has("url")) r->require("command");
  const bool has_command = r->words("command", run.command);
  if (has_command && (run.command.empty() || run.command[0].empty())) {
    r->problem("command", "is empty; expected a program and its arguments such as [./hook.sh]");
    run.command.clear();
  }
  std::string mode;
  if (r->one_of<std::string>("mode", mode, {{"once", "once"}, {"worker", "worker"}}) && mode == "worker")
    r->problem("mode", fmt::format("worker is {}; write once", kNotSupported));
  r->duration("timeout", run.timeout, milliseconds(1), hours(24 * 7));
  r->duration("grace", run.grace, Duration{0}, hours(1));
  r->string_map("env", run.env);
  check_env_names(*r);
  read_inherit_env(*r, run);
  if (int workers = 1; r->integer("workers", workers, 1, 1000) && workers > 1)
    r->problem("workers", fmt::format("more than 1 is {}", kNotSupported));
  read_user(*r, run.user);
  read_limits(*r, run.limits);
  r->finish();
  if (run.command.empty()) return 0;
  resolve_command(run);
  return options.check_files ? check_command(*r, run, options) : 0;
}

void read_batch(Reader& spec) {
  auto r = spec.map("batch");
  if (!r) return;
  if (int max = 1; r->integer("max", max, 1, 1'000'000) && max > 1)
    r->problem("max", fmt::format("more than 1 is {}", kNotSupported));
  if (Duration window{0}; r->duration("window", window, Duration{0}, hours(24)) && window > Duration{0})
    r->problem("window", fmt::format("more than 0s is {}", kNotSupported));
  r->finish();
}

void read_retry(Reader& spec, Retry& retry) {
  auto r = spec.map("retry");
  if (!r) return;
  r->duration("initial", retry.initial, milliseconds(1), hours(24));
  r->duration("max", retry.max, milliseconds(1), hours(24 * 7));
  if (retry.max < retry.initial) r->problem(r->has("max") ? "max" : "initial", "max is shorter than initial");
  r->integer("attempts", retry.attempts, 0, 1'000'000);
  r->one_of("onGiveUp", retry.on_give_up, {{"park", Retry::GiveUp::kPark}, {"drop", Retry::GiveUp::kDrop}});
  r->finish();
}

// The document without its layout and comments: those restart no hook.
uint64_t hash_document(const Node& document, const std::string& file, uint64_t executable) {
  std::string text = file + '\n';
  // A valid hook has only values that JSON can write; if not, what was written so far still tells it apart.
  [[maybe_unused]] const auto whole = config::append_json(text, document);
  return content_hash(text, executable);
}

}  // namespace

std::shared_ptr<const Hook> read_hook_document(const Node& document, const std::string& file,
                                               const LoadOptions& options, config::Problems& problems) {
  const size_t before = problems.size();
  auto hook = std::make_shared<Hook>();
  hook->path = file;
  hook->run.directory = std::filesystem::path(file).parent_path().string();

  Reader top(document, "", problems);
  if (problems.size() != before) return nullptr;
  std::string version, kind;
  if (top.required_string("apiVersion", version) && version != "hookd/v1")
    top.problem("apiVersion", fmt::format("expected hookd/v1, found \"{}\"", version));
  if (top.required_string("kind", kind) && kind != "Hook")
    top.problem("kind", fmt::format("expected Hook, found \"{}\"", kind));
  read_metadata(top, *hook);
  top.require("spec");
  uint64_t executable = 0;
  if (auto spec = top.map("spec")) {
    executable = read_run(*spec, options, hook->run);
    spec->integer("concurrency", hook->concurrency, 1, 1000);
    read_batch(*spec);
    read_retry(*spec, hook->retry);
    for (const std::string_view later : {"source", "reconcile", "admission", "conversion", "guard"})
      spec->unsupported(later);
    const size_t before_bindings = problems.size();
    BindingReaders readers(*spec);
    read_bindings(readers, options.cron_check, *hook);
    check_bindings(readers, *hook);
    hook->allow = read_allow(*spec);
    const bool called = hook->startup || !hook->schedules.empty() ||
                        std::ranges::any_of(hook->watches, [](const WatchBinding& w) { return !w.snapshot_only(); });
    const bool later_trigger =
        spec->has("source") || spec->has("reconcile") || spec->has("admission") || spec->has("conversion");
    if (!called && !later_trigger && problems.size() == before_bindings)
      spec->problem_here(hook->watches.empty() ? "nothing ever calls this hook; add watch, schedule or startup"
                                               : "nothing ever calls this hook: every watch has events: []; give one "
                                                 "events, or add schedule or startup");
    spec->finish();
  }
  top.finish();
  if (problems.size() != before) return nullptr;
  hook->content_hash = hash_document(document, file, executable);
  return hook;
}

}  // namespace hookd::hook
