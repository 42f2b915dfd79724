// `related` of a hook: which objects belong to which parents, both ways, without looking at all of either.
// Thread: loop only. Source: product.md section 6; controllers.md section 4 (O(n) related matching).
//
//   rule     an object belongs to                       found by
//   map      the parents that it names                  their keys
//   select   the parents whose selector it matches      one label that the selector asks for; only selectors without
//                                                       any such label are compared one by one
//   neither  every parent
//
// `select` of a namespaced parent means its own namespace, unless the rule names namespaces (or the kind has none).
//
// A filter that fails says nothing, so that nothing is taken for "none": an object stays with the parents that its
// `map` named last; what belongs to a parent whose `select` failed is not known (failure_of()).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "hook/event.h"
#include "hook/reconcile_model.h"
#include "kube/informer.h"
#include "reconcile/followed_kind.h"

namespace hookd::reconcile {

// The parents that a filter's output names: a string, a list of such, null = none. Errors: kInvalid.
Result<std::vector<std::string>> names_of(std::string_view json);
// What `select` gave: a map of labels, a LabelSelector, or null = nothing is selected. Errors: kInvalid, kConfig.
Result<std::optional<cache::LabelSelector>> selector_of(std::string_view json);

class RelatedIndex {
 public:
  // These parents are to be run because of an object; with `every`, all of them. Only parents that were told of.
  struct Touch {
    std::vector<std::string> parents;  // keys, in order
    bool every = false;
    std::string type;  // "Added", "Modified", "Deleted"
    const cache::Object& object;
    bool background = false;
  };
  // `rule` must outlive this.
  RelatedIndex(const hook::RelatedRule& rule, kube::InformerPool& pool, Scheduler& scheduler,
               std::function<void(const Touch&)> touched, std::function<void()> ready);
  ~RelatedIndex();
  void start();
  void stop();

  // A parent came, changed or went; `text` "" = it went. Has to be told of every parent, whatever the rule is. True:
  // its `select` asks for something else than before, fails now or does so no more.
  bool parent(const std::string& key, std::string_view ns, std::string_view text);

  bool ready() const { return followed_.ready(); }  // the first list was told, and the kind is served
  const std::shared_ptr<const kube::ResourceType>& type() const { return followed_.type(); }
  std::vector<cache::ObjectPtr> of(const std::string& parent) const;       // by key
  std::optional<std::string> failure_of(const std::string& parent) const;  // of its `select`: what is wrong
  cache::ObjectPtr find(std::string_view key) const { return followed_.find(key); }
  // Errors of `map` and `select`, with the object; "" = none now.
  std::string trouble() const;
  size_t size() const { return followed_.objects().size(); }
  std::optional<Error> error() const { return followed_.error(); }
  std::vector<std::shared_ptr<kube::Informer>> informers() const { return followed_.informers(); }
  uint64_t compared() const { return compared_; }  // selectors held against objects, ever: the work that was done

 private:
  using Labels = cache::LabelSelector::Labels;
  using Key = std::string_view;  // of an object, as in FollowedKind's map
  using ParentKeys = std::set<std::string, std::less<>>;
  struct Parent {
    std::string ns;
    std::optional<cache::LabelSelector> selector;  // with `select`; unset: none, or its `select` failed
    uint64_t output = 0;                           // hash of what `select` gave
    std::string failure{};                         // why `select` says nothing; "" = it does
    std::string label;                             // by which it is found; "" = it is in loose_
    std::vector<std::string> values;
  };
  struct Entry {
    std::vector<std::string> parents;      // `map`: keys as resolved
    std::shared_ptr<const Labels> labels;  // `select`
  };
  void changed(const std::string& key, const cache::Change& change, std::string_view text);
  void changed_by_map(const std::string& key, const cache::Change& change, std::string_view text, Touch& touch);
  void changed_by_select(const std::string& key, const cache::Change& change, std::string_view text, Touch& touch);
  std::optional<std::vector<std::string>> mapped(const cache::Object& object, std::string_view text);
  std::optional<cache::LabelSelector> selected(const std::string& key, std::string_view text);
  void put_parent(const std::string& key, Parent& parent);
  void take_out_parent(const std::string& key, const Parent& parent);
  void index_label(const std::string& label);
  void put_labels(Key key, const Labels& labels);
  void take_out_labels(Key key, const Labels& labels);
  std::shared_ptr<const Labels> shared_labels(std::string_view text);
  void parents_of(std::string_view ns, const Labels& labels, ParentKeys& found);
  bool same_namespace(const Parent& parent, std::string_view ns) const;
  void failed(std::string_view which, const std::string& who, const Error& error);
  void worked(const std::string& who);

  const hook::RelatedRule& rule_;
  std::function<void(const Touch&)> touched_;
  std::map<std::string, Parent, std::less<>> parents_;
  std::unordered_map<Key, Entry> entries_;
  // `map`
  std::map<std::string, std::set<Key>, std::less<>> objects_of_;  // by parent
  // `select`; labels in use are those by which some parent is found
  std::map<std::string, std::map<std::string, std::set<std::string>, std::less<>>, std::less<>> parents_by_;
  std::map<std::string, std::map<std::string, std::set<Key>, std::less<>>, std::less<>> objects_by_;
  ParentKeys loose_;
  std::unordered_map<std::string, std::shared_ptr<const Labels>> label_sets_;  // by raw text: many objects share one

  std::map<std::string, std::string> troubles_;  // by object or parent, at most kTroubles
  uint64_t failures_ = 0;
  uint64_t compared_ = 0;
  FollowedKind followed_;

  static constexpr size_t kTroubles = 100;
  static constexpr size_t kMostValues = 16;  // of an `in` by which a parent is found
};

}  // namespace hookd::reconcile
