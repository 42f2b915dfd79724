// Which resources the server serves, and what a person's "Deployment", "deploy" or "deployments.apps" means.
// Thread: loop only. Source: k8s-client.md D1-D11; aggregated discovery (KEP 3352) with the old form as fall-back.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/scheduler.h"
#include "kube/client.h"
#include "kube/resource_type.h"

namespace hookd::kube {

// The server's resources at one moment; a pure value with the look-up rules (D6-D9).
class ResourceTable {
 public:
  struct Entry {
    ResourceType type;
    bool preferred = false;  // its version is the group's preferred one
  };
  // In the server's order: core first, then groups by priority, preferred version first.
  std::vector<Entry> entries;
  std::vector<std::string> failed_groups;   // "metrics.k8s.io/v1beta1": known to exist, not answering (D3, D4)
  std::vector<std::string> group_versions;  // all in the server's order, also those that failed

  // `api_version` "" = any; `name` = Kind, plural, singular, short name, "plural.group" or "plural.version.group"; the
  // group may be cut short ("deploy.app"). Among several the first in the server's order wins (D7).
  // Errors: kNotFound (with near names), kUnavailable (its group is in failed_groups).
  Result<ResourceType> find(std::string_view api_version, std::string_view name) const;

  // What `before` knew of the group versions that failed now is kept, behind their groups' answering versions (D3).
  void keep_failed(const ResourceTable& before);
};

class Discovery {
 public:
  using Callback = std::function<void(Result<ResourceType>)>;

  Discovery(Api& api, Scheduler& scheduler);
  ~Discovery();

  // From the cache, else after one fresh look at the server (at most one look under way, and not more often than
  // every kMinRefresh, or kMinRefreshLegacy where one look is dozens of requests). The callback may be called at once.
  void resolve(std::string_view api_version, std::string_view name, Callback callback);
  // What the cache knows now; does not ask the server.
  std::optional<ResourceType> cached(std::string_view api_version, std::string_view name) const;
  // The next look-up asks the server again (a CRD or APIService changed, a known path gave 404).
  void invalidate();
  // Asks the server now; `callback` gets what was learnt. Joins a look that is under way.
  void refresh(std::function<void(Result<void>)> callback);
  const ResourceTable& table() const { return table_; }

  static constexpr Duration kMinRefresh = std::chrono::seconds(1);
  static constexpr Duration kMinRefreshLegacy = std::chrono::seconds(10);

 private:
  class Look;
  friend class Look;
  // What one look came to.
  struct Seen {
    std::optional<ResourceTable> table;  // nullopt = as before (D5)
    std::string core_etag, groups_etag;
    bool legacy = false;
  };
  void start_look();
  void finished(Result<Seen> result);

  Api& api_;
  Scheduler& scheduler_;
  ResourceTable table_;
  std::string core_etag_, groups_etag_;  // of the aggregated documents that table_ was made from
  bool legacy_ = false;
  bool known_ = false;
  std::optional<SteadyTime> refreshed_at_;
  std::unique_ptr<Look> look_;
  Timer delayed_;
  std::vector<std::function<void(Result<void>)>> waiting_;
};

}  // namespace hookd::kube
