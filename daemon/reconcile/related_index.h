// `related` of a hook: which objects belong to which parents, both ways, without looking at all of either.
// Thread: loop only. Source: product.md section 6; controllers.md section 4 (O(n) related matching).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hook/event.h"
#include "hook/reconcile_model.h"
#include "kube/informer.h"

namespace hookd::reconcile {

class RelatedIndex {
 public:
  // These parents are to be run because of an object; with `every`, all of them.
  struct Touch {
    std::vector<std::string> parents;  // keys
    bool every = false;
    std::string type;  // "Added", "Modified", "Deleted"
    const cache::Object& object;
    bool background = false;
  };
  RelatedIndex(const hook::RelatedRule& rule, kube::InformerPool& pool, Scheduler& scheduler,
               std::function<void(const Touch&)> touched, std::function<void()> ready);
  ~RelatedIndex();
  void start();
  void stop();

  // A parent came, changed or went; `text` "" = it went. (`select` is of the parent)
  void parent(const std::string& key, std::string_view ns, std::string_view text);

  bool ready() const;
  const std::shared_ptr<const kube::ResourceType>& type() const { return type_; }
  std::vector<cache::ObjectPtr> of(const std::string& parent) const;  // by key
  // Errors of `map` and `select`: kInvalid with the object; "" = none.
  std::string trouble() const;
  size_t size() const;
  std::vector<std::shared_ptr<kube::Informer>> informers() const;

 private:
  std::shared_ptr<const kube::ResourceType> type_;
};

}  // namespace hookd::reconcile
