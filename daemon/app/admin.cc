// What the daemon tells over HTTP: /metrics, /healthz, /readyz.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "app/daemon.h"
#include "base/log.h"

namespace hookd::app {
namespace {

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double open_descriptors() {
  std::error_code error;
  double count = 0;
  for (std::filesystem::directory_iterator it("/proc/self/fd", error), end; it != end; it.increment(error)) ++count;
  return count;
}

// A resource that is not there (yet) or may not be read is the user's business, not a reason to restart the pod.
bool lasting(const Error& error) {
  return error.code == Errc::kNotFound || error.code == Errc::kForbidden || error.code == Errc::kInvalid;
}

}  // namespace

Daemon::Health Daemon::health() const {
  Health health;
  health.ready = !stopping_;
  if (stopping_) health.reasons.emplace_back("stopping");
  for (const auto& [name, unit] : units_) {
    // Without a single answer of discovery nothing is excused: the server may not be one at all.
    const bool excused_at_all = !discovery_.table().entries.empty();
    bool excused = excused_at_all;
    for (const auto& [binding, error] : unit->troubles()) {
      const std::string line = name + "/" + binding + ": " + error.what;
      (unit->ready() || (excused_at_all && lasting(error)) ? health.degraded : health.reasons).push_back(line);
      excused &= lasting(error);
    }
    if (unit->ready() || (excused && !unit->troubles().empty())) continue;
    health.ready = false;
    if (unit->troubles().empty()) health.reasons.push_back(name + ": the first list is not complete yet");
  }
  if (!health.reasons.empty()) health.ready = false;
  if (!kubeconfig_problem_.empty()) health.degraded.push_back("hooks get no kubeconfig: " + kubeconfig_problem_);
  for (const auto& error : load_errors_) health.degraded.push_back("broken hook: " + error.text());
  for (const auto& [name, unit] : units_)
    if (!unit->parked().empty())
      health.degraded.push_back(fmt::format("{}: {} item(s) given up and parked", name, unit->parked().size()));
  return health;
}

void Daemon::serve(const net::ServerRequest& request, const net::Responder& respond) {
  net::ServerResponse response;
  if (request.method != "GET" && request.method != "HEAD") {
    response.status = 405;
    response.body = "only GET is answered here\n";
  } else if (request.path == "/metrics") {
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.body = metrics_.text();
  } else if (request.path == "/healthz" || request.path == "/livez") {
    response.body = "ok\n";
  } else if (request.path == "/readyz") {
    const Health now = health();
    response.status = now.ready ? 200 : 503;
    response.body = now.ready ? "ok\n" : "not ready\n";
    for (const std::string& reason : now.reasons) response.body += reason + "\n";
    for (const std::string& line : now.degraded) response.body += "degraded: " + line + "\n";
  } else {
    response.status = 404;
    response.body = "hookd " HOOKD_VERSION "\n/metrics  /healthz  /readyz\n";
  }
  respond(std::move(response));
}

void Daemon::update_gauges() {
  metrics_.remove("hookd_objects", {});
  metrics_.remove("hookd_object_bytes", {});
  metrics_.remove("hookd_watch_up", {});
  for (const char* name : {"hookd_queue_keys", "hookd_queue_delayed", "hookd_parked", "hookd_lists", "hookd_watches",
                           "hookd_watch_events"})
    metrics_.remove(name, {});
  for (const auto& informer : pool_.all()) {
    const std::string resource =
        informer->type()
            ? informer->type()->plural + (informer->type()->group.empty() ? "" : "." + informer->type()->group)
            : informer->key().kind;
    metrics::Labels labels{{"resource", resource},
                           {"namespace", informer->key().ns},
                           {"selector", informer->key().label_selector + informer->key().field_selector}};
    metrics_.set("hookd_objects", labels, static_cast<double>(informer->store().size()));
    metrics_.set("hookd_watch_up", labels, informer->reflector() && !informer->error() && informer->synced() ? 1 : 0);
    if (const auto* reflector = informer->reflector()) {
      metrics_.set("hookd_lists", labels, static_cast<double>(reflector->health().lists));
      metrics_.set("hookd_watches", labels, static_cast<double>(reflector->health().watches));
      metrics_.set("hookd_watch_events", labels, static_cast<double>(reflector->health().events));
    }
    labels["form"] = "stored";
    metrics_.set("hookd_object_bytes", labels, static_cast<double>(informer->store().stored_bytes()));
    labels["form"] = "raw";
    metrics_.set("hookd_object_bytes", labels, static_cast<double>(informer->store().raw_bytes()));
  }
  for (const auto& [name, unit] : units_) {
    metrics_.set("hookd_queue_keys", {{"hook", name}}, static_cast<double>(unit->queue().keys()));
    metrics_.set("hookd_queue_delayed", {{"hook", name}}, static_cast<double>(unit->queue().delayed()));
    metrics_.set("hookd_parked", {{"hook", name}}, static_cast<double>(unit->parked().size()));
  }
  metrics_.set("hookd_hooks", {{"state", "loaded"}}, static_cast<double>(units_.size()));
  metrics_.set("hookd_hooks", {{"state", "broken"}}, static_cast<double>(load_errors_.size()));
  metrics_.set("process_resident_memory_bytes", {}, resident_bytes());
  metrics_.set("process_open_fds", {}, open_descriptors());
}

}  // namespace hookd::app
