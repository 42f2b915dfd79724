#include "trigger/watch_trigger.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/json_read.h"
#include "base/log.h"
#include "base/time.h"
#include "filter/running.h"

namespace hookd::trigger {
namespace {

constexpr std::chrono::duration<double> kFarAway{std::chrono::hours(24 * 365 * 100)};

cache::ObjectPtr identity_of(const cache::ObjectPtr& object) {
  auto bare = std::make_shared<cache::Object>();
  static_cast<cache::Identity&>(*bare) = *object;
  return bare;
}

}  // namespace

WatchTrigger::WatchTrigger(std::shared_ptr<const hook::Hook> hook, const hook::WatchBinding& binding,
                           kube::InformerPool& pool, Scheduler& scheduler, metrics::Registry& metrics, Emit emit,
                           std::function<void()> on_ready, WatchMemory memory)
    : hook_(std::move(hook)),
      binding_(binding),
      pool_(pool),
      scheduler_(scheduler),
      metrics_(metrics),
      emit_(std::move(emit)),
      on_ready_(std::move(on_ready)),
      names_(binding.names.begin(), binding.names.end()) {
  if (memory.store && memory.store->durable() && memory.store->keeps("known") && !binding_.snapshot_only())
    known_ = std::make_unique<KnownObjects>(*memory.store, hook_->name, binding_, memory.cluster);
}

void WatchTrigger::start() {
  kube::CollectionKey key;
  key.api_version = binding_.api_version;
  key.kind = binding_.kind;
  if (binding_.label_selector) key.label_selector = binding_.label_selector->to_string();
  key.field_selector = binding_.field_selector;
  // One name is a selection that the server can make (R3); more are chosen here.
  if (names_.size() == 1 && key.field_selector.find("metadata.name") == std::string::npos)
    key.field_selector += (key.field_selector.empty() ? "metadata.name=" : ",metadata.name=") + *names_.begin();
  key.metadata_only = binding_.metadata_only;
  key.keep_text = binding_.keep == hook::WatchBinding::Keep::kObject || binding_.namespaces.label_selector.has_value();

  if (binding_.namespaces.label_selector)
    namespaces_ = std::make_unique<NamespaceSet>(
        pool_, *binding_.namespaces.label_selector,
        [this](const std::string& name, bool in) { namespace_changed(name, in); }, [this] { check_ready(); });

  // Named namespaces are streams of their own, so that a Role in each of them is right enough (R4).
  std::vector<std::string> scopes = binding_.namespaces.names;
  if (scopes.empty()) scopes.emplace_back();
  for (const std::string& scope : scopes) {
    key.ns = scope;
    Stream& stream = streams_.emplace_back();
    stream.informer = pool_.get(key);
  }
  for (Stream& stream : streams_)
    stream.subscription = stream.informer->subscribe(
        {[this, &stream](const cache::Change& change, std::string_view text) { changed(stream, change, text); },
         [this] { check_ready(); }});
  check_ready();
}

void WatchTrigger::stop() {
  for (Stream& stream : streams_) stream.subscription.reset();
  flush_held();
  missed_.reset();
  for (auto& [key, member] : members_) member.timer.cancel();
}

std::vector<std::shared_ptr<kube::Informer>> WatchTrigger::informers() const {
  std::vector<std::shared_ptr<kube::Informer>> all;
  for (const Stream& stream : streams_) all.push_back(stream.informer);
  if (namespaces_) all.push_back(namespaces_->informer());
  return all;
}

void WatchTrigger::check_ready() {
  if (ready_ || streams_.empty()) return;
  for (const Stream& stream : streams_)
    if (!stream.subscription || !stream.informer->synced()) return;
  if (namespaces_ && !namespaces_->synced()) return;
  ready_ = true;
  note_type(*streams_.front().informer);
  if (binding_.existing == hook::WatchBinding::Existing::kSync && !binding_.snapshot_only()) {
    hook::Event event;
    event.type = hook::Event::Type::kSync;
    event.binding = binding_.name;
    event.resource = type_;
    event.seen = scheduler_.now();
    metrics_.count("hookd_events_total", {{"hook", hook_->name}, {"binding", binding_.name}, {"type", "Sync"}});
    emit_("sync/" + binding_.name, std::move(event), true);
  }
  look_for_missed();
  on_ready_();
}

// ---------------------------------------------------------------- what went while the daemon was down

void WatchTrigger::look_for_missed() {
  if (!known_) return;
  MissedDeletions::Seams seams;
  seams.look = [this](const KnownObjects::Row& row) { return look(row); };
  seams.tell = [this](const KnownObjects::Row& row) { tell_gone(row.object, row.uid); };
  seams.type = [this] { return type_; };
  seams.hook = hook_->name;
  seams.binding = binding_.name;
  seams.matches = [this](const std::string& text) {
    if (!binding_.label_selector) return true;
    cache::LabelSelector::Labels labels;
    if (const auto raw = json_raw_at(text, {"metadata", "labels"}))
      if (const auto read = parse_json(*raw); read && read->is_object())
        for (const auto& [key, value] : read->get_object())
          if (value.is_string()) labels.emplace(key, value.get_string());
    return binding_.label_selector->matches(labels);
  };
  missed_ = std::make_unique<MissedDeletions>(*known_, pool_.api(), scheduler_, std::move(seams));
  missed_->start();
}

MissedDeletions::Now WatchTrigger::look(const KnownObjects::Row& row) const {
  using Now = MissedDeletions::Now;
  // Told and handled since it was read: known no more.
  if (told_.contains({row.object, row.uid}) || !known_->has(row.object, row.uid)) return Now::kTold;
  const auto member = members_.find(row.object);
  if (member != members_.end() && member->second.newest().uid == row.uid) return Now::kHere;
  // A namesake is there, so the object itself is not; or it is in the list, but outside.
  if (member != members_.end()) return Now::kOut;
  const bool listed = std::ranges::any_of(
      streams_, [&](const Stream& stream) { return stream.informer->store().find(row.object) != nullptr; });
  return listed ? Now::kOut : Now::kMissing;
}

// The last state is known only where the object is still there, outside.
void WatchTrigger::tell_gone(const std::string& key, const std::string& uid) {
  if (!binding_.deleted) return known_->forget(key, uid);
  if (!told_.emplace(key, uid).second) return;
  for (const Stream& stream : streams_)
    if (const auto object = stream.informer->store().find(key); object && object->uid == uid)
      return emit(hook::Event::Type::kDeleted, object, nullptr);
  auto gone = std::make_shared<cache::Object>();
  std::tie(gone->ns, gone->name) = split_object_key(key);
  gone->uid = uid;
  emit(hook::Event::Type::kDeleted, gone, nullptr, nullptr, nullptr, true);
}

void WatchTrigger::deletion_taken_over(const cache::Object& object) {
  if (known_) told_.emplace(object.key(), object.uid);
}

void WatchTrigger::deletion_handled(const cache::Object& object) {
  if (!known_) return;
  told_.erase({object.key(), object.uid});
  // It may have come back since (`when` holds again).
  const auto member = members_.find(object.key());
  const bool back = member != members_.end() && member->second.inside && member->second.object->uid == object.uid;
  if (!back) known_->forget(object.key(), object.uid);
}

// ---------------------------------------------------------------- changes

bool WatchTrigger::takes_part(const cache::Object& object, std::string_view text) {
  if (!names_.empty() && !names_.contains(object.name)) return false;
  if (namespaces_ && !namespaces_->contains(object.ns)) return false;
  if (!binding_.when) return true;
  const filter::RunsFor names(hook_->name, binding_.name);
  const auto holds = binding_.when->test(text);
  if (!holds) filter_failed("when", object.key(), holds.error());
  return holds && *holds;
}

// A CRD may go and come back with other versions.
void WatchTrigger::note_type(const kube::Informer& informer) {
  if (informer.type() && (!type_ || *type_ != *informer.type()))
    type_ = std::make_shared<const kube::ResourceType>(*informer.type());
}

void WatchTrigger::ignore_own_writes(hook::OwnWrites& writes) {
  own_writes_ = std::make_unique<OwnWriteFilter>(
      hook_->name, writes, scheduler_,
      [this](const std::string& queue_key, hook::Event event) { emit_(queue_key, std::move(event), false); },
      [this](const std::string& queue_key, const hook::Event& event) {
        metrics_.count("hookd_own_events_ignored_total", {{"hook", hook_->name}, {"binding", binding_.name}});
        if (event.type != hook::Event::Type::kDeleted) return;
        deletion_handled(*event.object);
        if (silent_leave_) silent_leave_(queue_key, *event.object);
      });
}

void WatchTrigger::changed(const Stream& stream, const cache::Change& change, std::string_view text) {
  change_ = &change;
  change_text_ = text;
  take_in(stream, change, text);
  change_ = nullptr;
}

void WatchTrigger::take_in(const Stream& stream, const cache::Change& change, std::string_view text) {
  note_type(*stream.informer);
  const std::string key = change.object->key();
  auto it = members_.find(key);
  if (it != members_.end()) {
    // A replay tells the newest state; what the store had not told before that comes after it and must not turn back
    // time.
    const cache::Object& newest = it->second.newest();
    const cache::ObjectPtr stored = stream.informer->store().find(key);
    const bool up_to_date = stored && stored->uid == newest.uid && stored->resource_version == newest.resource_version;
    if (up_to_date && (change.object->uid != newest.uid || change.object->resource_version != newest.resource_version))
      return;
  }
  if (change.type == cache::Change::Type::kDeleted) {
    // By uid: a late subscriber may know the namesake already.
    if (it != members_.end() && it->second.newest().uid == change.object->uid)
      leave(key, change.object, change.final_state_unknown);
    return;
  }
  if (it != members_.end() && it->second.newest().uid != change.object->uid) {
    leave(key, nullptr, true);
    it = members_.end();
  }
  if (!takes_part(*change.object, text)) {
    if (it != members_.end()) leave(key, change.object, false);
    return;
  }
  if (it == members_.end()) {
    return hold(key, members_[key], change.object, text, change.initial);
  }
  Member& member = it->second;
  if (!member.inside) return hold(key, member, change.object, text, false);
  update(key, member, change, text);
}

// The object takes part; it is inside once that has held for `for`.
void WatchTrigger::hold(const std::string& key, Member& member, const cache::ObjectPtr& object, std::string_view text,
                        bool initial) {
  if (!member.latest) member.first = scheduler_.now();
  member.latest = object;
  if (binding_.since && binding_.hold_for > Duration::zero()) member.since = since_of(text, key);
  if (time_left(member) <= Duration::zero()) return enter(key, member, object, text, initial);
  wait(key, member);
}

Duration WatchTrigger::time_left(const Member& member) const {
  if (!member.since) return member.first + binding_.hold_for - scheduler_.now();
  // In floating point: what an object says may be centuries away, and the difference in nanoseconds would not fit.
  using Seconds = std::chrono::duration<double>;
  const Seconds left =
      Seconds(*member.since - WallTime{}) - Seconds(scheduler_.wall_now() - WallTime{}) + Seconds(binding_.hold_for);
  return std::chrono::duration_cast<Duration>(std::clamp(left, Seconds(-1), kFarAway));
}

void WatchTrigger::wait(const std::string& key, Member& member) {
  const Duration left = time_left(member);
  member.timer = scheduler_.after(member.since ? std::min(left, kLook) : left, [this, key] {
    const auto it = members_.find(key);
    if (it == members_.end() || it->second.inside) return;
    if (time_left(it->second) > Duration::zero()) return wait(key, it->second);
    const cache::ObjectPtr latest = it->second.latest;
    // It was not over when the object came, so this is news whatever `existing` says.
    enter(key, it->second, latest, latest->text.unpack(), false);
  });
}

void WatchTrigger::enter(const std::string& key, Member& member, const cache::ObjectPtr& object, std::string_view text,
                         bool initial) {
  member.timer.cancel();
  member.inside = true;
  if (known_ && binding_.deleted)
    for (const std::string& gone : known_->entered(key, object->uid)) tell_gone(key, gone);
  auto value = value_of(text, key);
  keep(member, object, value);
  if (initial && binding_.existing != hook::WatchBinding::Existing::kAdded) return;
  if (binding_.added) emit(hook::Event::Type::kAdded, object, std::move(value));
}

void WatchTrigger::update(const std::string& key, Member& member, const cache::Change& change, std::string_view text) {
  if (member.object->resource_version == change.object->resource_version) return;
  auto value = value_of(text, key);
  const bool same = binding_.value && member.value && value && *member.value == *value;
  const cache::ObjectPtr old =
      member.object->text.empty() ? (change.old && !change.old->text.empty() ? change.old : nullptr) : member.object;
  const auto old_value = member.value;
  keep(member, change.object, value);
  if (!same && binding_.modified) emit(hook::Event::Type::kModified, change.object, std::move(value), old, old_value);
}

void WatchTrigger::leave(const std::string& key, const cache::ObjectPtr& last, bool final_state_unknown) {
  const auto it = members_.find(key);
  if (it == members_.end()) return;
  bool inside = it->second.inside;
  const cache::ObjectPtr known = last ? last : it->second.object ? it->second.object : it->second.latest;
  const auto value = it->second.value;
  members_.erase(it);
  // Known from before a restart, it may leave while `for` runs anew.
  if (known_ && binding_.deleted && !inside) inside = known_->has(key, known->uid);
  if (inside && !binding_.deleted && silent_leave_) silent_leave_(queue_key(*known), *known);
  if (inside && binding_.deleted && known_) told_.emplace(key, known->uid);
  if (inside && binding_.deleted)
    emit(hook::Event::Type::kDeleted, known, value, nullptr, nullptr, final_state_unknown);
}

void WatchTrigger::keep(Member& member, const cache::ObjectPtr& object, std::shared_ptr<const std::string> value) {
  member.object = binding_.keep == hook::WatchBinding::Keep::kObject ? object : identity_of(object);
  member.latest.reset();
  // With `none` the value is still compared, so that only changes of it are events.
  member.value = std::move(value);
}

std::shared_ptr<const std::string> WatchTrigger::value_of(std::string_view text, const std::string& key) {
  if (!binding_.value) return nullptr;
  const filter::RunsFor names(hook_->name, binding_.name);
  auto value = binding_.value->run(text);
  if (!value) {
    filter_failed("value", key, value.error());
    return std::make_shared<const std::string>("null");
  }
  return std::make_shared<const std::string>(*std::move(value));
}

// nullopt: the object does not tell (now), so that the time at which it was first seen counts.
std::optional<WallTime> WatchTrigger::since_of(std::string_view text, const std::string& key) {
  const filter::RunsFor names(hook_->name, binding_.name);
  const auto raw = binding_.since->run(text);
  if (!raw) {
    filter_failed("since", key, raw.error());
    return std::nullopt;
  }
  const auto value = parse_json(*raw);
  if (value && value->is_null()) return std::nullopt;
  if (value && value->is_string()) {
    if (auto time = parse_rfc3339(value->get_string())) return *time;
  } else if (value && value->is_number()) {  // seconds since 1970
    const double seconds = value->to_number<double>();
    constexpr double kMost = 9.2e9;  // what nanoseconds in 64 bits can tell: the year 2261
    if (std::abs(seconds) < kMost) return WallTime(Duration(static_cast<int64_t>(seconds * 1e9)));
  }
  filter_failed("since", key,
                Error{Errc::kInvalid,
                      fmt::format("a time such as \"2026-01-31T12:00:00Z\" was expected, not {}", raw->substr(0, 80)),
                      0,
                      {},
                      {}});
  return std::nullopt;
}

void WatchTrigger::filter_failed(std::string_view which, const std::string& key, const Error& error) {
  metrics_.count("hookd_filter_errors_total", {{"hook", hook_->name}, {"binding", binding_.name}});
  // The first ones tell the story; a filter that fails on every object must not fill the log.
  if (++filter_errors_ <= 10 || filter_errors_ % 1000 == 0)
    log::warn("a filter failed on an object", {{"hook", hook_->name},
                                               {"binding", binding_.name},
                                               {"filter", which},
                                               {"object", key},
                                               {"error", error.what},
                                               {"total", filter_errors_}});
}

void WatchTrigger::namespace_changed(const std::string& name, bool in) {
  if (!in) {
    std::vector<std::string> gone;
    for (const auto& [key, member] : members_)
      if (member.newest().ns == name) gone.push_back(key);
    for (const std::string& key : gone) leave(key, nullptr, false);
    return;
  }
  for (Stream& stream : streams_) {
    if (!stream.subscription) continue;
    stream.informer->store().replay([&](const cache::Change& change, std::string_view text) {
      if (change.object->ns != name) return;
      cache::Change seen = change;
      seen.initial = !ready_;
      seen.listed = true;  // the namespace is the news, whoever wrote the object last
      changed(stream, seen, text);
    });
  }
}

std::string WatchTrigger::queue_key(const cache::Object& object) const {
  // By resource, not by binding: two bindings on one object must not be called at the same time.
  const std::string type = type_ ? type_->plural + "." + type_->group : binding_.kind;
  return type + "/" + object.key();
}

void WatchTrigger::emit(hook::Event::Type type, const cache::ObjectPtr& object,
                        std::shared_ptr<const std::string> value, const cache::ObjectPtr& old,
                        std::shared_ptr<const std::string> old_value, bool unknown) {
  hook::Event event;
  event.type = type;
  event.binding = binding_.name;
  event.resource = type_;
  event.object = object;
  event.old = old;
  event.value = std::move(value);
  event.old_value = std::move(old_value);
  event.final_state_unknown = unknown;
  event.coalesce = binding_.coalesce;
  event.seen = scheduler_.now();
  metrics_.count("hookd_events_total",
                 {{"hook", hook_->name}, {"binding", binding_.name}, {"type", std::string(to_string(type))}});
  if (own_writes_) return own_writes_->pass(queue_key(*object), std::move(event), change_, change_text_);
  emit_(queue_key(*object), std::move(event), false);
}

hook::Snapshot WatchTrigger::snapshot() const {
  hook::Snapshot snapshot;
  snapshot.type = type_;
  for (const auto& [key, member] : members_)
    if (member.inside)
      snapshot.entries.push_back(
          {member.object, binding_.keep == hook::WatchBinding::Keep::kNone ? nullptr : member.value});
  return snapshot;
}

std::optional<hook::SnapshotEntry> WatchTrigger::inside(const std::string& object_key, const std::string& uid) const {
  const auto it = members_.find(object_key);
  if (it == members_.end() || !it->second.inside || it->second.object->uid != uid) return std::nullopt;
  return hook::SnapshotEntry{it->second.object, it->second.value};
}

std::optional<hook::SnapshotEntry> WatchTrigger::inside(const std::string& object_key) const {
  const auto it = members_.find(object_key);
  if (it == members_.end() || !it->second.inside) return std::nullopt;
  return hook::SnapshotEntry{it->second.object, it->second.value};
}

size_t WatchTrigger::waiting() const {
  return static_cast<size_t>(std::ranges::count_if(members_, [](const auto& entry) { return !entry.second.inside; }));
}

}  // namespace hookd::trigger
