// The person at the cluster: carries out the steps of a test or a scenario as the administrator would, and looks at
// what is there. Thread: loop only.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "apply/operation.h"
#include "base/random.h"
#include "base/scheduler.h"
#include "kube/credentials.h"
#include "kube/kubeconfig.h"
#include "kube/rest_client.h"
#include "net/http_transport.h"

namespace hookd::rehearsal {

class Hands {
 public:
  // `name`: the field manager of what is applied. All must outlive the hands.
  Hands(net::HttpTransport& transport, const kube::ConnectionConfig& connection, Scheduler& scheduler, Random& random,
        std::string name);
  ~Hands();

  using Done = std::function<void(Result<void>)>;
  // What a person's manifest says under `status` is written too, to the status subresource where there is one: a server
  // without controllers and kubelets gets its pods' states from nobody else. An object that is not there is an error,
  // unless the operation says otherwise. Errors: every operation that did not go well, one a line.
  void carry_out(std::vector<apply::Operation> operations, Done done);

  using Objects = std::vector<boost::json::value>;
  // All objects of a kind (Kind, plural or short name), in all namespaces. Errors: no such kind, or the server's.
  void list(const std::string& api_version, const std::string& kind, std::function<void(Result<Objects>)> done);

  size_t under_way() const { return jobs_.size(); }

 private:
  class Job;
  class Work;
  class Look;
  void finished(const Job* job);

  kube::Credentials credentials_;
  kube::RestClient client_;
  Scheduler& scheduler_;
  Random& random_;
  std::string name_;
  std::string default_namespace_;
  std::list<std::unique_ptr<Job>> jobs_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hookd::rehearsal
