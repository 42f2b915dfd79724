// What outlives a restart: small texts by table and key. MemoryStore forgets, SqliteStore keeps them in `stateDir`,
// ConfigMapStore in a ConfigMap. Thread: loop only; no call takes longer than a millisecond or so.
//
//   table        key                             value (JSON)                      kept by
//   state        hook                            what an answer left               hook/call_state
//                hook "\n" object key            {"uid","value"}                   the same, `per: object`
//   parked       hook "\n" id                    the item that was given up        app/parking
//   known        hook "\n" binding "\n"          1                                 trigger/known_objects (deletes while
//                selection "\n" object "\n" uid                                    down)
//   ticked       hook "\n" binding               {"at","schedule"}                 trigger/schedule_trigger (missed)
//   paused       hook                            {"why","at"}                      app/hook_unit
//   guard        hook                            {"deletes":[[ms,count],…],…}      hook/guard
//   finalizers   hook "\n" finalizer "\n"         {"file","namespaces"}             app/left_finalizers
//                apiVersion "\n" kind
//   handled      hook "\n" uid of a parent       a digest                          reconcile/handled
//   written      hook "\n" resource " " object   {"kind","uid","manifest",         reconcile/write_memory
//                                                "essence"}
//   gone         hook                            {"since","looks"}                 app/left_rows
//   cluster      "uid"                           whose objects all of this is      app/kept_state
//                                                about
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hookd::state {

class Store {
 public:
  virtual ~Store() = default;
  // nullopt = there is no such row. Errors: whatever the file says; it may be there, and must not be taken for none.
  virtual Result<std::optional<std::string>> read(std::string_view table, std::string_view key) const = 0;
  // The same for whom a row that cannot be read is as good as none; trouble() tells of it.
  std::optional<std::string> get(std::string_view table, std::string_view key) const {
    return read(table, key).value_or(std::nullopt);
  }
  // Seen by get() and each() at once; on disk within a moment, or when flush() returns.
  virtual void put(std::string_view table, std::string_view key, std::string_view value) = 0;
  virtual void erase(std::string_view table, std::string_view key) = 0;
  // In the order of keys; `visit` must not change the table. Errors: not all was visited.
  virtual Result<void> each(std::string_view table, std::string_view key_prefix,
                            const std::function<void(std::string_view key, std::string_view value)>& visit) const = 0;
  // At most `limit` rows behind the key `after` ("" = from the first), for work in slices.
  // What cannot be read is left out; trouble() tells of it.
  using Rows = std::vector<std::pair<std::string, std::string>>;  // key, value
  virtual Rows page(std::string_view table, std::string_view key_prefix, std::string_view after, size_t limit) const;
  virtual void flush() = 0;
  virtual bool settled() const { return true; }          // nothing waits to be written that could be now
  virtual bool durable() const = 0;                      // does anything outlive this process?
  virtual bool keeps(std::string_view table) const = 0;  // not every store takes every table (size)
  virtual std::optional<Error> trouble() const = 0;      // why not all can be written or read now
};

}  // namespace hookd::state
