// One shared collection: the type that a person named, resolved and followed through CRDs coming and going; its
// store; its reflector. Bindings subscribe. Thread: loop only. Source: k8s-client.md R4, R46-R49, D8, D10.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "base/random.h"
#include "base/scheduler.h"
#include "cache/object_store.h"
#include "kube/client.h"
#include "kube/discovery.h"
#include "kube/reflector.h"

namespace hookd::kube {

struct CollectionKey {
  std::string api_version;  // "" = the server's preferred version
  std::string kind;         // Kind, plural or short name
  std::string ns;           // "" = all
  std::string label_selector;
  std::string field_selector;
  bool metadata_only = false;
  bool keep_text = true;
  auto operator<=>(const CollectionKey&) const = default;
  std::string display() const;
};

class Informer {
  struct Slot;

 public:
  struct Context {
    Api& api;
    Discovery& discovery;
    Scheduler& scheduler;
    Random& random;
    int page_size = 500;
  };
  struct Subscriber {
    cache::ObjectStore::Listener on_change;
    std::function<void()> on_synced;    // once, after the whole first list was told through on_change
    std::function<void()> on_health{};  // type(), error() or serving() may have changed
  };
  // Dropping it ends the subscription, at any moment: also from inside a subscriber's own callback. It keeps the
  // informer.
  class Subscription {
   public:
    Subscription() = default;
    ~Subscription();
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

   private:
    friend class Informer;
    std::shared_ptr<Informer> informer_;
    std::list<Slot>::iterator slot_;
  };

  static std::shared_ptr<Informer> make(Context context, CollectionKey key, std::function<void()> on_health);
  void start();

  // A late subscriber is told what the store has, as initial additions, before anything newer, before this returns.
  [[nodiscard]] std::unique_ptr<Subscription> subscribe(Subscriber subscriber);

  void flush() { store_.flush(); }         // tells at once what is put in and not told yet
  bool synced() const { return synced_; }  // the first list was told whole
  // The same of the kind as it is served now: false again once the server serves it no more, until it does and the
  // new list was told whole.
  bool serving() const { return serving_; }
  const std::optional<ResourceType>& type() const { return type_; }
  std::optional<Error> error() const;  // why it is not following now
  const CollectionKey& key() const { return key_; }
  const cache::ObjectStore& store() const { return store_; }
  const Reflector* reflector() const { return reflector_.get(); }

  static constexpr Duration kResolveRetry = std::chrono::seconds(1);
  static constexpr Duration kGoneCheck = std::chrono::seconds(2);  // between the two looks that must miss it (R47)
  static constexpr Duration kUnwatchableRetry = std::chrono::seconds(30);

 private:
  struct Slot {
    Subscriber subscriber;
    bool dropped = false;
  };

  Informer(Context context, CollectionKey key, std::function<void()> on_health);
  void resolve();
  void resolved(Result<ResourceType> type);
  void follow(ResourceType type);
  void reflector_changed();
  void check_gone();
  void gone_checked(bool looked);
  void drained();
  void tell_each(const std::function<void(Subscriber&)>& tell);
  void tell_health();

  Context context_;
  CollectionKey key_;
  std::function<void()> on_health_;
  cache::ObjectStore store_;
  std::optional<ResourceType> type_;
  std::optional<Error> resolve_error_;
  std::unique_ptr<Reflector> reflector_;
  std::list<Slot> subscribers_;
  int telling_ = 0;  // while > 0 no slot leaves the list
  bool synced_ = false;
  bool serving_ = false;
  int gone_rounds_ = 0;
  bool checking_ = false;
  Timer timer_;
  std::weak_ptr<Informer> self_;
};

// Informers by key; the same collection is streamed once.
class InformerPool {
 public:
  InformerPool(Informer::Context context, std::function<void()> on_health)
      : context_(context), on_health_(std::move(on_health)) {}
  // Lives as long as somebody holds it.
  std::shared_ptr<Informer> get(const CollectionKey& key);
  std::vector<std::shared_ptr<Informer>> all() const;
  Api& api() { return context_.api; }

 private:
  Informer::Context context_;
  std::function<void()> on_health_;
  std::multimap<CollectionKey, std::weak_ptr<Informer>> informers_;
};

}  // namespace hookd::kube
