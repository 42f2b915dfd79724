// What a call says besides events and snapshots: the part of the document that a Pass makes (hook/reconciler.h).
// Thread: loop only.
#pragma once

#include <cstddef>

#include "base/json_writer.h"

namespace hookd::hook {

class CallBody {
 public:
  virtual ~CallBody() = default;
  // Is it the whole document (other people's formats), which then has no hook, id, attempt, reason and time?
  virtual bool whole_document() const { return false; }
  // Writes its part number `part`, from 0 on, small enough to be made at once (an object or a few); false = there is
  // none of that number, nothing was written. The writer stands inside the document's object, between two members or
  // where the part before left it; the last part leaves no bracket open.
  virtual bool write(size_t part, JsonWriter& out) const = 0;
};

}  // namespace hookd::hook
