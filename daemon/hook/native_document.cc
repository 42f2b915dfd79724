#include "hook/native_document.h"

#include <filesystem>

#include "config/reader.h"
#include "hook/content_hash.h"
#include "hook/native_batch.h"
#include "hook/native_bindings.h"
#include "hook/native_reconcile.h"
#include "hook/native_run.h"
#include "hook/native_source.h"
#include "hook/native_state.h"

namespace hookd::hook {
namespace {

using config::Node;
using config::Reader;
using std::chrono::hours;
using std::chrono::milliseconds;

bool is_hook_name(std::string_view name) {
  return !name.empty() && name.size() <= 100 && name.front() != '-' && name.front() != '.' && name.back() != '-' &&
         name.back() != '.' && std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
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
    const bool reconciles = spec->has("reconcile");
    if (reconciles) reconcile_defaults(*hook);
    // A worker's calls are to be open at once; unless told otherwise as many as there is room for.
    if (hook->run.mode == Run::Mode::kWorker)
      hook->concurrency = std::min(hook->run.worker.processes * hook->run.worker.calls_at_once, 1000);
    spec->integer("concurrency", hook->concurrency, 1, 1000);
    read_retry(*spec, hook->retry);
    if (!reconciles) {
      read_batch(*spec, hook->batch);
      read_state(*spec, *hook);
    }
    config::read_guard(*spec, hook->guard);
    for (const std::string_view later : {"admission", "conversion"}) spec->unsupported(later);
    const size_t before_bindings = problems.size();
    BindingReaders readers(*spec);
    read_bindings(readers, options.cron_check, *hook);
    executable = executable * 31 + read_sources(readers, options, *hook);
    check_bindings(readers, *hook);
    read_reconcile(*spec, readers, *hook);
    hook->allow = read_allow(*spec);
    const bool called = hook->startup || !hook->schedules.empty() || !hook->sources.empty() ||
                        std::ranges::any_of(hook->watches, [](const WatchBinding& w) { return !w.snapshot_only(); });
    const bool later_trigger = reconciles || spec->has("admission") || spec->has("conversion");
    if (!called && !later_trigger && problems.size() == before_bindings)
      spec->problem_here(hook->watches.empty() ? "nothing ever calls this hook; add watch, schedule, source or startup"
                                               : "nothing ever calls this hook: every watch has events: []; give one "
                                                 "events, or add schedule, source or startup");
    spec->finish();
  }
  top.finish();
  if (problems.size() != before) return nullptr;
  hook->content_hash = hash_document(document, file, executable);
  return hook;
}

}  // namespace hookd::hook
