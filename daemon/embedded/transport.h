// HttpTransport without a socket: the daemon's own client talks to an ApiServer in the same process. Thread: loop only;
// callbacks are posted on the scheduler.
#pragma once

#include "base/scheduler.h"
#include "embedded/server.h"
#include "net/http_transport.h"

namespace hookd::embedded {

class Transport final : public net::HttpTransport {
 public:
  Transport(ApiServer& server, Scheduler& scheduler) : server_(server), scheduler_(scheduler) {}
  [[nodiscard]] std::unique_ptr<net::HttpCall> start(net::HttpRequest request, net::HttpHandlers handlers) override;

  // Ends every call under way with kTransport, as when the server is lost; streams too.
  void break_connections();
  size_t open_calls() const { return open_; }

 private:
  class Call;
  ApiServer& server_;
  Scheduler& scheduler_;
  size_t open_ = 0;
  std::vector<Call*> calls_;
};

}  // namespace hookd::embedded
