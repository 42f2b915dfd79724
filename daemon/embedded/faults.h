// What goes wrong on request: latency, refused and broken requests, cut and silent watches. Asked for by tests of hooks
// (`fail:`), and over HTTP below /hookd/faults. Thread: loop only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/scheduler.h"
#include "embedded/wire/request.h"

namespace hookd::embedded {

struct Fault {
  // Which requests: empty fields match everything. `path` with * for any text; `verb` as in RBAC (get, list, watch,
  // create, ...).
  std::string method{}, path{}, verb{}, resource{}, ns{}, name{};
  int times = 1;  // 0 = until removed

  // What happens: the first that is set.
  Duration latency{0};  // the answer comes later, together with any of the others
  int status = 0;       // answered with this code and a fitting Status ("409" Conflict, 410 Expired, 429, 500, 503, 401
                        // expired token)
  int retry_after_seconds = 0;  // with status
  bool cut = false;             // a watch or a plain answer: the connection breaks before its end
  bool apply_then_cut = false;  // the write happens, the answer is lost
  bool no_bookmarks = false;    // watches without bookmarks
  bool silent = false;          // a watch that stays open and tells nothing (lost network)
};

class Faults {
 public:
  void add(Fault fault) { faults_.push_back(std::move(fault)); }
  void clear() { faults_.clear(); }
  const std::vector<Fault>& all() const { return faults_; }
  // The first that matches, used up by one.
  struct Question {
    std::string method, path, verb, resource, ns, name;
  };
  std::optional<Fault> take(const Question& question);
  // {"verb":"list","resource":"pods","status":429,"retryAfterSeconds":1,"times":2}
  static Answer<Fault> from_json(const json::object& object);

 private:
  std::vector<Fault> faults_;
};

}  // namespace hookd::embedded
