#include "kube/informer.h"

#include "base/log.h"

namespace hookd::kube {

std::string CollectionKey::display() const {
  std::string text = api_version.empty() ? kind : fmt::format("{} ({})", kind, api_version);
  if (!ns.empty()) text += fmt::format(" in namespace {}", ns);
  if (!label_selector.empty()) text += fmt::format(" with labels {}", label_selector);
  if (!field_selector.empty()) text += fmt::format(" with fields {}", field_selector);
  return text;
}

Informer::Subscription::~Subscription() {
  if (!informer_) return;
  slot_->dropped = true;
  if (informer_->telling_ == 0) informer_->subscribers_.erase(slot_);
}

std::shared_ptr<Informer> Informer::make(Context context, CollectionKey key, std::function<void()> on_health) {
  std::shared_ptr<Informer> informer(new Informer(context, std::move(key), std::move(on_health)));
  informer->self_ = informer;
  return informer;
}

Informer::Informer(Context context, CollectionKey key, std::function<void()> on_health)
    : context_(context),
      key_(std::move(key)),
      on_health_(std::move(on_health)),
      store_(context.scheduler, {.keep_text = key_.keep_text}) {
  store_.set_listener([this](const cache::Change& change, std::string_view text) {
    tell_each([&](Subscriber& subscriber) { subscriber.on_change(change, text); });
  });
  store_.set_on_drained([this] { drained(); });
}

void Informer::start() { resolve(); }

void Informer::tell_each(const std::function<void(Subscriber&)>& tell) {
  const auto self = self_.lock();  // the last subscription may be dropped on the way
  ++telling_;
  // Who joins meanwhile was told of this already, with all that the store has.
  size_t count = subscribers_.size();
  for (auto slot = subscribers_.begin(); count > 0; ++slot, --count)
    if (!slot->dropped) tell(slot->subscriber);
  if (--telling_ == 0) subscribers_.remove_if([](const Slot& slot) { return slot.dropped; });
}

void Informer::tell_health() {
  const auto self = self_.lock();
  tell_each([](Subscriber& subscriber) {
    if (subscriber.on_health) subscriber.on_health();
  });
  const auto on_health = on_health_;
  if (on_health) on_health();
}

std::unique_ptr<Informer::Subscription> Informer::subscribe(Subscriber subscriber) {
  // What is on its way to the others is in the store already: they hear it first, so that nobody hears a thing twice.
  if (telling_ == 0) store_.flush();
  auto subscription = std::make_unique<Subscription>();
  subscription->informer_ = self_.lock();
  subscription->slot_ = subscribers_.insert(subscribers_.end(), Slot{std::move(subscriber), false});
  Subscriber& joined = subscription->slot_->subscriber;
  ++telling_;
  store_.replay([&](const cache::Change& change, std::string_view text) { joined.on_change(change, text); });
  if (synced_ && joined.on_synced) joined.on_synced();
  if (--telling_ == 0) subscribers_.remove_if([](const Slot& slot) { return slot.dropped; });
  return subscription;
}

std::optional<Error> Informer::error() const {
  if (resolve_error_) return resolve_error_;
  return reflector_ ? reflector_->health().error : std::nullopt;
}

void Informer::resolve() {
  context_.discovery.resolve(key_.api_version, key_.kind, [self = self_](Result<ResourceType> type) {
    if (auto informer = self.lock()) informer->resolved(std::move(type));
  });
}

void Informer::resolved(Result<ResourceType> type) {
  const bool unwatchable = type && !(type->has_verb("list") && type->has_verb("watch"));
  if (unwatchable)
    type = fail(Errc::kInvalid, "{} cannot be watched: the server offers no list and watch for it", type->display());
  if (type) {
    if (resolve_error_) log::info("the server serves it now", {{"resource", key_.display()}});
    resolve_error_.reset();
    return follow(*std::move(type));
  }
  const bool news = !resolve_error_ || resolve_error_->what != type.error().what;
  resolve_error_ = type.error();
  if (news)
    log::warn("cannot watch yet, will keep looking", {{"resource", key_.display()}, {"error", type.error().what}});
  // The CRD may be created at any moment; a look at the server is two small requests, mostly answered by "not
  // modified".
  timer_ = context_.scheduler.after(unwatchable ? kUnwatchableRetry : kResolveRetry, [this, unwatchable] {
    if (unwatchable) context_.discovery.invalidate();  // it is in the table, but may have changed
    resolve();
  });
  if (news) tell_health();
}

void Informer::follow(ResourceType type) {
  type_ = type;
  gone_rounds_ = 0;
  Reflector::Options options;
  options.type = std::move(type);
  options.ns = key_.ns;
  options.label_selector = key_.label_selector;
  options.field_selector = key_.field_selector;
  options.metadata_only = key_.metadata_only;
  options.page_size = context_.page_size;
  reflector_.reset();
  store_.abandon_replace();
  reflector_ = std::make_unique<Reflector>(context_.api, context_.scheduler, context_.random, store_,
                                           std::move(options), [this] { reflector_changed(); });
  reflector_->start();
}

void Informer::reflector_changed() {
  const auto& health = reflector_->health();
  if (health.listed && !health.error) gone_rounds_ = 0;
  // 404 on a known path: the CRD may be gone, or the server is just starting. Only fresh discovery may decide (R47).
  if (health.error && health.error->code == Errc::kNotFound && !checking_) {
    checking_ = true;
    context_.scheduler.post([self = self_] {
      if (auto informer = self.lock()) informer->check_gone();
    });
  }
  tell_health();
}

void Informer::check_gone() {
  context_.discovery.refresh([self = self_](Result<void> looked) {
    if (auto informer = self.lock()) informer->gone_checked(looked.has_value());
  });
}

void Informer::gone_checked(bool looked) {
  checking_ = false;
  if (!looked || !reflector_ || !reflector_->health().error) return;
  const ResourceTable& table = context_.discovery.table();
  const auto found = table.find(type_->api_version(), type_->plural);
  if (found || found.error().code != Errc::kNotFound) {
    gone_rounds_ = 0;
    return;
  }
  // The same resource under another version: its objects live on, and their resource versions hold across versions.
  const auto moved = table.find(key_.api_version, key_.kind);
  if (moved && moved->group == type_->group && moved->plural == type_->plural) {
    log::info("the server serves it under another version now",
              {{"resource", key_.display()}, {"version", moved->version}});
    return follow(*moved);
  }
  if (++gone_rounds_ < 2) {
    checking_ = true;
    timer_ = context_.scheduler.after(kGoneCheck, [this] { check_gone(); });
    return;
  }
  // What that means is up to those who follow it.
  log::warn("no longer served: its CustomResourceDefinition or API service is gone; watched again when it is back",
            {{"resource", key_.display()}});
  reflector_.reset();
  type_.reset();
  serving_ = false;
  store_.clear();
  resolve();
}

void Informer::drained() {
  if (serving_ || !reflector_ || !reflector_->health().listed) return;
  const auto self = self_.lock();
  serving_ = true;
  if (!std::exchange(synced_, true))
    tell_each([](Subscriber& subscriber) {
      if (subscriber.on_synced) subscriber.on_synced();
    });
  tell_health();
}

std::shared_ptr<Informer> InformerPool::get(const CollectionKey& key) {
  std::erase_if(informers_, [](const auto& entry) { return entry.second.expired(); });
  // Without texts in memory a second subscriber could not be told of the objects that are there: not shared.
  if (key.keep_text)
    if (const auto known = informers_.find(key); known != informers_.end())
      if (auto informer = known->second.lock()) return informer;
  auto informer = Informer::make(context_, key, on_health_);
  informers_.emplace(key, informer);
  informer->start();
  return informer;
}

std::vector<std::shared_ptr<Informer>> InformerPool::all() const {
  std::vector<std::shared_ptr<Informer>> alive;
  for (const auto& [key, weak] : informers_)
    if (auto informer = weak.lock()) alive.push_back(std::move(informer));
  return alive;
}

}  // namespace hookd::kube
