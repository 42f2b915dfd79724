// What all verbs work on. Thread: loop only.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "embedded/print/openapi.h"
#include "embedded/resources/resource.h"
#include "embedded/store/store.h"
#include "embedded/verbs/rbac.h"
#include "embedded/wire/request.h"

namespace hookd::embedded {

class World {
 public:
  World(Scheduler& the_scheduler, Random& the_random)
      : scheduler(the_scheduler), random(the_random), store(the_scheduler), rbac(store), openapi(registry) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Scheduler& scheduler;
  Random& random;
  Store store;
  Registry registry;
  Rbac rbac;
  OpenApi openapi;
  bool authorize = true;

  // Who a token stands for; makes one for a service account. Set by the server.
  std::function<std::optional<User>(std::string_view token)> authenticate;
  std::function<std::string(User user, WallTime until)> issue_token;
  // After a write of a CustomResourceDefinition.
  std::function<void()> crds_changed;

  std::string uuid();      // RFC 4122 version 4
  std::string now_text();  // metav1.Time of now
};

// One write, whoever asks for it.
struct WriteCall {
  World& world;
  ResourcePtr resource;
  std::string ns, name;
  std::string subresource{};  // "" | status | finalize | approval | resize | ...
  std::string user{};
  std::string manager{};
  bool dry_run = false;
  std::vector<std::string>* warnings = nullptr;  // null = nobody hears them
  std::vector<std::string> groups{};             // of the user

  About about() const;
  void warn(std::string text) const;
};

}  // namespace hookd::embedded
