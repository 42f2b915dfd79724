#include "compat/metacontroller/controllers.h"

#include <algorithm>

#include "base/json_read.h"
#include "base/log.h"
#include "compat/metacontroller/names.h"
#include "compat/metacontroller/parent_check.h"
#include "compat/metacontroller/reconciler_maker.h"
#include "compat/metacontroller/spec_reader.h"
#include "hook/content_hash.h"

namespace hookd::metacontroller {
namespace {

constexpr size_t kMaxHookName = 100;
constexpr std::string_view kCompositePrefix = "compositecontroller-", kDecoratorPrefix = "decoratorcontroller-";
constexpr std::string_view kCreateError = "CreateError", kSyncError = "SyncError";

std::string display(ControllerKind kind, const std::string& name) {
  return fmt::format("{} {}", to_string(kind), name);
}

// Somebody has to do something about it, and it stops nothing else meanwhile.
bool lasting(const Error& error) {
  return error.code == Errc::kNotFound || error.code == Errc::kForbidden || error.code == Errc::kInvalid;
}

// What makes another hook of it: its spec, that it is another object, how children are written, and its guard. Not the
// rest of its metadata and status, as upstream.
uint64_t hash_of(const ControllerSpec& spec, const ControllersOptions& options) {
  const auto raw = json_raw_at(*spec.text, {"spec"}).value_or("");
  const auto rate = [](const std::optional<hook::Guard::Rate>& one) {
    return one ? fmt::format("{}/{}", one->count, one->per.count()) : std::string();
  };
  const hook::Guard guard = spec.guard.value_or(options.guard);
  return hook::content_hash(fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", spec.uid, options.apply.server_side,
                                        options.apply.ssa_field_manager, options.workers, rate(guard.deletes),
                                        rate(guard.writes), raw));
}

}  // namespace

Controllers::Controllers(ControllersServices services, ControllersOptions options)
    : services_(std::move(services)), options_(std::move(options)) {}
Controllers::~Controllers() = default;

void Controllers::start() {
  follow(ControllerKind::kComposite);
  follow(ControllerKind::kDecorator);
}

void Controllers::stop() {
  stopped_ = true;
  followed_.clear();
  for (auto& [key, one] : all_) {
    one.call.reset();
    one.again.cancel();
  }
}

void Controllers::follow(ControllerKind kind) {
  Followed& followed = followed_[kind];
  kube::CollectionKey key;
  key.api_version = kApiVersion;
  key.kind = to_string(kind);
  key.label_selector = options_.target_label_selector;
  followed.informer = services_.pool.get(key);
  kube::Informer::Subscriber subscriber;
  subscriber.on_change = [this, kind](const cache::Change& change, std::string_view) {
    if (change.type == cache::Change::Type::kDeleted)
      gone(kind, change.object->name);
    else
      seen(kind, *change.object);
  };
  followed.subscription = followed.informer->subscribe(std::move(subscriber));
}

bool Controllers::ready() const {
  for (const auto& [kind, followed] : followed_) {
    if (followed.informer->synced()) continue;
    const auto error = followed.informer->error();
    if (!error || !lasting(*error)) return false;
  }
  return true;
}

bool Controllers::idle() const {
  return ready() &&
         std::ranges::none_of(all_, [](const auto& entry) { return entry.second.call || entry.second.asking; });
}

std::vector<std::string> Controllers::degraded() const {
  std::vector<std::string> all;
  for (const auto& [kind, followed] : followed_)
    if (const auto error = followed.informer->error())
      all.push_back(fmt::format("metacontroller: {}s are not followed: {}", to_string(kind), error->what));
  for (const auto& [key, one] : all_)
    if (!one.trouble.empty())
      all.push_back(fmt::format("{}: {}{}", display(key.first, key.second), one.trouble,
                                one.running ? " (the version before goes on)" : ""));
  std::ranges::move(rivals(), std::back_inserter(all));
  return all;
}

// Two CompositeControllers of the same parents and children: a child of one is an undesired child of the other, as only
// the parent's owner reference tells whose it is. Upstream says nothing of it.
std::vector<std::string> Controllers::rivals() const {
  std::vector<std::string> all;
  const auto same_kind = [](const auto& one, const auto& other) {
    return one.resource == other.resource &&
           split_api_version(one.api_version).first == split_api_version(other.api_version).first;
  };
  std::multimap<std::string, const ControllerSpec*> before;  // by resource of the parent
  for (const auto& [key, one] : all_) {
    if (!one.running || !one.running->composite()) continue;
    const ParentResource& parent = one.running->parents.front();
    const auto [begin, end] = before.equal_range(parent.resource);
    for (auto it = begin; it != end; ++it) {
      const ParentResource& other = it->second->parents.front();
      if (!same_kind(parent, other)) continue;
      // By labels they may share the parents out.
      if (parent.label_selector && other.label_selector && !(*parent.label_selector == *other.label_selector)) continue;
      for (const ChildResource& child : one.running->children)
        if (std::ranges::any_of(it->second->children, [&](const auto& its) { return same_kind(child, its); }))
          all.push_back(fmt::format(
              "{} and {} have the same parents ({}) and children ({}): each deletes what the other makes; make one of "
              "them a DecoratorController, or part the parents by labelSelector",
              display(key.first, it->second->name), display(key.first, key.second), parent.resource, child.resource));
    }
    before.emplace(parent.resource, one.running.get());
  }
  return all;
}

