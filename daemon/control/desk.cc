#include "control/desk.h"

#include <set>

#include "base/log.h"
#include "config/nearest.h"
#include "control/documents.h"
#include "control/paths.h"

namespace hookd::control {
namespace {

constexpr std::string_view kActs[] = {kRetryPath, kDropPath, kPausePath, kResumePath, kReloadPath};

std::string count_document(std::string_view what, size_t count) {
  JsonWriter out;
  return std::move(out.begin_object().key(what).number(static_cast<int64_t>(count)).end_object()).take();
}

}  // namespace

net::ServerResponse Desk::refuse(const Error& error) {
  const int status = error.code == Errc::kInvalid    ? 400
                     : error.code == Errc::kNotFound ? 404
                     : error.code == Errc::kConflict ? 409
                                                     : 500;
  return {.status = status, .content_type = "application/json", .body = error_document(error.what)};
}

net::ServerResponse Desk::answer(const net::ServerRequest& request) const {
  const auto query = Query::parse(request.query);
  if (!query) return refuse(query.error());
  const bool act = std::ranges::find(kActs, request.path) != std::end(kActs);
  if (request.method != (act ? "POST" : "GET"))
    return {.status = 405,
            .content_type = "application/json",
            .body = error_document(fmt::format("{} is for {}", request.path, act ? "POST" : "GET"))};
  if (act)
    log::info("told over the control socket", {{"path", request.path}, {"query", request.query}, {"by", request.peer}});
  auto body = act ? this->act(request.path, *query) : read(request.path, *query);
  if (!body) return refuse(body.error());
  return {.status = 200, .content_type = "application/json", .body = *std::move(body) + "\n"};
}

Result<app::HookUnit*> Desk::find_hook(const std::string& name) const {
  if (auto* unit = subject_.engine.find(name)) return unit;
  if (name.empty()) return fail(Errc::kInvalid, "which hook? Its name is missing");
  std::set<std::string, std::less<>> known;
  for (const auto& [known_name, unit] : subject_.engine.units()) known.insert(known_name);
  for (const auto& error : subject_.engine.load_errors())
    if (error.file.contains("/" + name + "/") || error.file.ends_with("/" + name + ".hook.yaml"))
      return fail(Errc::kNotFound, "no hook \"{}\" runs: {}", name, mask_of(subject_.engine).apply(error.text()));
  return fail(Errc::kNotFound, "no hook \"{}\"{}", name, config::hint(name, known));
}

Result<void> Desk::check_hook(const std::string& name) const {
  HOOKD_TRY([[maybe_unused]] const auto* unit, find_hook(name));
  return {};
}

Result<const Run*> Desk::find_run(const Query& query) const {
  const std::string id = query.text("id");
  const Run* run = subject_.history.find(id);
  if (!run)
    return fail(Errc::kNotFound,
                "no call \"{}\" is kept (or several begin like that); the last ones are (see `runs.keep`)", id);
  return run;
}

Desk::Answer Desk::read(std::string_view path, const Query& query) const {
  const auto& [engine, history, look, reload] = subject_;
  const std::string hook = query.text("hook");
  const Mask mask = mask_of(engine);
  if (path == kStatusPath) return status_document(look(), engine, history, mask);
  if (path == kHookPath) {
    HOOKD_TRY(const auto* unit, find_hook(hook));
    return hook_document(unit->look(), history.totals(hook), mask);
  }
  if (path == kRunPath) {
    HOOKD_TRY(const Run* run, find_run(query));
    return run_document(*run, mask);
  }
  if (path == kInputPath) {
    HOOKD_TRY(const Run* run, find_run(query));
    if (!run->input.call) return fail(Errc::kNotFound, "no input of call {} is kept", run->id);
    if (run->input.texts_left_out + run->input.entries_left_out > 0)
      return fail(Errc::kConflict,
                  "the input of call {} was too large to be kept whole ({} bytes are); `hookd runs {}` "
                  "shows what there is",
                  run->id, RunHistory::kInputBytes, run->id);
    return input_document(*run, mask);
  }
  if (path == kQueuePath || path == kRunsPath) {
    HOOKD_TRY(const size_t limit, query.number("limit", path == kRunsPath ? 20 : 1000, 1, kMostRows));
    // Of a hook that was removed the calls are still there.
    if (!hook.empty() && (path == kQueuePath || !history.totals(hook))) HOOKD_CHECK(check_hook(hook));
    if (path == kRunsPath) return runs_document(history.list({hook, query.flag("failed"), limit}), mask);
    auto rows = engine.rows(hook, limit + 1);
    const bool cut = rows.size() > limit;
    if (cut) rows.resize(limit);
    return queue_document(rows, cut, mask);
  }
  return fail(Errc::kNotFound, "hookd " HOOKD_VERSION " has no {}; is the command of another version than the daemon?",
              path);
}

Desk::Answer Desk::act(std::string_view path, const Query& query) const {
  if (path == kReloadPath) {
    subject_.reload("hookd reload");
    const auto look = subject_.look();
    JsonWriter out;
    out.begin_object().key("hooks").number(static_cast<int64_t>(subject_.engine.units().size()));
    out.key("broken").number(static_cast<int64_t>(subject_.engine.load_errors().size()));
    out.key("configProblem").string(look.config_problem).key("needsRestart").begin_array();
    for (const auto& key : look.config_restart) out.string(key);
    return std::move(out.end_array().end_object()).take();
  }
  if (path == kRetryPath || path == kDropPath) return retry_or_drop(path == kRetryPath, query);
  HOOKD_TRY(auto* unit, find_hook(query.text("hook")));
  if (path == kPausePath) {
    const std::string reason = query.text("reason");
    if (reason.size() > 1000)
      return fail(Errc::kInvalid, "the reason has {} bytes, at most 1000 are taken", reason.size());
    unit->pause(reason.empty() ? "by hand" : reason);
  } else {
    if (unit->paused().empty()) return fail(Errc::kConflict, "{} is not paused", unit->hook().name);
    unit->resume();
  }
  return hook_document(unit->look(), subject_.history.totals(unit->hook().name), mask_of(subject_.engine));
}

Desk::Answer Desk::retry_or_drop(bool retry, const Query& query) const {
  HOOKD_TRY(auto* unit, find_hook(query.text("hook")));
  const std::string what = query.text("what");
  if (what.empty() && !query.flag("all"))
    return fail(Errc::kInvalid, "which? Give a KEY or ID of `hookd queue {}`, or --all", unit->hook().name);
  const size_t count = retry ? unit->retry(what) : unit->drop(what);
  if (count == 0 && !what.empty())
    return fail(
        Errc::kNotFound,
        "nothing of {} with the key or id \"{}\" is parked or waits for its next try; `hookd queue {}` shows both",
        unit->hook().name, what, unit->hook().name);
  return count_document(retry ? "retried" : "dropped", count);
}

}  // namespace hookd::control
