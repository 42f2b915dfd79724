// Answers what is asked and does what is told, but for what is streamed (control/server.h). Thread: loop only.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "app/daemon_look.h"
#include "app/engine.h"
#include "control/query.h"
#include "control/run_history.h"
#include "net/http_server.h"

namespace hookd::control {

// All must outlive the desk.
struct Subject {
  app::Engine& engine;
  RunHistory& history;
  std::function<app::DaemonLook()> look;
  std::function<void(std::string_view why)> reload;
};

class Desk {
 public:
  explicit Desk(Subject subject) : subject_(std::move(subject)) {}

  // Always JSON: {"error":…} with 400 (wrong question), 404 (no such hook, call, item, path), 405, 409 (not now).
  net::ServerResponse answer(const net::ServerRequest& request) const;

  // Errors: kNotFound with the nearest name.
  Result<app::HookUnit*> find_hook(const std::string& name) const;
  Result<void> check_hook(const std::string& name) const;
  const Subject& subject() const { return subject_; }
  static net::ServerResponse refuse(const Error& error);

  static constexpr size_t kMostRows = 10'000;

 private:
  using Answer = Result<std::string>;
  Answer read(std::string_view path, const Query& query) const;
  Answer act(std::string_view path, const Query& query) const;
  Answer retry_or_drop(bool retry, const Query& query) const;
  Result<const Run*> find_run(const Query& query) const;

  Subject subject_;
};

}  // namespace hookd::control
