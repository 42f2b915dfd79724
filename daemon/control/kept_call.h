// A call as it is kept after it ran: the very same where that is small, else a copy with less in it. Thread: loop only.
#pragma once

#include <cstddef>
#include <memory>

#include "hook/call_writer.h"

namespace hookd::control {

struct KeptCall {
  std::shared_ptr<const hook::Call> call;  // null = nothing was kept
  size_t bytes = 0;                        // texts that it holds, at most the limit and a little
  size_t events = 0;                       // that it had
  size_t texts_left_out = 0;               // objects, values and data
  size_t entries_left_out = 0;             // of snapshots
  bool masked = false;
  bool whole() const { return texts_left_out == 0 && entries_left_out == 0 && !masked; }
};

// A call with a body is kept as the document that it was, or, if that is larger, without it.
// Of a large call: events first, then snapshots, as far as `limit_bytes` go; further events keep who they are about,
// at most kEvents. Secrets are masked.
KeptCall keep_call(const hook::Call& call, size_t limit_bytes);

inline constexpr size_t kKeptEvents = 200;

}  // namespace hookd::control
