// The secret that POSTs to a source are checked with: from a file, read each time, or from a Kubernetes Secret.
// Thread: loop only.
//
// A Secret is read through the API at the start, again every minute, and when a signature did not fit (at most every 5
// s), so that a new one holds at once; an older one that fails to be read anew stays for now.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hook/model.h"
#include "kube/client.h"

namespace hookd::trigger {

class HttpSecret {
 public:
  HttpSecret(const hook::SourceBinding::SecretFrom& from, Scheduler& scheduler, kube::Api* api);

  void start();
  void stop();
  // Without white space around it. Errors: why there is none.
  Result<std::string> get() const;
  // The secret did not fit: is a newer one to be had? Then `asked` comes once it is there (or could not be read), never
  // from inside; else false.
  bool refresh(std::function<void()> asked);
  std::optional<Error> trouble() const;

  static constexpr Duration kRefresh = std::chrono::minutes(1);
  static constexpr Duration kLeast = std::chrono::seconds(5);
  static constexpr size_t kMaxWaiting = 16;
  static constexpr size_t kMaxBytes = 64u << 10;

 private:
  void fetch();
  void fetched(Result<kube::ApiResponse> response);

  const hook::SourceBinding::SecretFrom& from_;
  Scheduler& scheduler_;
  kube::Api* api_;
  std::unique_ptr<kube::ApiCall> call_;
  std::optional<std::string> value_;
  std::optional<Error> error_;
  std::optional<SteadyTime> fetched_at_;
  std::vector<std::function<void()>> waiting_;
  Timer timer_;
};

}  // namespace hookd::trigger
