// control::Writer on the verbs. Thread: loop only.
#pragma once

#include "embedded/control/writer.h"
#include "embedded/verbs/world.h"

namespace hookd::embedded {

class ServerWriter final : public control::Writer {
 public:
  explicit ServerWriter(World& world) : world_(world) {}
  Answer<void> create(std::string_view storage_key, json::object object, std::string_view manager) override;
  Answer<void> remove(const control::Target& target, const control::DeleteChoice& choice) override;
  Answer<void> update(const control::Target& target, std::string_view subresource, std::string_view manager,
                      const Edit& edit) override;

 private:
  // The resource in its storage version. Errors: 404, of a kind that is not served.
  Answer<ResourcePtr> resource(std::string_view storage_key) const;
  World& world_;
};

}  // namespace hookd::embedded
