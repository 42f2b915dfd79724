// Follows the CompositeControllers and DecoratorControllers of a cluster and turns each good one into a hook::Hook,
// whose keys a reconciler of this room runs. Thread: loop only. Source: controllers.md 1.1, 1.8, 1.9.
//
//   resource ──► read ──► parent served, with status? ──► hook put                       Starting, Started
//   spec changed          the hook's new version takes the old one's place               Stopping … Started
//   broken                the version before, if any, goes on                            CreateError
//   parent is no CRD, or not there yet: looked at again every kLookAgain                 CreateError
//   parent without status: the same                                                      SyncError
//   a hook of a folder has its name: tried again every kLookAgain                        CreateError
//   resource gone         hook removed                                                   Stopping, Stopped
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apply/event_recorder.h"
#include "compat/metacontroller/spec.h"
#include "hook/model.h"
#include "kube/discovery.h"
#include "kube/informer.h"

namespace hookd::metacontroller {

struct ControllersOptions {  // `metacontroller` of the daemon's config
  ApplyOptions apply;
  std::string target_label_selector;  // only such resources; "" = all
  int workers = 5;                    // keys of one controller at once
  std::string exec_folder;            // SpecReaderOptions
  bool built_in_parents = false;      // CompositeControllers may have parents that are no custom resources
  hook::Guard guard{};                // of each controller without the annotation (names.h)
};

struct ControllersServices {
  Scheduler& scheduler;
  kube::InformerPool& pool;
  kube::Discovery& discovery;
  kube::Api& api;
  apply::EventRecorder& events;
  // A hook came, or takes the place of the one of its name. Errors: kConfig: a hook of a folder has that name.
  std::function<Result<void>(std::shared_ptr<const hook::Hook>)> put;
  std::function<void(const std::string& name)> remove;
  bool dry_run = false;  // no Events
};

class Controllers {
 public:
  Controllers(ControllersServices services, ControllersOptions options);
  ~Controllers();

  void start();
  void stop();         // no resource is followed any more; hooks stay as they are
  bool ready() const;  // both lists are known, or their kinds lastingly cannot be followed (degraded)
  bool idle() const;   // ready, and no parent is being looked at
  // What does not work, and why: "CompositeController catset: parentResource: …".
  std::vector<std::string> degraded() const;
  size_t size() const { return running_; }
  // Is a controller there, or may one be, whose hook of that name only does not run now: its resource is broken, its
  // parent is not served yet, or the resources are not known? Then its finalizers are not left behind.
  bool may_come(std::string_view hook) const;

  // Of all controllers the name is unique: a hook's name has no dots and is short.
  static std::string hook_name(ControllerKind kind, const std::string& controller);

  static constexpr Duration kLookAgain = std::chrono::seconds(30);  // upstream's --discovery-interval
  static constexpr Duration kFirstLook = std::chrono::seconds(2);   // a CRD is often applied beside its controller

 private:
  struct One {
    std::shared_ptr<const ControllerSpec> wanted;   // the newest good version
    std::shared_ptr<const ControllerSpec> running;  // of the hook that was put; null = none was
    uint64_t wanted_hash = 0, running_hash = 0;
    std::string trouble;
    std::string told;     // the trouble that an Event told last
    int looks = 0;        // at its parent, without success
    bool asking = false;  // discovery, about its parent
    std::unique_ptr<kube::ApiCall> call;
    Timer again;
  };
  using Key = std::pair<ControllerKind, std::string>;

  void follow(ControllerKind kind);
  void seen(ControllerKind kind, const cache::Object& object);
  void gone(ControllerKind kind, const std::string& name);
  void look_at_parent(const Key& key);
  void crd_read(const Key& key, const Result<kube::ApiResponse>& response);
  void ask_discovery(const Key& key, bool crd_forbidden);
  void not_yet(const Key& key, std::string why, std::string_view reason);
  void put(const Key& key);
  void trouble(One& one, const ControllerSpec& about, std::string why, std::string_view reason);
  std::vector<std::string> rivals() const;
  void event(const ControllerSpec& about, std::string_view reason, std::string message, bool warning = false);

  ControllersServices services_;
  ControllersOptions options_;
  std::map<Key, One> all_;
  size_t running_ = 0;
  struct Followed {
    std::shared_ptr<kube::Informer> informer;
    std::unique_ptr<kube::Informer::Subscription> subscription;
  };
  std::map<ControllerKind, Followed> followed_;
  bool stopped_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hookd::metacontroller