bool Controllers::may_come(std::string_view hook) const {
  for (const auto& [kind, followed] : followed_) {
    if (!hook.starts_with(kind == ControllerKind::kComposite ? kCompositePrefix : kDecoratorPrefix)) continue;
    if (followed.informer->synced()) continue;
    const auto error = followed.informer->error();
    if (!error || error->code != Errc::kNotFound) return true;  // kNotFound: there is no such kind, so there are none
  }
  return std::ranges::any_of(all_, [&](const auto& entry) {
    return !entry.second.running && hook_name(entry.first.first, entry.first.second) == hook;
  });
}

std::string Controllers::hook_name(ControllerKind kind, const std::string& controller) {
  const std::string whole =
      std::string(kind == ControllerKind::kComposite ? kCompositePrefix : kDecoratorPrefix) + controller;
  std::string name = whole;
  std::ranges::replace(name, '.', '-');
  if (name == whole && name.size() <= kMaxHookName) return name;
  const std::string mark = fmt::format("-{:08x}", static_cast<uint32_t>(hook::content_hash(whole)));
  name.resize(std::min(name.size(), kMaxHookName - mark.size()));
  return name + mark;
}

void Controllers::seen(ControllerKind kind, const cache::Object& object) {
  if (stopped_) return;
  const Key key{kind, object.name};
  One& one = all_[key];
  auto spec = read_controller(object.text.unpack(), kind, {options_.exec_folder});
  if (!spec) {
    one.call.reset();
    one.again.cancel();
    one.wanted.reset();
    one.wanted_hash = 0;
    one.asking = false;
    ControllerSpec about;
    about.kind = kind;
    about.name = object.name;
    about.uid = object.uid;
    return trouble(one, about, spec.error().what, kCreateError);
  }
  const uint64_t hash = hash_of(**spec, options_);
  // Its status or metadata changed, or it was told anew. What waits for its parent goes on waiting.
  if (one.wanted && one.wanted_hash == hash && (one.running_hash == hash || one.looks > 0 || one.call)) return;
  one.wanted = *std::move(spec);
  one.wanted_hash = hash;
  one.asking = false;
  one.looks = 0;
  one.again.cancel();
  for (const std::string& warning : one.wanted->warnings)
    log::warn("a controller has something that does nothing",
              {{"controller", display(kind, key.second)}, {"field", warning}});
  if (one.running && one.running_hash == hash) {  // it is as it was before a broken version
    one.trouble.clear();
    one.told.clear();
    return;
  }
  if (kind == ControllerKind::kDecorator) return put(key);
  look_at_parent(key);
}

void Controllers::gone(ControllerKind kind, const std::string& name) {
  const auto found = all_.find({kind, name});
  if (found == all_.end()) return;
  const auto running = found->second.running;
  // Its call may be what is telling this: it ends in a turn of its own.
  services_.scheduler.post([call = std::shared_ptr<kube::ApiCall>(std::move(found->second.call))] {});
  all_.erase(found);
  if (!running) return;
  --running_;
  event(*running, "Stopping", "Stopping controller: " + name);
  services_.remove(hook_name(kind, name));
  event(*running, "Stopped", "Stopped controller: " + name);
}

// ---------------------------------------------------------------- the parent of a CompositeController

void Controllers::look_at_parent(const Key& key) {
  One& one = all_.at(key);
  const ParentResource& parent = one.wanted->parents.front();
  const std::string group = split_api_version(parent.api_version).first;
  if (group.empty()) return ask_discovery(key, false);  // of the core: there is no such CRD
  kube::ApiRequest request;
  request.path = fmt::format("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{}.{}", parent.resource, group);
  one.call = services_.api.request(std::move(request), [this, key](Result<kube::ApiResponse> response) {
    const auto found = all_.find(key);
    if (found == all_.end()) return;
    const auto call = std::move(found->second.call);
    crd_read(Key(key), response);
  });
}

void Controllers::crd_read(const Key& key, const Result<kube::ApiResponse>& response) {
  const ParentResource& parent = all_.at(key).wanted->parents.front();
  if (!response) {
    if (response.error().code == Errc::kNotFound) return ask_discovery(key, false);
    if (response.error().code == Errc::kForbidden) return ask_discovery(key, true);
    return not_yet(key, fmt::format("the CRD of its parent cannot be read: {}", response.error().what), kCreateError);
  }
  const auto answer = look_at_crd(response->body, split_api_version(parent.api_version).second);
  if (!answer) return not_yet(key, answer.error().what, kCreateError);
  switch (*answer) {
    case CrdAnswer::kGood:
      return put(key);
    case CrdAnswer::kNotServed:
      return not_yet(
          key, fmt::format("spec.parentResource: the CRD of {} does not serve {}", parent.resource, parent.api_version),
          kCreateError);
    case CrdAnswer::kNoStatus:
      return not_yet(key,
                     fmt::format("parent resource {} ({}) does not have subresource 'Status' enabled; add `status: "
                                 "{{}}` below subresources of that version of its CRD",
                                 parent.resource, parent.api_version),
                     kSyncError);
  }
}

