// One request below /api or /apis while it is served; only dispatch*.cc use it. Thread: loop only.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "embedded/verbs/dispatch.h"
#include "embedded/verbs/write.h"

namespace hookd::embedded {

// One request on its way; its members are what every verb needs.
class Serving {
 public:
  Serving(World& world, const Request& request, const Target& target, ResourcePtr resource, Reply& reply,
          const WatchFaults& faults)
      : world_(world),
        request_(request),
        target_(target),
        resource_(std::move(resource)),
        reply_(reply),
        faults_(faults) {}

  Answer<std::unique_ptr<Exchange>> run();

 private:
  using Done = Answer<void>;
  Done method_allowed(std::initializer_list<std::string_view> methods) const {
    if (std::find(methods.begin(), methods.end(), request_.method) != methods.end()) return {};
    return refuse(method_not_allowed());
  }
  bool can(std::string_view verb) const {
    return std::find(resource_->verbs.begin(), resource_->verbs.end(), verb) != resource_->verbs.end();
  }
  Done negotiate(bool watch);
  ReadCall read_call() const { return {world_, resource_, target_.ns, name_}; }
  WriteCall write_call(std::string_view subresource, const WriteOptions& options);
  WallTime now() const { return world_.scheduler.wall_now(); }

  Answer<std::unique_ptr<Exchange>> watch();
  Done collection();
  Done whole();
  Done part();
  Done list();
  Done create();
  Done review();
  Done get();
  Done update(std::string_view subresource);
  Done patch(std::string_view subresource);
  Done remove();
  Done remove_collection();
  Done scale();
  Answer<json::object> apply_scale(const WriteCall& call, const json::object& live, const WriteOptions& options) const;
  Done post_part();
  Answer<DeleteOptions> read_delete_options(bool& had_body);
  Answer<json::object> decode_as(std::string_view group, std::string_view version, std::string_view kind,
                                 const WriteOptions& options);
  Done success(int code);

  World& world_;
  const Request& request_;
  const Target& target_;
  ResourcePtr resource_;
  Reply& reply_;
  const WatchFaults& faults_;
  std::string name_;
};

}  // namespace hookd::embedded
