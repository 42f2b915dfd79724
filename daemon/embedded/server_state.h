// What an ApiServer consists of. Thread: loop only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "embedded/control/loops.h"
#include "embedded/server.h"
#include "embedded/server_writer.h"
#include "embedded/verbs/read.h"
#include "embedded/verbs/world.h"
#include "embedded/wire/target.h"

namespace hookd::embedded {

class ApiServer::State {
 public:
  State(Scheduler& scheduler, Random& random, ServerOptions options);

  std::unique_ptr<Exchange> handle(Request request, std::shared_ptr<ReplySink> sink);
  void set_token(std::string token, User user) { tokens_[std::move(token)] = {std::move(user), std::nullopt}; }
  std::string add_token(User user, std::optional<WallTime> until, std::string prefix);
  std::optional<User> user_of(std::string_view token) const;

  World world;
  Faults faults;
  std::string admin_token;
  void set_ca(std::string pem);  // of the socket's certificate, for kube-root-ca.crt
  std::unique_ptr<ServerWriter> writer;
  std::unique_ptr<control::Loops> loops;
  size_t delayed = 0;  // answers that wait for their latency to pass

  class Sink;
  std::map<uint64_t, std::weak_ptr<Sink>> watches;  // that run now
  uint64_t last_watch = 0;
  void cut_watches();
  void mute_watches();

 private:
  std::unique_ptr<Exchange> answer(Request request, const std::shared_ptr<Sink>& sink, const Target& target,
                                   const Fault& fault);
  std::unique_ptr<Exchange> route(Request& request, const std::shared_ptr<Sink>& sink, const Target& target,
                                  const WatchFaults& watch_faults);
  Answer<void> authenticate(Request& request, const Target& target) const;
  Answer<void> authorize(const Request& request, const Target& target) const;

  struct Token {
    User user;
    std::optional<WallTime> until;
  };
  std::map<std::string, Token, std::less<>> tokens_;
  ServerOptions options_;
};

// Paths that are no resources: discovery, OpenAPI, health, version, /hookd/. false = there is nothing at this path.
bool serve_document(ApiServer::State& state, const Request& request, const Target& target,
                    const std::shared_ptr<ReplySink>& sink);

// Namespaces, the service "kubernetes" and RBAC's roles, as a new cluster has them.
void add_startup_objects(World& world);

}  // namespace hookd::embedded
