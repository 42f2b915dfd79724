// What a webhook's connection needs of Secrets and ConfigMaps: CA, client certificate, Authorization. Read by plain
// GETs of single objects, never by a watch of all; again when they are older than kRefresh and somebody calls, and when
// the server did not take what we showed (at most every kLeast), so that a rotated Secret holds without a restart.
// An older version stays in use while a new one cannot be read; one that was deleted does not. Thread: loop only.
// Source: controllers.md 1.3.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/scheduler.h"
#include "compat/metacontroller/spec.h"
#include "kube/client.h"
#include "net/http_transport.h"

namespace hookd::metacontroller {

class Connection {
 public:
  struct Material {
    std::shared_ptr<const net::TlsOptions> tls;
    std::string authorization;         // the header's value, "" = none
    std::vector<std::string> secrets;  // to be masked wherever the server repeats them
  };
  using Ready = std::function<void(Result<std::shared_ptr<const Material>>)>;

  // `api` may be null where nothing is referred to.
  Connection(const ConnectionAuth& auth, Scheduler& scheduler, kube::Api* api);

  // Calls `ready` once, in a turn of its own, with what is good now. Errors: kConfig naming the object and key, never
  // their content.
  void get(Ready ready);
  // The server did not take it. True = the next get() reads anew.
  bool doubt();

  static constexpr Duration kRefresh = std::chrono::minutes(1);
  static constexpr Duration kLeast = std::chrono::seconds(5);

 private:
  struct Source {
    bool secret = true;  // else a ConfigMap
    std::string ns, name;
    auto operator<=>(const Source&) const = default;
    std::string path() const;
    std::string display() const;  // "the Secret a/b"
  };
  void fetch();
  void fetched(const Source& source, Result<kube::ApiResponse> response);
  void all_fetched();
  Result<std::shared_ptr<const Material>> build() const;
  Result<std::string> value(const Source& source, const std::string& key) const;

  ConnectionAuth auth_;
  Scheduler& scheduler_;
  kube::Api* api_;
  std::map<Source, std::optional<std::string>> documents_;  // nullopt: not read yet, or not there
  std::map<Source, Error> errors_;
  std::map<Source, std::unique_ptr<kube::ApiCall>> calls_;
  std::optional<SteadyTime> fetched_at_;
  Result<std::shared_ptr<const Material>> material_;
  std::vector<Ready> waiting_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hookd::metacontroller
