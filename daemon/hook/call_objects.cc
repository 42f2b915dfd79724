// What a call is about: gathering it, and finding its objects again when the answer names them.
#include "hook/runner.h"

#include "base/ascii.h"

namespace hookd::hook {
namespace {

// Of the same group, whatever the version: uids do not depend on it. A hook may name the kind in every way that
// discovery understands ("pods", "po"): a uid that is not found here is not pinned.
bool same_kind(const kube::ResourceType* type, std::string_view api_version, std::string_view kind) {
  if (!type) return false;
  const size_t slash = api_version.find('/');
  const std::string_view group = slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
  if (!api_version.empty() && group != type->group) return false;
  if (kind == type->kind) return true;
  const std::string name = lower(kind.substr(0, kind.find('.')));
  if (const size_t dot = kind.find('.'); dot != std::string_view::npos) {
    const std::string_view rest = kind.substr(dot + 1);
    if (rest != type->group && rest != type->version + "." + type->group) return false;
  }
  return name == lower(type->kind) || name == type->plural || (!type->singular.empty() && name == type->singular) ||
         std::ranges::find(type->short_names, name) != type->short_names.end();
}

std::string_view reason_of(const std::vector<Event>& events) {
  if (std::ranges::all_of(events, &Event::again)) return "requeue";
  switch (events.front().type) {
    case Event::Type::kSchedule:
      return "schedule";
    case Event::Type::kStartup:
      return "startup";
    case Event::Type::kSource:
      return "source";
    default:
      return "watch";
  }
}

const std::vector<std::string>* includes_of(const Hook& hook, const Event& event) {
  if (const auto* watch = hook.find_watch(event.binding); watch && event.type != Event::Type::kSchedule &&
                                                          event.type != Event::Type::kStartup &&
                                                          event.type != Event::Type::kSource)
    return &watch->include;
  if (event.type == Event::Type::kStartup) return hook.startup ? &hook.startup->include : nullptr;
  for (const auto& source : hook.sources)
    if (source.name == event.binding) return &source.include;
  for (const auto& schedule : hook.schedules)
    if (schedule.name == event.binding) return &schedule.include;
  return nullptr;
}

}  // namespace

std::shared_ptr<const Call> make_call(const Hook& hook, const Queue::Item& item, const Runner::Gather& gather,
                                      std::string id, WallTime now) {
  return make_call(hook, Queue::Batch{item}, gather, std::move(id), now);
}

std::shared_ptr<const Call> make_call(const Hook& hook, const Queue::Batch& batch, const Runner::Gather& gather,
                                      std::string id, WallTime now, std::shared_ptr<const std::string> state) {
  auto call = std::make_shared<Call>();
  call->state = std::move(state);
  call->hook = hook.name;
  call->id = std::move(id);
  for (const Queue::Item& item : batch) {
    call->attempt = std::max(call->attempt, item.attempt);
    call->events.insert(call->events.end(), item.events.begin(), item.events.end());
  }
  call->reason = reason_of(call->events);
  call->time = now;
  for (const Event& event : call->events) {
    if (event.type == Event::Type::kSync && !call->objects.contains(event.binding)) {
      call->objects.emplace(event.binding, gather(event.binding));
      call->only_sync.insert(event.binding);
    }
    const auto* includes = includes_of(hook, event);
    if (!includes) continue;
    for (const std::string& binding : *includes) {
      if (!call->objects.contains(binding)) call->objects.emplace(binding, gather(binding));
      call->only_sync.erase(binding);
    }
  }
  return call;
}

Result<std::vector<apply::Operation>> operations_of(Answer answer, const Call& call) {
  std::vector<apply::Operation> operations = std::move(answer.operations);
  const auto unnamed = [](const apply::Operation& op) { return op.verb == apply::Verb::kCondition && op.kind.empty(); };
  if (!answer.status && std::ranges::none_of(operations, unnamed)) return operations;
  const Event* about = nullptr;
  for (const Event& event : call.events) {
    if (!event.object) continue;
    if (about && about->object->uid != event.object->uid)
      about = nullptr;
    else
      about = &event;
    if (!about) break;
  }
  if (!about && !answer.status)
    return fail(Errc::kInvalid,
                "operation Condition without saying of what: this call is not about exactly one object; give it "
                "`apiVersion`, `kind`, `namespace` and `name`");
  if (!about)
    return fail(Errc::kInvalid,
                "\"status\" without saying of what: this call is not about exactly one object; use "
                "{{\"operation\":\"Status\",…,\"status\":{{…}}}}");
  const auto name = [about](apply::Operation& op) {
    if (about->resource) {
      op.api_version = about->resource->api_version();
      op.kind = about->resource->kind;
    }
    op.ns = about->object->ns;
    op.name = about->object->name;
    op.uid = about->object->uid;  // never that of a namesake made since
  };
  for (apply::Operation& op : operations)
    if (unnamed(op)) name(op);
  if (!answer.status) return operations;
  apply::Operation operation;
  operation.verb = apply::Verb::kStatus;
  name(operation);
  operation.patch = *answer.status;
  operations.push_back(std::move(operation));
  return operations;
}

cache::ObjectPtr object_in_call(const Call& call, std::string_view api_version, std::string_view kind,
                                std::string_view ns, std::string_view name) {
  // The newest event about the name wins: a deletion and a namesake may stand in one call.
  for (auto event = call.events.rbegin(); event != call.events.rend(); ++event)
    if (event->object && event->object->name == name && event->object->ns == ns &&
        same_kind(event->resource.get(), api_version, kind))
      return event->object;
  for (const auto& [binding, snapshot] : call.objects) {
    if (!same_kind(snapshot.type.get(), api_version, kind)) continue;
    for (const auto& entry : snapshot.entries)
      if (entry.object->name == name && entry.object->ns == ns) return entry.object;
  }
  return nullptr;
}

std::optional<std::string> uid_in_call(const Call& call, std::string_view api_version, std::string_view kind,
                                       std::string_view ns, std::string_view name) {
  const cache::ObjectPtr object = object_in_call(call, api_version, kind, ns, name);
  if (!object || object->uid.empty()) return std::nullopt;
  return object->uid;
}

}  // namespace hookd::hook
