// One `source` binding: events from outside Kubernetes. This is what all kinds have in common: `when` and `key`,
// numbers, and back-pressure. Thread: loop only. Source: product.md section 1 (`source`).
//
//   command_source.h   lines of a program          file_source.h   a file or folder          http_source.h   POSTs
//
// Every event carries a ticket that is gone when no copy of it waits or runs. With `buffer` of them (or 64 MiB) out the
// source is full: a program is not read any more, a file is not told, a POST is refused; until half is free.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/path_watcher.h"
#include "base/random.h"
#include "base/scheduler.h"
#include "hook/model.h"
#include "kube/client.h"
#include "metrics/registry.h"
#include "net/http_routes.h"
#include "process/launcher.h"
#include "trigger/emit.h"

namespace hookd::trigger {

struct SourceServices {
  Scheduler& scheduler;
  Random& random;
  metrics::Registry& metrics;
  process::Launcher& launcher;
  PathWatcher* paths = nullptr;          // null: files are only looked at from time to time
  net::HttpRoutes* routes = nullptr;     // null: there is no address to POST to
  kube::Api* api = nullptr;              // null: secrets are in files only
  std::string kubeconfig;                // for programs
  std::vector<std::string> environment;  // the daemon's own
  std::string runtime_dir{};             // private, for temporary folders of programs
};

class SourceTrigger {
 public:
  // `binding` is of `hook`.
  static std::unique_ptr<SourceTrigger> make(std::shared_ptr<const hook::Hook> hook, const hook::SourceBinding& binding,
                                             SourceServices services, Emit emit);
  virtual ~SourceTrigger();
  SourceTrigger(const SourceTrigger&) = delete;
  SourceTrigger& operator=(const SourceTrigger&) = delete;

  virtual void start() = 0;
  // What exists, once, and nothing after it (`hookd run --once`).
  virtual void tell_existing() {}
  // Nothing new comes; a program gets SIGTERM and is told of to its end.
  virtual void stop() = 0;
  virtual bool stopping() const { return false; }  // stopped, and something of it is still there
  virtual std::optional<Error> trouble() const = 0;
  virtual std::string what() const = 0;  // for people: "command redis-cli subscribe users"

  // An event by hand (a step of a test, `hookd play`). `data` and `old` are JSON texts.
  void give(std::string data, std::shared_ptr<const std::string> old);
  // What it told last, for the source of the next version of the hook; null: there is nothing to know.
  virtual std::shared_ptr<const std::string> told() const { return nullptr; }
  // Before start(): what the source of the version before told last. That is not told again.
  virtual void take_over(std::shared_ptr<const std::string> told) { static_cast<void>(told); }
  // Equal for two sources of which one can take over from the other: what they look at, and what of it is an event.
  std::string identity() const {
    return binding_.name + "\n" + what() + "\n" + (binding_.when ? binding_.when->expression() : "");
  }

  // The ticket of an event that an older version of the hook left.
  void adopt(hook::Event& event);

  const hook::SourceBinding& binding() const { return binding_; }
  size_t waiting() const { return tickets_->out; }
  bool paused() const { return paused_; }

  static constexpr uint64_t kBufferBytes = 64u << 20;
  static constexpr size_t kMaxKeyBytes = 500;

 protected:
  SourceTrigger(std::shared_ptr<const hook::Hook> hook, const hook::SourceBinding& binding, SourceServices services,
                Emit emit);
  // `data`: JSON text without line breaks. False = `when` did not hold.
  bool emit(std::string data, std::shared_ptr<const std::string> old = nullptr,
            std::shared_ptr<const std::function<void(bool)>> answer = nullptr);
  void dropped(const char* why, double count = 1);
  bool seldom();          // true once a minute: what may come a thousand times a second is logged like this
  virtual void full() {}  // from inside emit()
  virtual void room() {}  // never from inside a call

  std::shared_ptr<const hook::Hook> hook_;
  const hook::SourceBinding& binding_;
  SourceServices services_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for what is posted

 private:
  struct Tickets {
    size_t out = 0;
    uint64_t bytes = 0;
    std::function<void()> released;
  };
  struct Ticket;
  std::shared_ptr<void> take_ticket(uint64_t bytes);
  void look_for_room();
  std::string key_of(const std::string& data);

  Emit emit_;
  std::shared_ptr<Tickets> tickets_ = std::make_shared<Tickets>();
  bool paused_ = false;
  std::optional<SteadyTime> last_told_;
};

// Of bytes from outside: a JSON value as it is, other text as a JSON string, bytes that are not UTF-8 as
// {"base64":"…"}. Without line breaks.
std::string json_of_bytes(std::string_view bytes);
// JSON at most this deep is a value, deeper is text: hooks and jq could not read it.
constexpr size_t kMaxJsonDepth = 250;
// `json` is JSON: without line breaks, which it can only have between its tokens.
std::string one_line(std::string_view json);

}  // namespace hookd::trigger
