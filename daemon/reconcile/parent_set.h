// The parents of one kind: which take part, and what of their changes calls a key. Thread: loop only.
// Source: product.md section 6 (`for`); controllers.md 1.1, 1.4 step 1, 1.8; 3.3 (predicates).
//
//   takes part   namespace, labels and `when` hold (and `matches`, if given)
//   leaves       does not any more: it is still a parent while it carries our finalizer, to be finalized; without one
//                it is told as Deleted, with its last state as `gone`, although the object may live on (whoever hears
//                that deletes nothing: its children may still have their owner)
//
// A `when` that fails on an object leaves it as it was: outside, or a parent.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "hook/event.h"
#include "hook/reconcile_model.h"
#include "kube/informer.h"
#include "reconcile/followed_kind.h"

namespace hookd::reconcile {

struct Parent {
  cache::ObjectPtr object;
  std::shared_ptr<const kube::ResourceType> type;
  bool matches = true;  // false: it left, and has our finalizer still
};

class ParentSet {
 public:
  struct Options {
    hook::ParentRule rule;
    std::string finalizer;  // "" = none is set
    // Besides the rule's selectors (annotation selectors of DecoratorControllers); empty = all.
    std::function<bool(std::string_view text)> matches;
    // Every change that the watch tells of an object of the kind, whether it takes part and calls a key or not, once it
    // is taken in and before `touched`; `text` "" = it is no more. May be empty. (own versions, related `select`)
    std::function<void(const cache::Object& object, std::string_view text)> seen;
  };
  // A key is to be run: what happened to the parent. `gone`: its last state, when it is no more. Events of the first
  // list are `background`.
  using Touched =
      std::function<void(const cache::Object& parent, std::string_view type, cache::ObjectPtr gone, bool background)>;

  ParentSet(kube::InformerPool& pool, Scheduler& scheduler, Options options, Touched touched,
            std::function<void()> ready);
  ~ParentSet();
  void start();
  void stop();

  bool ready() const { return followed_.ready(); }  // the first list was told, and the kind is served
  const std::shared_ptr<const kube::ResourceType>& type() const { return followed_.type(); }  // null until resolved
  size_t size() const { return members_.size(); }
  std::optional<Error> error() const { return followed_.error(); }
  std::vector<std::shared_ptr<kube::Informer>> informers() const { return followed_.informers(); }
  std::string trouble() const { return trouble_; }  // of `when`: on which object it failed last, "" = on none

  std::optional<Parent> find(std::string_view key) const;  // ns/name
  std::optional<std::string> key_of(std::string_view uid) const;
  std::vector<std::string> keys() const;  // in order
  // At most `limit` of those behind `after` ("" = from the first), for work in slices.
  std::vector<std::string> keys_after(std::string_view after, size_t limit) const;
  // Also of those that left and have our finalizer still; in order of keys. `visit` must not change the set.
  void each(const std::function<void(const std::string& key, const Parent&)>& visit) const;
  // A hash of what `changed` lets count of that parent (with its uid): equal = no event was missed. 0 = no parent.
  uint64_t mark_of(std::string_view key) const;

 private:
  // What is compared with the next state. Hashes of raw JSON: the server writes maps in order of their keys.
  struct Mark {
    uint64_t spec = 0, labels = 0, annotations = 0, status = 0;
    bool deleting = false;
    bool finalizer = false;  // ours
  };
  struct Member {
    cache::ObjectPtr object;
    Mark mark;
    bool matches = true;
  };
  void changed(const std::string& key, const cache::Change& change, std::string_view text);
  void look(const std::string& key, const cache::ObjectPtr& object, std::string_view text, bool initial);
  void leave(const std::string& key, const cache::ObjectPtr& last);
  void namespace_changed(const std::string& ns);
  Mark read_mark(std::string_view text) const;
  bool matches(const cache::Object& object, std::string_view text, bool before);
  bool counts(const Member& before, const Mark& mark, bool matches) const;

  Options options_;
  Touched touched_;
  std::map<std::string, Member, std::less<>> members_;
  std::unordered_map<std::string, std::string> key_of_uid_;
  std::string trouble_, trouble_key_;
  uint64_t when_errors_ = 0;
  FollowedKind followed_;
};

}  // namespace hookd::reconcile
