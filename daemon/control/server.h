// The control socket: HTTP/1.1 for root and the daemon's own user; paths and shapes in README.md. Thread: loop only.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>

#include "base/log_ring.h"
#include "config/daemon_config.h"
#include "control/desk.h"
#include "net/http_server.h"

namespace hookd::control {

class Server {
 public:
  // Errors: as UnixListener::open().
  static Result<std::unique_ptr<Server>> open(AsioScheduler& scheduler, const std::string& path, Subject subject,
                                              log::Ring& ring);
  // By the rules of control/places.h. `asked` unset = the default places, "" = off. Null: off, or (with a warning in
  // the log) no default place can be had. Errors: what was asked for cannot be had.
  static Result<std::unique_ptr<Server>> open_somewhere(AsioScheduler& scheduler,
                                                        const std::optional<std::string>& asked,
                                                        const std::string& runtime_dir, const config::EnvLookup& env,
                                                        Subject subject, log::Ring& ring);

  const std::string& path() const { return path_; }

  static constexpr Duration kLogPoll = std::chrono::milliseconds(200);
  static constexpr size_t kLogQueueBytes = size_t{1} << 20;  // a reader of the log that is further behind is cut
  static constexpr size_t kFollowers = 16;
  static constexpr size_t kConnections = 64;

 private:
  Server(AsioScheduler& scheduler, std::string path, Subject subject, log::Ring& ring);
  void serve(const net::ServerRequest& request, const net::Responder& respond);
  Result<void> send_logs(const Query& query, const net::Responder& respond);
  bool serve_finalizers(const net::ServerRequest& request, const net::Responder& respond);  // control/finalizers.cc
  Result<void> send_snapshot(const Query& query, const net::Responder& respond);
  void follow();

  struct Follower {
    net::ResponseStream stream;
    std::string hook;
    uint64_t seen = 0;
  };

  AsioScheduler& scheduler_;
  std::string path_;
  Desk desk_;
  log::Ring& ring_;
  std::list<Follower> followers_;
  Timer follow_timer_;
  std::unique_ptr<net::HttpServer> http_;
};

}  // namespace hookd::control
