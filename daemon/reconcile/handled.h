// What was handled before a restart: for each parent a digest of all that its hook was told when it was at rest. After
// a restart those whose digest is another, or not known, come first; the others stand behind them, or are left out
// (`atStart: changed`). Table "handled" of the store: hook "\n" uid -> digest. Thread: loop only.
// Source: controllers.md section 4 ("restart storms": persisted "last handled"); product.md section 6 (`atStart`).
//
//   a pass ended                               then
//   well, nothing written, no requeueAfter     at_rest(uid, digest of what it saw when it began)
//   in any other way                           not_at_rest(uid): after a restart it is run
//   the parent is no more                      not_at_rest(uid)
//
// The digest is of what the pass saw at its beginning: what came later is another event of the key. A pass that wrote
// is not at rest: what it wrote comes back, and the pass that then finds nothing to do is.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/scheduler.h"
#include "cache/object.h"
#include "reconcile/row_sweep.h"
#include "state/store.h"

namespace hookd::reconcile {

// Of one parent; the order of the additions counts.
class Digest {
 public:
  // `hook`: Hook::content_hash, `parent`: ParentSet::mark_of() it.
  Digest(uint64_t hook, uint64_t parent);
  void add(std::string_view part);          // the name of a kind or a rule
  void add(const cache::Identity& object);  // by uid and version
  std::string text() const;                 // 16 hexadecimal digits

 private:
  uint64_t hash_;
};

class Handled {
 public:
  // `store` may be null, forget, or not keep the table: then nothing is known after a restart.
  Handled(state::Store* store, Scheduler& scheduler, std::string hook);
  ~Handled();
  Handled(const Handled&) = delete;
  Handled& operator=(const Handled&) = delete;

  bool keeps() const { return store_ != nullptr; }
  // Was it at rest with just that?
  bool was_at_rest(const std::string& uid, const std::string& digest) const;

  void at_rest(const std::string& uid, const std::string& digest);
  void not_at_rest(const std::string& uid);
  void flush();  // what waits to be written

  // Once the parents are known: rows of others go, in slices.
  void sweep(std::unordered_set<std::string> uids);

  // Rows are written together; what is lost in between is run once more after a restart.
  static constexpr Duration kWriteAfter = std::chrono::seconds(2);
  static constexpr size_t kBatch = 500;  // rows written at once

 private:
  void write_soon();
  void write_some();
  void write(const std::string& uid, const std::optional<std::string>& digest);
  std::string row(const std::string& uid) const { return prefix_ + uid; }

  state::Store* store_;  // null: nothing is kept
  Scheduler& scheduler_;
  std::string prefix_;
  std::map<std::string, std::optional<std::string>> waiting_;  // by uid; nullopt = the row goes
  Timer timer_;
  RowSweep sweep_;
};

}  // namespace hookd::reconcile
