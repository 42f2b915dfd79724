// Asks a daemon over its control socket. Blocks: for commands, not for the loop. Thread: any.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hookd::control {

class Client {
 public:
  using Parameters = std::vector<std::pair<std::string, std::string>>;  // "" values are left out

  static constexpr long kTimeoutSeconds = 60;  // of get and post

  explicit Client(std::string socket, long timeout_seconds = kTimeoutSeconds)
      : socket_(std::move(socket)), timeout_seconds_(timeout_seconds) {}

  // The body of an answer 200. Errors: kNotFound, kInvalid, kConflict: what the daemon says; kForbidden: no right to
  // the socket; kTransport: nobody listens there, or it went away.
  Result<std::string> get(const std::string& path, const Parameters& parameters = {}) const;
  Result<std::string> post(const std::string& path, const Parameters& parameters = {}) const;
  // Line by line, without their ends, until the daemon ends it; false from `on_line` ends it early.
  Result<void> lines(const std::string& path, const Parameters& parameters,
                     const std::function<bool(std::string_view line)>& on_line) const;

 private:
  Result<void> run(const std::string& path, const Parameters& parameters, bool post, bool wait_for_ever,
                   const std::function<bool(std::string_view)>& on_data) const;

  std::string socket_;
  long timeout_seconds_;
};

}  // namespace hookd::control
