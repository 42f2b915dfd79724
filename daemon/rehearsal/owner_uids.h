// Owner references in manifests that people write: nobody knows the uid before the owner is there, so it may be left
// out and is looked up. Thread: loop only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apply/operation.h"
#include "kube/client.h"
#include "kube/discovery.h"

namespace hookd::rehearsal {

struct OwnerName {
  std::string api_version, kind, name;
};
// The owners in a manifest that have no uid.
std::vector<OwnerName> owners_without_uid(const std::string& manifest);
// The manifest with that owner's uid put in.
std::string with_owner_uid(const std::string& manifest, const OwnerName& owner, const std::string& uid);

// Looks the owners of many manifests up, one after another.
class OwnerUids {
 public:
  OwnerUids(kube::Api& api, kube::Discovery& discovery, std::string default_namespace)
      : api_(api), discovery_(discovery), default_namespace_(std::move(default_namespace)) {}

  // `done` gets the operations, each with the uids of those owners that are there.
  using Done = std::function<void(std::vector<apply::Operation>)>;
  void fill(std::vector<apply::Operation> operations, Done done);

 private:
  void next();

  kube::Api& api_;
  kube::Discovery& discovery_;
  std::string default_namespace_;
  std::vector<apply::Operation> operations_;
  std::vector<std::pair<size_t, OwnerName>> missing_;  // the last one is next
  Done done_;
  std::unique_ptr<kube::ApiCall> call_;
};

}  // namespace hookd::rehearsal
