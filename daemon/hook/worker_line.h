// What a worker prints: a line for each answer. Pure. Thread: any. Source: product.md section 2; config/README.md.
//
//   {"ready":true}                                      it may be called
//   {"id":"…","operations":[…],"requeueAfter":"20s",…}  the answer to that call, as a result of product.md section 3
//   {"id":"…","error":"…"}                              the call failed: it is tried again as `retry` says
//   {"id":"…","error":"…","later":true}                 … later (as exit code 75); "later":"20s": not before that
//   {"id":"…","error":"…","permanent":true}             … never again (as exit codes 65 and 78)
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "hook/caller.h"

namespace hookd::hook {

struct WorkerLine {
  enum class Kind {
    kReady,
    kReply,
    kText,    // no JSON: for the log
    kBroken,  // JSON that says nothing of a call: not for the log, it may hold a Secret
    kEmpty,
  };
  Kind kind = Kind::kText;
  std::string id;       // kReply; kBroken: of the call, where it could still be read
  Reply reply;          // kReply
  std::string problem;  // kBroken: what is wrong with it
};

WorkerLine read_worker_line(std::string_view line);

// The id of a line of which only the beginning is there: `{"id":"…"` with nothing before it; "" if it does not begin
// so.
std::string leading_id(std::string_view beginning);

// Bytes in pieces -> lines of at most `limit` bytes. Of a longer one only its beginning is told, at once, and the rest
// is skipped: nothing above the limit is ever kept.
class WorkerLines {
 public:
  explicit WorkerLines(size_t limit) : limit_(limit) {}

  // Calls `line` for each whole line and `too_long` with at most kBeginning bytes for one over the limit. Each returns
  // false to stop at once (this may be gone then).
  using Sink = std::function<bool(std::string_view)>;
  void feed(std::string_view piece, const Sink& line, const Sink& too_long);
  std::string take_rest() { return std::exchange(pending_, {}); }  // what came after the last line end

  static constexpr size_t kBeginning = 4096;

 private:
  size_t limit_;
  std::string pending_;
  bool skipping_ = false;
};

}  // namespace hookd::hook
