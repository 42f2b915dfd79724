// What the daemon tells over HTTP: /metrics, /healthz, /readyz.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "app/daemon.h"

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

}  // namespace

Engine::Health Daemon::health() const {
  auto health = engine_.health();
  if (stopping_) {
    health.ready = false;
    health.reasons.insert(health.reasons.begin(), "stopping");
  }
  if (const auto trouble = state_.trouble()) {
    // Before it is known no hook starts.
    if (!state_.known()) health.ready = false;
    (state_.known() ? health.degraded : health.reasons).push_back(*trouble);
  }
  if (!config_problem_.empty())
    health.degraded.push_back("the changed config is broken, the one before goes on: " + config_problem_);
  return health;
}

DaemonLook Daemon::look() const {
  auto now = health();
  DaemonLook look;
  look.uptime = scheduler_.now() - started_;
  look.started = scheduler_.wall_now() - look.uptime;
  look.server = server_description_;
  look.dry_run = config_.dry_run;
  look.ready = now.ready;
  look.reasons = std::move(now.reasons);
  look.degraded = std::move(now.degraded);
  look.resident_bytes = static_cast<uint64_t>(resident_bytes());
  look.loop_lag = std::max(lag_worst_, lag_worst_before_);
  look.listen = config_.listen;
  look.config_file = source_.file;
  look.config_problem = config_problem_;
  look.config_restart = config_restart_;
  return look;
}

void Daemon::serve(net::ServerRequest& request, const net::Responder& respond) {
  if (routes_.serve(request, respond)) return;
  net::ServerResponse response;
  const bool own =
      request.path == "/metrics" || request.path == "/healthz" || request.path == "/livez" || request.path == "/readyz";
  if (request.method != "GET" && request.method != "HEAD") {
    response.status = own ? 405 : 404;
    response.body = own ? "only GET is answered here\n" : "no source of a hook takes requests at this path\n";
  } else if (request.path == "/metrics") {
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.body = metrics_.text();
  } else if (request.path == "/healthz" || request.path == "/livez") {
    response.body = "ok\n";
  } else if (request.path == "/readyz") {
    const auto now = health();
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
  engine_.update_gauges();
  metrics_.set("process_resident_memory_bytes", {}, resident_bytes());
  metrics_.set("process_open_fds", {}, open_descriptors());
}

}  // namespace hookd::app
