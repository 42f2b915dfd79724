// Which cluster this is: the uid of its namespace kube-system, which lives as long as the cluster (what Cluster API,
// OpenTelemetry and others take for its id too). An address or a context's name can lead to another one tomorrow.
// Thread: loop only.
//
//   the server                     then
//   gives the namespace            its uid
//   forbids it, has none           "": nobody knows; told once in the log, with the right that is missing
//   anything else                  asked again, from 1 s up to 30 s
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/backoff.h"
#include "base/random.h"
#include "base/scheduler.h"
#include "kube/client.h"

namespace hookd::app {

class ClusterIdentity {
 public:
  ClusterIdentity(Scheduler& scheduler, Random& random)
      : scheduler_(scheduler),
        backoff_({.initial = std::chrono::seconds(1), .max = std::chrono::seconds(30), .factor = 2, .jitter = 0.1},
                 random) {}

  // `known` once, never from inside. `api` must stay until stop().
  void ask(kube::Api& api, std::function<void(std::string uid)> known);
  void stop();
  const std::optional<std::string>& trouble() const { return trouble_; }  // while it asks in vain

 private:
  void send();
  void answered(Result<kube::ApiResponse> result);

  Scheduler& scheduler_;
  kube::Api* api_ = nullptr;
  std::function<void(std::string)> known_;
  std::unique_ptr<kube::ApiCall> call_;
  Backoff backoff_;
  Timer timer_;
  std::optional<std::string> trouble_;
};

}  // namespace hookd::app