// There is no CRD of the parent (or it may not be read): is it served all the same?
void Controllers::ask_discovery(const Key& key, bool crd_forbidden) {
  const ParentResource& parent = all_.at(key).wanted->parents.front();
  all_.at(key).asking = true;
  services_.discovery.resolve(
      parent.api_version, parent.resource,
      [this, key, crd_forbidden, wanted = all_.at(key).wanted, alive = std::weak_ptr(alive_)](auto type) {
        if (!alive.lock() || stopped_) return;
        const auto found = all_.find(key);
        if (found == all_.end() || found->second.wanted != wanted) return;
        found->second.asking = false;
        if (!type) return not_yet(key, fmt::format("spec.parentResource: {}", type.error().what), kCreateError);
        if (!crd_forbidden && !options_.built_in_parents)
          return not_yet(key,
                         fmt::format("spec.parentResource: {} is no custom resource; only those can be parents of a "
                                     "CompositeController, for others there are DecoratorControllers "
                                     "(metacontroller.builtInParents of the daemon's config allows it)",
                                     type->display()),
                         kCreateError);
        if (!type->has_subresource("status"))
          return not_yet(key,
                         fmt::format("parent resource {} ({}) does not have subresource 'Status' enabled", type->plural,
                                     type->api_version()),
                         kSyncError);
        put(key);
      });
}

void Controllers::not_yet(const Key& key, std::string why, std::string_view reason) {
  One& one = all_.at(key);
  ++one.looks;
  trouble(one, *one.wanted, std::move(why), reason);
  one.again = services_.scheduler.after(one.looks <= 5 ? kFirstLook : kLookAgain, [this, key] {
    if (const auto found = all_.find(key); !stopped_ && found != all_.end() && !found->second.call)
      look_at_parent(Key(key));
  });
}

// ----------------------------------------------------------------

void Controllers::put(const Key& key) {
  One& one = all_.at(key);
  auto hook = std::make_shared<hook::Hook>();
  hook->name = hook_name(key.first, key.second);
  hook->path = fmt::format("{}/{}", to_string(key.first), key.second);
  hook->content_hash = one.wanted_hash;
  hook->run.timeout = std::chrono::seconds(10);
  hook->run.grace = std::chrono::seconds(5);
  hook->concurrency = options_.workers;
  // client-go's: per key, 5 ms doubling to 1000 s, for ever.
  hook->retry.initial = std::chrono::milliseconds(5);
  hook->retry.max = std::chrono::seconds(1000);
  hook->reconciler = make_reconciler_maker(one.wanted, options_.apply);
  if (one.wanted->finalize)
    for (const ParentResource& parent : one.wanted->parents)
      hook->holds.push_back({one.wanted->finalizer(), parent.api_version, parent.resource});
  hook->guard = one.wanted->guard.value_or(options_.guard);
  const auto before = one.running;
  if (const auto taken = services_.put(std::move(hook)); !taken) {
    trouble(one, *one.wanted, taken.error().what, kCreateError);
    one.again = services_.scheduler.after(kLookAgain, [this, key] {
      if (!stopped_ && all_.contains(key)) put(Key(key));
    });
    return;
  }
  if (before) event(*before, "Stopping", "Stopping controller: " + key.second);
  event(*one.wanted, "Starting", "Starting controller: " + key.second);
  if (before)
    event(*before, "Stopped", "Stopped controller: " + key.second);
  else
    ++running_;
  one.running = one.wanted;
  one.running_hash = one.wanted_hash;
  one.looks = 0;
  one.trouble.clear();
  one.told.clear();
  event(*one.running, "Started", "Started controller: " + key.second);
}

void Controllers::trouble(One& one, const ControllerSpec& about, std::string why, std::string_view reason) {
  one.trouble = std::move(why);
  if (one.told == one.trouble) return;
  one.told = one.trouble;
  log::warn("a controller cannot be run", {{"controller", display(about.kind, about.name)}, {"error", one.trouble}});
  event(about, reason,
        reason == kSyncError ? "Sync error: " + one.trouble : "Cannot create new controller: " + one.trouble, true);
}

void Controllers::event(const ControllerSpec& about, std::string_view reason, std::string message, bool warning) {
  if (services_.dry_run) return;
  apply::EventNote note;
  note.api_version = kApiVersion;
  note.kind = to_string(about.kind);
  note.name = about.name;
  note.uid = about.uid;
  note.reason = reason;
  note.message = std::move(message);
  note.type = warning ? "Warning" : "Normal";
  note.hook = "metacontroller";
  services_.events.record(std::move(note));
}

}  // namespace hookd::metacontroller
