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
  return health;
}

void Daemon::serve(net::ServerRequest& request, const net::Responder& respond) {
  if (routes_.serve(request, respond)) return;
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
