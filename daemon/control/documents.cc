#include "control/documents.h"

#include <unistd.h>

#include <set>

#include "apply/operation_json.h"
#include "base/time.h"

namespace hookd::control {
namespace {

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

void put(JsonWriter& out, std::string_view key, std::string_view text) {
  if (!text.empty()) out.key(key).string(text);
}
void put_time(JsonWriter& out, std::string_view key, const std::optional<WallTime>& time) {
  if (time) out.key(key).string(format_rfc3339(*time, 3));
}
void put_list(JsonWriter& out, std::string_view key, const std::vector<std::string>& texts, const Mask& mask) {
  out.key(key).begin_array();
  for (const auto& text : texts) out.string(mask.apply(text));
  out.end_array();
}
void put_size(JsonWriter& out, std::string_view key, size_t number) {
  out.key(key).number(static_cast<int64_t>(number));
}

std::string state_of(const app::HookLook& look) {
  if (!look.paused.empty()) return "paused";
  const bool trouble =
      !look.trouble.empty() || std::ranges::any_of(look.bindings, [](const auto& one) { return !one.trouble.empty(); });
  return trouble ? "degraded" : look.ready ? "ready" : "starting";
}

void put_totals(JsonWriter& out, const RunTotals* totals, const Mask& mask) {
  static const RunTotals kNone;
  const RunTotals& shown = totals ? *totals : kNone;
  out.key("calls").begin_object();
  put_size(out, "ok", shown.ok);
  put_size(out, "failed", shown.failed);
  put_time(out, "last", shown.last);
  put(out, "lastResult", shown.last_result);
  put(out, "lastError", mask.apply(shown.last_error));
  put_time(out, "lastErrorAt", shown.last_error_at);
  out.end_object();
}

void put_hook(JsonWriter& out, const app::HookLook& look, const RunTotals* totals, const Mask& mask) {
  out.key("name").string(look.name).key("path").string(look.path).key("mode").string(look.mode);
  out.key("state").string(state_of(look)).key("ready").boolean(look.ready);
  put(out, "paused", mask.apply(look.paused));
  put(out, "trouble", mask.apply(look.trouble));
  if (!look.waits.empty()) put_list(out, "waits", look.waits, mask);
  put_size(out, "waiting", look.waiting);
  put_size(out, "running", look.running);
  put_size(out, "delayed", look.delayed);
  put_size(out, "parked", look.parked);
  put_totals(out, totals, mask);
  out.key("bindings").begin_array();
  for (const auto& binding : look.bindings) {
    out.begin_object().key("name").string(binding.name).key("type").string(binding.type);
    out.key("what").string(mask.apply(binding.what)).key("ready").boolean(binding.ready);
    if (binding.type == "watch" || binding.type == "reconcile") put_size(out, "objects", binding.objects);
    put(out, "trouble", mask.apply(binding.trouble));
    put_time(out, "next", binding.next);
    out.end_object();
  }
  out.end_array();
}

void put_watches(JsonWriter& out, const app::Engine& engine) {
  std::set<const kube::Informer*> seen;
  out.key("watches").begin_array();
  for (const auto& [name, unit] : engine.units())
    for (const auto& informer : unit->informers()) {
      if (!seen.insert(informer.get()).second) continue;
      const auto error = informer->error();
      out.begin_object().key("collection").string(informer->key().display());
      out.key("up").boolean(!error && informer->synced());
      put_size(out, "objects", informer->store().size());
      put_size(out, "storedBytes", informer->store().stored_bytes());
      if (const auto* reflector = informer->reflector()) {
        put_size(out, "lists", reflector->health().lists);
        put_size(out, "watchesOpened", reflector->health().watches);
        put_size(out, "events", reflector->health().events);
      }
      if (error) out.key("error").string(error->what);
      out.end_object();
    }
  out.end_array();
}

void put_use(JsonWriter& out, const app::LeftFinalizers::Use& use) {
  out.key("hook").string(use.hook).key("finalizer").string(use.held.finalizer);
  out.key("apiVersion").string(use.held.api_version).key("kind").string(use.held.kind);
  const auto put_namespaces = [&](std::string_view key, const std::vector<std::string>& namespaces) {
    if (namespaces.empty()) return;
    out.key(key).begin_array();
    for (const std::string& ns : namespaces) out.string(ns);
    out.end_array();
  };
  put_namespaces("namespaces", use.held.namespaces);
  put_namespaces("otherNamespacesThan", use.but);
}

std::string_view text_of(hook::CallResult::Then then) {
  using Then = hook::CallResult::Then;
  return then == Then::kDone ? "done" : then == Then::kRetry ? "retry" : "give up";
}

void put_run(JsonWriter& out, const Run& run, const Mask& mask) {
  out.key("hook").string(run.hook).key("id").string(run.id).key("reason").string(run.reason);
  out.key("attempt").number(int64_t{run.attempt}).key("started").string(format_rfc3339(run.started, 3));
  put_size(out, "events", run.input.events);
  out.key("about").string(about(run));
  if (run.only_operations) out.key("onlyOperations").boolean(true);
  out.key("result").string(run.ended ? run.result : "running");
  put(out, "error", mask.apply(run.error));
  if (!run.ended) return;
  out.key("then").string(text_of(run.then));
  if (run.requeue_after) out.key("requeueAfter").string(format_duration(*run.requeue_after));
  out.key("wallSeconds").number(seconds(run.wall));
  if (!run.exit) return;
  out.key("cpuSeconds").number(seconds(run.exit->cpu));
  if (run.exit->max_rss_bytes > 0) put_size(out, "memoryBytes", run.exit->max_rss_bytes);
  out.key("exit").string(mask.apply(run.exit->describe()));
}

// Of the hook as it was when it ran, and of those that there are.
struct Masks {
  const Run& run;
  const Mask& mask;
  std::string text(const std::string& text) const { return mask.apply(run.mask ? run.mask->apply(text) : text); }
  std::string json(const std::string& text) const {
    return mask.apply_to_json(run.mask ? run.mask->apply_to_json(text) : text);
  }
};

}  // namespace

std::string about(const Run& run) {
  if (!run.input.call || run.input.call->events.empty()) return "";
  const auto& events = run.input.call->events;
  const auto name = [](const hook::Event& event) {
    if (event.object && !event.causes.empty())
      return fmt::format("{} {} {}", event.causes.back().type, event.causes.back().binding, event.object->key());
    return event.object ? fmt::format("{} {} {}", hook::to_string(event.type), event.binding, event.object->key())
                        : fmt::format("{} {}", hook::to_string(event.type), event.binding);
  };
  if (run.input.events == 1) return name(events.front());
  return fmt::format("{} and {} more", name(events.front()), run.input.events - 1);
}

Mask mask_of(const app::Engine& engine) {
  Mask mask;
  for (const auto& [name, unit] : engine.units()) mask.add(unit->hook().run.env);
  return mask;
}

std::string status_document(const app::DaemonLook& daemon, const app::Engine& engine, const RunHistory& history,
                            const Mask& mask) {
  JsonWriter out;
  out.begin_object().key("version").string(HOOKD_VERSION).key("pid").number(int64_t{::getpid()});
  out.key("started").string(format_rfc3339(daemon.started, 3)).key("uptimeSeconds").number(seconds(daemon.uptime));
  out.key("server").string(daemon.server).key("dryRun").boolean(daemon.dry_run);
  put(out, "listen", daemon.listen);
  out.key("ready").boolean(daemon.ready);
  put_list(out, "reasons", daemon.reasons, mask);
  put_list(out, "degraded", daemon.degraded, mask);
  put_size(out, "memoryBytes", daemon.resident_bytes);
  out.key("loopLagSeconds").number(seconds(daemon.loop_lag));
  out.key("config").begin_object();
  put(out, "file", daemon.config_file);
  put(out, "problem", daemon.config_problem);
  put_list(out, "needsRestart", daemon.config_restart, mask);
  out.end_object();
  put_watches(out, engine);
  out.key("hooks").begin_array();
  for (const auto& look : engine.looks()) {
    out.begin_object();
    put_hook(out, look, history.totals(look.name), mask);
    out.end_object();
  }
  out.end_array().key("broken").begin_array();
  for (const auto& error : engine.load_errors()) {
    out.begin_object().key("file").string(error.file);
    out.key("line").number(int64_t{error.line}).key("column").number(int64_t{error.column});
    out.key("message").string(mask.apply(error.message)).end_object();
  }
  out.end_array().key("leftFinalizers").begin_array();
  for (const auto& use : engine.finalizers_left()) {
    put_use(out.begin_object(), use);
    out.end_object();
  }
  return std::move(out.end_array().end_object()).take();
}

std::string finalizers_document(const std::vector<app::LeftFinalizers::Found>& found, const Mask& mask) {
  JsonWriter out;
  out.begin_object().key("finalizers").begin_array();
  for (const auto& one : found) {
    put_use(out.begin_object(), one.use);
    put_size(out, "objects", one.objects);
    put_size(out, "ending", one.ending);
    out.key("whole").boolean(one.whole);
    put_list(out, "names", one.names, mask);
    put(out, "trouble", mask.apply(one.trouble));
    out.end_object();
  }
  return std::move(out.end_array().end_object()).take();
}

std::string dropped_document(const app::LeftFinalizers::Dropped& dropped, const Mask& mask) {
  JsonWriter out;
  out.begin_object();
  put_size(out, "taken", dropped.taken);
  out.key("dryRun").boolean(dropped.dry_run);
  put_list(out, "problems", dropped.problems, mask);
  return std::move(out.end_object()).take();
}

std::string hook_document(const app::HookLook& look, const RunTotals* totals, const Mask& mask) {
  JsonWriter out;
  out.begin_object();
  put_hook(out, look, totals, mask);
  return std::move(out.end_object()).take();
}

std::string queue_document(const std::vector<app::QueueRow>& rows, bool cut, const Mask& mask) {
  JsonWriter out;
  out.begin_object().key("rows").begin_array();
  for (const auto& row : rows) {
    out.begin_object().key("hook").string(row.hook).key("key").string(row.key).key("state").string(row.state);
    put(out, "id", row.id);
    put_size(out, "events", row.events);
    out.key("attempt").number(int64_t{row.attempt});
    put_time(out, "due", row.due);
    put_time(out, "since", row.since);
    put(out, "error", mask.apply(row.error));
    out.end_object();
  }
  return std::move(out.end_array().key("cut").boolean(cut).end_object()).take();
}

std::string runs_document(const std::vector<const Run*>& runs, const Mask& mask) {
  JsonWriter out;
  out.begin_object().key("runs").begin_array();
  for (const Run* run : runs) {
    out.begin_object();
    put_run(out, *run, mask);
    out.end_object();
  }
  return std::move(out.end_array().end_object()).take();
}

std::string run_document(const Run& run, const Mask& mask) {
  const Masks masks{run, mask};
  JsonWriter out;
  out.begin_object();
  put_run(out, run, mask);
  out.key("answered").boolean(run.answered);
  put(out, "answer", masks.text(run.answer));
  out.key("operations").begin_array();
  for (const auto& operation : run.operations)
    out.raw(masks.json(boost::json::serialize(apply::operation_json(operation))));
  out.end_array();
  if (run.operations_left_out > 0) put_size(out, "operationsLeftOut", run.operations_left_out);
  out.key("messages").begin_array();
  for (const auto& message : run.messages) out.string(masks.text(message));
  out.end_array().key("outcomes").begin_array();
  for (const auto& note : run.outcomes) {
    out.begin_object().key("operation").string(note.operation).key("outcome").string(note.outcome);
    put(out, "text", masks.text(note.text));
    if (note.http_status > 0) out.key("httpStatus").number(int64_t{note.http_status});
    put(out, "reason", note.reason);
    put(out, "diff", masks.text(note.diff));
    out.end_object();
  }
  out.end_array();
  if (run.outcomes_left_out > 0) put_size(out, "outcomesLeftOut", run.outcomes_left_out);
  out.key("stderr").string(masks.text(run.said));
  if (run.said_left_out_bytes > 0) put_size(out, "stderrLeftOutBytes", run.said_left_out_bytes);
  out.key("inputWhole").boolean(run.input.whole());
  if (run.input.masked) out.key("inputMasked").boolean(true);
  if (run.input.texts_left_out > 0) put_size(out, "inputTextsLeftOut", run.input.texts_left_out);
  if (run.input.entries_left_out > 0) put_size(out, "inputEntriesLeftOut", run.input.entries_left_out);
  if (run.input.call) out.key("input").raw(input_document(run, mask));
  return std::move(out.end_object()).take();
}

std::string input_document(const Run& run, const Mask& mask) {
  std::string text;
  hook::CallWriter writer(run.input.call);
  for (std::string piece = writer.next(); !piece.empty(); piece = writer.next()) text += piece;
  while (text.ends_with('\n')) text.pop_back();
  return Masks{run, mask}.json(text);
}

std::string error_document(std::string_view why) {
  JsonWriter out;
  return std::move(out.begin_object().key("error").string(why).end_object()).take();
}

}  // namespace hookd::control
