// How a hook is called: a process for each call, a process that stays, or a URL. What comes back is an answer's text
// or why there is none; what it means for the queue is the runner's. Thread: loop only.
//
//   once_caller.h   run.command, mode once        worker_pool.h   mode worker        url_caller.h   run.url
#pragma once

#include <functional>
#include <map>
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

class Breakers;  // hook/breaker.h

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
  bool counted = true;                     // false: not an attempt, the hook was never asked
  std::optional<process::ChildExit> exit;  // of a process started for this call
};

struct CallRequest {
  std::shared_ptr<const Call> call;
  std::string binding;  // of the first event
  // Sent as it is instead of what `call` makes (hookd call); URL and worker only.
  std::shared_ptr<const std::string> document{};
  std::function<void(std::string_view line)> said;  // a line for the log (standard error)
  std::function<void(Reply)> replied;  // once, never from inside start(); the OpenCall may be destroyed in it
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
  // Processes that stay, by state (starting, ready, leaving, waiting), for metrics and status; empty = there are none.
  virtual std::map<std::string, size_t> processes() const { return {}; }
  // What such processes have to do now: calls they hold, starts and ends of theirs. While there is any, a virtual clock
  // stands still.
  virtual size_t at_work() const { return 0; }
  // May calls be started now? While not, the hook's queue starts none: they hold no slot and count no attempt. `look`
  // is called in turns of the loop when it may be so again; once set, as long as this lives.
  virtual bool ready() const { return true; }
  virtual void on_ready(std::function<void()> look) { static_cast<void>(look); }
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
  std::string runtime_dir{};
  std::string kubeconfig{};
  std::vector<std::string> environment{};  // the daemon's own
  Breakers* breakers = nullptr;            // of the endpoints that hooks call; null: each caller has its own
};

// By hook->run.mode.
std::unique_ptr<Caller> make_caller(std::shared_ptr<const Hook> hook, CallerServices services);

}  // namespace hookd::hook
