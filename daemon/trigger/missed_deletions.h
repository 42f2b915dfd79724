// Finds the objects that went while the daemon was down: what the hook was told of (KnownObjects) against the first
// complete list. Runs once, in slices. Thread: loop only.
//
//   a known object is                          then
//   inside, or waiting for its `for`           nothing
//   in the list, but does not take part        told: it left, as it would have been told then
//   not in the list                            the server is asked for it by name:
//     404, or another uid                      told
//     there, its labels no longer match        told
//     there                                    not told, forgotten: the list was wrong, or a field selector let it go
//     forbidden                                the list decides: told
//     any other error, type not served         asked again every kAskAgain
//
// After kAsked confirmed ones the list is believed for the others. An empty or broken list alone deletes nothing.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/scheduler.h"
#include "kube/client.h"
#include "kube/resource_type.h"
#include "trigger/known_objects.h"

namespace hookd::trigger {

class MissedDeletions {
 public:
  using Row = KnownObjects::Row;
  enum class Now { kHere, kOut, kMissing, kTold };  // kOut: in the list, does not take part; kTold: told in this run
  struct Seams {
    std::function<Now(const Row&)> look;
    std::function<void(const Row&)> tell;
    std::function<bool(const std::string& object)> matches;  // labels of the object's text, as far as can be said
    std::function<std::shared_ptr<const kube::ResourceType>()> type;
    std::string hook{}, binding{};  // for the log
  };

  MissedDeletions(KnownObjects& known, kube::Api& api, Scheduler& scheduler, Seams seams);
  void start();
  bool done() const { return done_; }

  static constexpr size_t kAsked = 50;
  static constexpr size_t kSlice = 200;
  static constexpr Duration kAskAgain = std::chrono::seconds(30);

 private:
  void scan();
  void next();
  void ask(const Row& row);
  void answered(Result<kube::ApiResponse> result);
  void settle_front(bool gone);

  KnownObjects& known_;
  kube::Api& api_;
  Scheduler& scheduler_;
  Seams seams_;
  std::deque<Row> missing_;
  size_t confirmed_ = 0;
  size_t told_ = 0;
  bool doubtful_ = false;  // one of them was there
  bool scanned_ = false;
  bool done_ = false;
  std::unique_ptr<kube::ApiCall> call_;
  Timer timer_;
};

// "ns/name" -> {"ns","name"}, "name" -> {"","name"}.
std::pair<std::string, std::string> split_object_key(const std::string& key);

}  // namespace hookd::trigger
