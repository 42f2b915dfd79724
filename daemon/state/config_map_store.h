// The store in a ConfigMap (`state: {configMap: NAMESPACE/NAME}`), for daemons without a disk. Thread: loop only.
//
//   open()     reads it, again and again until that works; hooks start after it (a state that is not known is not
//   "none") put, erase in memory at once; written kDebounce later in one PATCH; `ticked` and `guard`, which change
//              all the time, within kLazyDebounce
//   flush()    begins that write now, and does not wait for it: SIGKILL may lose the last second
//   close()    no request any more
//
// Kept: state, parked, paused, ticked, guard, gone; not `known`, `handled` and `written` (size). The PATCH carries the
// resourceVersion that was read. On a conflict the ConfigMap is read again: changed by people, it is written over; held
// by another daemon, this one writes no more (the one that started last has it) and says so.
//   bound                         crossing it
//   kMaxBytes of everything       what does not fit stays in memory only, trouble(); the API's limit of a ConfigMap is
//                                 1 MiB. Room is given to the small tables first, then to `state`, there to the hooks
//                                 that need least (one that keeps too much harms itself alone), then to `parked`
//   kMaxParkedBytes of `parked`   the same
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/backoff.h"
#include "base/random.h"
#include "base/scheduler.h"
#include "kube/client.h"
#include "state/config_map_text.h"
#include "state/store.h"

namespace hookd::state {

class ConfigMapStore final : public Store {
 public:
  // `ns`, `name`: checked by the config's reader. `holder` names this daemon to others: "HOST pid 7 5tac20".
  ConfigMapStore(Scheduler& scheduler, Random& random, std::string ns, std::string name, std::string holder);

  // `api` must stay until close(). `ready` once: what was kept is known.
  void open(kube::Api& api, std::function<void()> ready);
  void close();
  bool ready() const { return ready_; }

  Result<std::optional<std::string>> read(std::string_view table, std::string_view key) const override;
  void put(std::string_view table, std::string_view key, std::string_view value) override;
  void erase(std::string_view table, std::string_view key) override;
  Result<void> each(std::string_view table, std::string_view key_prefix,
                    const std::function<void(std::string_view, std::string_view)>& visit) const override;
  void flush() override;
  bool settled() const override { return !dirty_ || trouble() || api_ == nullptr; }
  bool durable() const override { return true; }
  // Tables that grow with the cluster would not fit.
  bool keeps(std::string_view table) const override {
    return table != "known" && table != "handled" && table != "written";
  }
  std::optional<Error> trouble() const override;

  static constexpr Duration kDebounce = std::chrono::seconds(1);
  static constexpr Duration kLazyDebounce = std::chrono::seconds(60);
  static constexpr size_t kMaxBytes = 900u << 10;
  static constexpr size_t kMaxParkedBytes = 512u << 10;
  static constexpr size_t kHooksNamed = 5;
  static constexpr char kHolder[] = "hookd/held-by";  // annotation

 private:
  void load();
  void read_done(Result<kube::ApiResponse> result);
  void take_over(const std::string& object, bool first);
  void changed(std::string_view table);
  void write_after(Duration delay);
  void write();
  void written(Result<kube::ApiResponse> result);
  void conflict();
  std::string data();  // the value of "data" in the PATCH; tells what does not fit
  std::string path() const;
  void in_trouble(Error error);

  Scheduler& scheduler_;
  std::string ns_, name_, holder_;
  kube::Api* api_ = nullptr;
  std::function<void()> on_ready_;
  std::map<std::string, TableRows, std::less<>> tables_;
  std::string version_;  // of the ConfigMap as we know it; "" = it is not there
  std::string seen_holder_;
  bool ready_ = false;
  bool dirty_ = false;
  bool lost_ = false;  // another daemon has it
  bool changed_meanwhile_ = false;
  std::unique_ptr<kube::ApiCall> call_;
  Timer timer_;
  SteadyTime due_{};
  Backoff backoff_;
  std::optional<Error> trouble_, size_trouble_;
};

}  // namespace hookd::state
