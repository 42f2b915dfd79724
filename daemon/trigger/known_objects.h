// Which objects of one binding its hook was told of, kept over restarts: table "known" of the store. Thread: loop only.
//
//   key    hook "\n" binding "\n" selection "\n" object "\n" uid          selection: hash of what the binding selects
//   put    the object comes inside
//   erase  its Deleted event was handled (not when it was queued: a crash in between tells it again)
//
// A row of another selection is no sign of a deletion: the hook's file was changed, and the object may only not match
// any more. Such rows are forgotten.
#pragma once

#include <string>
#include <vector>

#include "hook/model.h"
#include "state/store.h"

namespace hookd::trigger {

class KnownObjects {
 public:
  struct Row {
    std::string object;  // "ns/name", "name"
    std::string uid;
  };

  // `cluster`: the server's address; another cluster has other objects. `store` must be durable and keep "known".
  KnownObjects(state::Store& store, const std::string& hook, const hook::WatchBinding& binding,
               std::string_view cluster);

  // Returns the uids under which the hook knows objects of that name that are no more.
  std::vector<std::string> entered(const std::string& object, const std::string& uid);
  bool has(const std::string& object, const std::string& uid) const;
  void forget(const std::string& object, const std::string& uid);

  // The next rows, at most kPage; false = these were the last. Rows of other selections are forgotten on the way.
  bool next_page(std::vector<Row>& rows);

  static constexpr size_t kPage = 200;

 private:
  std::string key_of(const std::string& object, const std::string& uid) const;

  state::Store& store_;
  std::string binding_prefix_;  // hook "\n" binding "\n"
  std::string prefix_;          // … selection "\n"
  std::string after_;
};

// What the binding selects, as a text that is equal where the selection is.
std::string selection_text(const hook::WatchBinding& binding, std::string_view cluster);

}  // namespace hookd::trigger
