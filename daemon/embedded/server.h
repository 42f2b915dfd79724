// The embedded API server as one value. Thread: loop only.
//
//   ApiServer server(scheduler, random, {});
//   server.handle(request, sink)      what comes over a socket (socket.h) or from the daemon itself (transport.h)
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/scheduler.h"
#include "embedded/faults.h"
#include "embedded/store/store.h"
#include "embedded/wire/request.h"

namespace hookd::embedded {

struct ServerOptions {
  bool authorize = true;  // RBAC for users outside system:masters
};

class ApiServer {
 public:
  ApiServer(Scheduler& scheduler, Random& random, ServerOptions options);
  ~ApiServer();

  // The answer goes to `sink`, at once or later; null = it is answered already. The sink must live as long as the
  // Exchange or until its answer is whole. Every Exchange must be gone before the server is.
  [[nodiscard]] std::unique_ptr<Exchange> handle(Request request, std::shared_ptr<ReplySink> sink);

  // A token that authenticates as that user ("" of unknown tokens is 401). The admin's is made at construction.
  std::string add_user(std::string name, std::vector<std::string> groups);
  void add_token(std::string token, std::string name, std::vector<std::string> groups);
  const std::string& admin_token() const;

  Faults& faults();
  void mute_watches();  // those that are open now stay so and tell nothing more
  uint64_t revision() const;
  // Nothing is about to happen by itself before the next timer: control loops have done what they can.
  bool settled() const;

  // Every change of an object, as it happens: for the account of `hookd play`.
  [[nodiscard]] Store::Subscription on_change(Store::Listener listener);

  class State;
  State& state() { return *state_; }  // for control loops and tests of this room

 private:
  std::unique_ptr<State> state_;
};

}  // namespace hookd::embedded
