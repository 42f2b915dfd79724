#include "hook/own_writes.h"

#include <algorithm>

namespace hookd::hook {
namespace {

std::string key_of(const std::string& uid, const std::string& version) { return uid + " " + version; }

std::string object_key(const std::string& ns, const std::string& name) { return ns.empty() ? name : ns + "/" + name; }

template <class Map>
void bound(Map& map, std::deque<std::string>& order, size_t most) {
  while (order.size() > most) {
    map.erase(order.front());
    order.pop_front();
  }
}

}  // namespace

std::string resource_of(const kube::ResourceType& type) { return type.plural + "." + type.group; }

std::vector<Event> bare_events(const std::vector<Event>& events) {
  std::vector<Event> bare = events;
  for (Event& event : bare) {
    event.old = nullptr;
    event.value = event.old_value = event.data = event.old_data = nullptr;
    event.ticket = nullptr;
    if (!event.object) continue;
    auto identity = std::make_shared<cache::Object>();
    static_cast<cache::Identity&>(*identity) = *event.object;
    event.object = std::move(identity);
  }
  return bare;
}

uint64_t OwnWrites::sending(Write write) {
  const uint64_t ticket = ++tickets_;
  open_[ticket] = {std::move(write), seen_count_};
  return ticket;
}

void OwnWrites::abandoned(uint64_t ticket) {
  auto open = open_.extract(ticket);
  if (open.empty()) return;
  const Write& write = open.mapped().write;
  tell(write.resource, object_key(write.ns, write.name));
}

void OwnWrites::settled(uint64_t ticket, const apply::Operation& operation, const apply::Outcome& outcome) {
  auto node = open_.extract(ticket);
  if (node.empty()) return;
  const Open open = std::move(node.mapped());
  const bool done = outcome.kind == apply::Outcome::Kind::kDone && !outcome.uid.empty();
  const bool deletes = apply::is_delete(operation.verb) || operation.verb == apply::Verb::kEvict;
  if (done && deletes && outcome.made == apply::Outcome::Made::kYes) {
    if (!deletions_.contains(outcome.uid)) deletion_order_.push_back(outcome.uid);
    const bool at_once = outcome.resource_version.empty() && operation.verb != apply::Verb::kEvict;
    deletions_[outcome.uid] = {open.write.hook, outcome.resource_version, at_once};
    bound(deletions_, deletion_order_, kDeletions);
  }
  if (done && !outcome.resource_version.empty() && outcome.made != apply::Outcome::Made::kNo) {
    const auto before = seen_.find(key_of(outcome.uid, outcome.resource_version));
    const bool told_before = before != seen_.end() && before->second <= open.seen_before;
    if (!told_before) {
      Made made{open.write.hook, outcome.made == apply::Outcome::Made::kYes && !deletes, {}};
      // Of the same object first: in a batch each object has its own story.
      std::vector<Event> because;
      for (const Event& event : *open.write.because)
        if (event.object && event.object->uid == outcome.uid) because.push_back(event);
      cause_of(because.empty() ? *open.write.because : because, open.write.hook, &made.chain);
      if (!made.chain.starts.empty()) made.chain.starts.back() = open.write.call_started;
      remember(outcome.uid, outcome.resource_version, std::move(made));
    }
  }
  tell(open.write.resource, object_key(open.write.ns, open.write.name));
}

void OwnWrites::remember(const std::string& uid, const std::string& version, Made made) {
  const std::string key = key_of(uid, version);
  const auto known = made_.find(key);
  if (known != made_.end()) {
    if (made.proven || !known->second.proven) known->second = std::move(made);
    return;
  }
  made_.emplace(key, std::move(made));
  made_order_.push_back(key);
  last_[uid] = version;
  while (made_order_.size() > kVersions) {
    const std::string oldest = std::move(made_order_.front());
    made_order_.pop_front();
    made_.erase(oldest);
    const size_t space = oldest.find(' ');
    const auto last = last_.find(oldest.substr(0, space));
    if (last != last_.end() && last->second == oldest.substr(space + 1)) last_.erase(last);
  }
}

void OwnWrites::seen(const std::string& uid, const std::string& version) {
  std::string key = key_of(uid, version);
  if (!seen_.try_emplace(key, ++seen_count_).second) return;
  seen_order_.push_back(std::move(key));
  bound(seen_, seen_order_, kSeen);
}

bool OwnWrites::open_to(const std::string* hook, const std::string& resource, const cache::Identity& object) const {
  return std::ranges::any_of(open_, [&](const auto& entry) {
    const Write& write = entry.second.write;
    if (hook && write.hook != *hook) return false;
    if (write.resource != resource || write.ns != object.ns) return false;
    return write.name.empty() ? object.name.starts_with(write.prefix) : write.name == object.name;
  });
}

Cause OwnWrites::version_by(const std::string& hook, const std::string& resource, const cache::Identity& object) const {
  const auto made = made_.find(key_of(object.uid, object.resource_version));
  if (made != made_.end() && made->second.proven && made->second.hook == hook) return Cause::kOurs;
  return open_to(&hook, resource, object) ? Cause::kUndecided : Cause::kOthers;
}

Cause OwnWrites::gone_by(const std::string& hook, const std::string& resource, const cache::Identity& object,
                         bool at_once) const {
  const auto deletion = deletions_.find(object.uid);
  // What was not ending and went at once was there when the hook's deletion came, or that would have found nothing.
  const bool known = deletion != deletions_.end() && deletion->second.hook == hook;
  if (known && (deletion->second.ends || at_once)) return Cause::kOurs;
  return open_to(&hook, resource, object) ? Cause::kUndecided : Cause::kOthers;
}

Cause OwnWrites::ending_by(const std::string& hook, const std::string& resource, const cache::Identity& object) {
  const auto deletion = deletions_.find(object.uid);
  const bool known = deletion != deletions_.end() && deletion->second.hook == hook;
  // An eviction's answer names no version; that the object ends since this one is enough.
  if (known && (deletion->second.ends || deletion->second.version.empty() ||
                deletion->second.version == object.resource_version)) {
    deletion->second.ends = true;
    return Cause::kOurs;
  }
  return open_to(&hook, resource, object) ? Cause::kUndecided : Cause::kOthers;
}

std::string OwnWrites::last_version(const std::string& uid) const {
  const auto last = last_.find(uid);
  return last == last_.end() ? "" : last->second;
}

// All the versions that were merged into the event must be ours.
Cause OwnWrites::event_cause(const Event& event, Chain& chain) const {
  if (!event.object || event.again || event.passed.size() > kPassed) return Cause::kOthers;
  bool undecided = false;
  const auto look = [&](const std::string& version) {
    const auto made = made_.find(key_of(event.object->uid, version));
    if (made != made_.end()) {
      if (made->second.chain.depth >= chain.depth) chain = made->second.chain;
      return true;
    }
    const auto deletion = deletions_.find(event.object->uid);
    if (event.type == Event::Type::kDeleted && deletion != deletions_.end()) return true;
    if (!event.resource || !open_to(nullptr, resource_of(*event.resource), *event.object)) return false;
    undecided = true;
    return true;
  };
  for (const std::string& version : event.passed)
    if (!look(version)) return Cause::kOthers;
  if (!look(event.object->resource_version)) return Cause::kOthers;
  return undecided ? Cause::kUndecided : Cause::kOurs;
}

Cause OwnWrites::cause_of(const std::vector<Event>& events, const std::string& hook, Chain* chain) const {
  Chain found;
  bool undecided = false, others = events.empty();
  for (const Event& event : events) {
    const Cause cause = event_cause(event, found);
    others |= cause == Cause::kOthers;
    undecided |= cause == Cause::kUndecided;
  }
  if (chain) {
    *chain = others || undecided ? Chain{} : std::move(found);
    if (!others && !undecided) ++chain->depth;
    chain->starts.push_back(scheduler_.now());
    if (chain->starts.size() > Chain::kRemembered) chain->starts.erase(chain->starts.begin());
    if (std::ranges::find(chain->hooks, hook) == chain->hooks.end() && chain->hooks.size() < Chain::kRemembered)
      chain->hooks.push_back(hook);
  }
  return others ? Cause::kOthers : undecided ? Cause::kUndecided : Cause::kOurs;
}

std::shared_ptr<void> OwnWrites::on_settled(Look look) {
  auto kept = std::make_shared<Look>(std::move(look));
  looks_.push_back(kept);
  return kept;
}

void OwnWrites::tell(const std::string& resource, const std::string& key) {
  if (looks_.empty()) return;
  scheduler_.post([this, alive = std::weak_ptr(alive_), resource, key] {
    if (alive.expired()) return;
    std::erase_if(looks_, [](const auto& look) { return look.expired(); });
    for (const auto& look : std::vector(looks_))
      if (const auto held = look.lock()) (*held)(resource, key);
  });
}

}  // namespace hookd::hook
