#include "embedded/control/loops.h"

#include <optional>

#include "embedded/control/budgets.h"
#include "embedded/control/crds.h"
#include "embedded/control/expiry.h"
#include "embedded/control/garbage.h"
#include "embedded/control/namespace_contents.h"
#include "embedded/control/namespaces.h"

namespace hookd::embedded::control {

struct Loops::Parts {
  Crds crds;
  std::optional<NamespaceContents> contents;
  std::optional<Namespaces> namespaces;
  std::optional<Garbage> garbage;
  std::optional<Budgets> budgets;
  std::optional<Expiry> expiry;
};

Loops::Loops(Scheduler& scheduler, Store& store, Registry& registry, Writer& writer, Options options) {
  const Context context{scheduler, store, registry, writer};
  parts_ = std::unique_ptr<Parts>(new Parts{Crds(context, std::move(options.kind_changed)), {}, {}, {}, {}, {}});
  if (options.service_accounts || options.root_ca)
    parts_->contents.emplace(context, NamespaceContents::Wanted{options.service_accounts, options.root_ca,
                                                                std::move(options.ca_certificate)});
  if (options.namespaces) parts_->namespaces.emplace(context);
  if (options.garbage_collection) parts_->garbage.emplace(context);
  if (options.disruption_budgets) parts_->budgets.emplace(context);
  if (options.event_expiry) parts_->expiry.emplace(context);
}

Loops::~Loops() = default;

bool Loops::settled() const {
  return parts_->crds.settled() && (!parts_->contents || parts_->contents->settled()) &&
         (!parts_->namespaces || parts_->namespaces->settled()) && (!parts_->garbage || parts_->garbage->settled()) &&
         (!parts_->budgets || parts_->budgets->settled());
}

void Loops::crds_changed() { parts_->crds.run_all(); }

}  // namespace hookd::embedded::control
