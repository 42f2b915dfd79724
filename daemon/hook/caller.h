// How a hook is called: a process for each call, a process that stays, or a URL. What comes back is an answer's text
// or why there is none; what it means for the queue is the runner's. Thread: loop only.
//
//   once_caller.h   run.command, mode once        worker_pool.h   mode worker        url_caller.h   run.url
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/scheduler.h"
#include "hook/call_writer.h"
#include "hook/model.h"
#include "metrics/registry.h"
#include "net/http_transport.h"
#include "process/launcher.h"

namespace hookd::hook {

struct Reply {
  enum class Kind {
    kAnswered,
    kLater,    // it asked to be called again later: exit code 75, 429 or 503 with Retry-After
    kRefused,  // for good: exit codes 65 and 78, a 4xx that no retry changes
    kFailed,
  };
  Kind kind = Kind::kFailed;
  std::string text;                        // kAnswered: the documents
  std::string log_text;                    // standard output that is no answer, for the log
  std::string result = "failed";           // label of hookd_calls_total when not answered: "failed", "timeout", …
  std::string why;                         // when not answered: one line for people
  Duration at_least{0};                    // least delay before the next try
  std::optional<process::ChildExit> exit;  // of a process started for this call
};

struct CallRequest {
  std::shared_ptr<const Call> call;
  std::string binding;                              // of the first event
  std::function<void(std::string_view line)> said;  // a line for the log (standard error)
  std::function<void(Reply)> replied;               // once, never from inside start(); the OpenCall may be destroyed in it
};

// A call under way; destroying it ends it, and nothing comes any more.
class OpenCall {
 public:
  virtual ~OpenCall() = default;
  virtual void terminate() = 0;  // SIGTERM where it is a process of its own; a reply still comes
};

class Caller {
 public:
  virtual ~Caller() = default;
  // May wait (for a worker, a breaker) before anything is sent.
  [[nodiscard]] virtual std::unique_ptr<OpenCall> start(CallRequest request) = 0;
  // No further calls come: what stays open (workers) may go. `lingering` until it is gone.
  virtual void close() {}
  virtual size_t lingering() const { return 0; }
  virtual void terminate() {}  // SIGTERM to what lingers
  // What lastingly keeps calls from being made, for status and readyz: "worker: exit code 1, next start in 20s".
  virtual std::optional<std::string> trouble() const { return std::nullopt; }
};

struct CallerServices {
  Scheduler& scheduler;
  Random& random;
  process::Launcher& launcher;
  net::HttpTransport* transport;  // null: no URL can be called
  metrics::Registry& metrics;
  size_t answer_limit_bytes = 32u << 20;
  std::string runtime_dir;
  std::string kubeconfig;
  std::vector<std::string> environment;  // the daemon's own
};

// By hook->run.mode.
std::unique_ptr<Caller> make_caller(std::shared_ptr<const Hook> hook, CallerServices services);

}  // namespace hookd::hook
