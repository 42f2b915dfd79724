#include "hook/native_run.h"

#include <cstdlib>
#include <filesystem>

#include "hook/native_url.h"
#include "hook/script_check.h"
#include "process/program.h"

namespace hookd::hook {
namespace {

using config::Node;
using config::Reader;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

bool is_env_name(std::string_view name) {
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
  });
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

// What belongs to processes that stay.
void read_worker(Reader& r, Run& run) {
  Worker& worker = run.worker;
  const bool is_worker = run.mode == Run::Mode::kWorker;
  if (!is_worker)
    for (const std::string_view key : {"callsAtOnce", "ready", "readyTimeout", "maxCalls", "maxMemory"})
      if (r.has(key)) r.problem(key, "is for processes that stay; add mode: worker, or take it away");
  if (r.integer("workers", worker.processes, 1, 1000) && worker.processes > 1 && !is_worker)
    r.problem("workers", "more than 1 is for processes that stay; add mode: worker, or take it away");
  r.integer("callsAtOnce", worker.calls_at_once, 1, 10'000);
  r.one_of("ready", worker.says_ready, {{"start", false}, {"line", true}});
  r.duration("readyTimeout", worker.ready_timeout, milliseconds(1), hours(24));
  if (is_worker && r.has("readyTimeout") && !worker.says_ready)
    r.problem("readyTimeout", "nothing is waited for without ready: line; add it, or take this away");
  r.integer("maxCalls", worker.max_calls, int64_t{0}, int64_t{1'000'000'000'000});
  r.quantity("maxMemory", worker.max_memory_bytes, 1u << 20);
}

}  // namespace

uint64_t read_run(Reader& spec, const LoadOptions& options, Run& run) {
  spec.require("run");
  auto r = spec.map("run");
  if (!r) return 0;
  read_url(*r, run);
  if (!r->has("url")) r->require("command");
  const bool has_command = r->words("command", run.command);
  if (has_command && (run.command.empty() || run.command[0].empty())) {
    r->problem("command", "is empty; expected a program and its arguments such as [./hook.sh]");
    run.command.clear();
  }
  r->one_of("mode", run.mode, {{"once", Run::Mode::kOnce}, {"worker", Run::Mode::kWorker}});
  read_worker(*r, run);
  r->duration("timeout", run.timeout, milliseconds(1), hours(24 * 7));
  r->duration("grace", run.grace, Duration{0}, hours(1));
  r->string_map("env", run.env);
  check_env_names(*r);
  read_inherit_env(*r, run);
  read_user(*r, run.user);
  read_limits(*r, run.limits);
  r->finish();
  if (run.command.empty()) return 0;
  return settle_command(*r, run, options, run.command);
}

std::string from_folder(const std::string& folder, const std::string& path) {
  return (std::filesystem::path(folder) / path).lexically_normal().string();  // an absolute one stays
}

uint64_t settle_command(Reader& r, const Run& run, const LoadOptions& options, std::vector<std::string>& command) {
  std::string& program = command[0];
  if (program.find('/') != std::string::npos) program = from_folder(run.directory, program);
  if (!options.check_files) return 0;
  std::string search_path = options.path;
  if (const auto own = run.env.find("PATH"); own != run.env.end()) search_path = own->second;
  if (search_path.empty()) {
    const char* inherited = std::getenv("PATH");
    search_path = inherited == nullptr ? process::kDefaultPath : std::string_view(inherited);
  }
  const auto executable = check_executable(program, run.directory, search_path);
  if (executable) return executable->identity;
  r.problem("command", executable.error().what);
  return 0;
}

}  // namespace hookd::hook
