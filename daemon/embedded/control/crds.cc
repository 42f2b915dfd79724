#include "embedded/control/crds.h"

#include <algorithm>
#include <set>

#include "embedded/resources/crd_strategy.h"
#include "embedded/resources/crd_validate.h"
#include "embedded/resources/fields.h"

namespace hookd::embedded::control {

namespace {

constexpr std::string_view kApiServer = "kube-apiserver";

struct Names {
  std::set<std::string, std::less<>> resources, kinds;
};

// What the CRDs of a group have been given so far.
Names names_in_use(const Store& store, std::string_view group) {
  Names out;
  store.scan(kCrdStorageKey, "", "", [&](const StoredPtr& stored) {
    const json::object crd = parse(*stored);
    if (string_at(crd, {"spec", "group"}) != group) return true;
    const json::object& names = object_at(crd, {"status", "acceptedNames"});
    for (std::string_view key : {"plural", "singular"}) out.resources.emplace(string_at(names, {key}));
    for (const json::value& name : array_at(names, {"shortNames"})) out.resources.emplace(as_string(name));
    for (std::string_view key : {"kind", "listKind"}) out.kinds.emplace(string_at(names, {key}));
    return true;
  });
  return out;
}

std::string in_use(std::string_view name) { return fmt::format("\"{}\" is already in use", name); }

struct Accepted {
  json::object names;
  std::string status = "True", reason = "NoConflicts", message = "no conflicts found";

  void refuse(std::string_view why, std::string text) {
    status = "False";
    reason = why;
    message = std::move(text);
  }
};

void accept_short_names(const json::object& wanted, const json::object& live, const Names& used, Accepted& out) {
  const json::array& mine = array_at(live, {"shortNames"});
  std::vector<std::string> taken;
  for (const json::value& name : array_at(wanted, {"shortNames"}))
    if (std::ranges::find(mine, name) == mine.end() && used.resources.contains(as_string(name)))
      taken.push_back(in_use(as_string(name)));
  if (taken.empty()) {
    if (const json::value* names = value_at(wanted, {"shortNames"}))
      out.names["shortNames"] = *names;
    else
      out.names.stable_erase("shortNames");
    return;
  }
  std::string text;
  for (const std::string& one : taken) text += (text.empty() ? "" : ", ") + one;
  out.refuse("ShortNamesConflict", taken.size() == 1 ? text : "[" + text + "]");
}

Accepted decide_names(const json::object& crd, const Names& used) {
  const json::object& wanted = object_at(crd, {"spec", "names"});
  const json::object& live = object_at(crd, {"status", "acceptedNames"});
  Accepted out;
  out.names = live;
  auto one = [&](std::string_view key, const auto& taken, std::string_view reason) {
    const std::string_view name = string_at(wanted, {key});
    if (name != string_at(live, {key}) && taken.contains(name))
      out.refuse(reason, in_use(name));
    else
      out.names[key] = name;
  };
  one("plural", used.resources, "PluralConflict");
  one("singular", used.resources, "SingularConflict");
  accept_short_names(wanted, live, used, out);
  one("kind", used.kinds, "KindConflict");
  one("listKind", used.kinds, "ListKindConflict");
  if (const json::value* categories = value_at(wanted, {"categories"}))
    out.names["categories"] = *categories;
  else
    out.names.stable_erase("categories");
  return out;
}

// acceptedNames in the order in which the API prints them.
json::object in_order(const json::object& names) {
  json::object out;
  for (std::string_view key : {"plural", "singular", "shortNames", "kind", "listKind", "categories"})
    if (const json::value* value = value_at(names, {key})) out[key] = *value;
  return out;
}

json::array conditions_of(const json::object& crd) { return array_at(crd, {"status", "conditions"}); }

bool has_cleanup(const json::object& crd) {
  return std::ranges::any_of(array_at(crd, {"metadata", "finalizers"}),
                             [](const json::value& name) { return as_string(name) == kCrdFinalizer; });
}

}  // namespace

Crds::Crds(const Context& context, KindChanged kind_changed)
    : context_(context),
      kind_changed_(std::move(kind_changed)),
      queue_(context.scheduler, [this](const std::string& name) { sync(name); }) {
  events_ = context_.store.subscribe("", [this](const StoreEvent& event) { on_event(event); });
  context_.store.scan(kCrdStorageKey, "", "", [this](const StoredPtr& stored) {
    queue_.add(stored->name);
    return true;
  });
}

void Crds::on_event(const StoreEvent& event) {
  if (event.storage_key == kCrdStorageKey) return queue_.add(event.object->name);
  if (event.type != StoreEvent::Type::kDeleted || ending_.empty()) return;
  if (auto found = ending_.find(event.storage_key); found != ending_.end()) queue_.add(found->second);
}

void Crds::sync(const std::string& name) {
  auto found = load(context_.store, kCrdStorageKey, "", name);
  if (!found) {
    stop_serving(name);
    if (auto group = groups_.find(name); group != groups_.end()) {
      const std::string freed = group->second;
      groups_.erase(group);
      reconsider_group(name, freed);
    }
    return;
  }
  json::object crd = *std::move(found);
  groups_[name] = string_at(crd, {"spec", "group"});
  if (!has(crd, {"metadata", "deletionTimestamp"})) {
    crd = accept_names(name, std::move(crd));
    if (!crd.empty()) crd = establish(name, std::move(crd));
    if (!crd.empty()) serve(name, crd);
    return;
  }
  serve(name, crd);
  if (has_cleanup(crd)) finish(name, crd);
}

json::object Crds::accept_names(const std::string& name, json::object crd) {
  const json::object& wanted = object_at(crd, {"spec", "names"});
  if (same(wanted, object_at(crd, {"status", "acceptedNames"}))) return crd;
  const Accepted accepted = decide_names(crd, names_in_use(context_.store, string_at(crd, {"spec", "group"})));
  const std::string now = now_text(context_.scheduler);
  json::array conditions = conditions_of(crd);
  const bool told = set_condition(conditions, "NamesAccepted", accepted.status, accepted.reason, accepted.message, now);
  if (!told && same(accepted.names, object_at(crd, {"status", "acceptedNames"}))) return crd;
  if (!crd_condition_true(crd, "Established")) {
    if (accepted.status == "True")
      set_condition(conditions, "Established", "False", "Installing", "the initial names have been accepted", now);
    else if (std::ranges::none_of(conditions, [](const json::value& condition) {
               return string_at(as_object(condition), {"type"}) == "Established";
             }))
      set_condition(conditions, "Established", "False", "NotAccepted", "not all names are accepted", now);
  }
  json::object status = object_at(crd, {"status"});
  status["conditions"] = std::move(conditions);
  status["acceptedNames"] = in_order(accepted.names);
  json::object written = write_status(name, status);
  // A name may have become free.
  reconsider_group(name, string_at(crd, {"spec", "group"}));
  return written;
}

json::object Crds::establish(const std::string& name, json::object crd) {
  if (!crd_condition_true(crd, "NamesAccepted") || crd_condition_true(crd, "Established")) return crd;
  json::object status = object_at(crd, {"status"});
  json::array conditions = conditions_of(crd);
  set_condition(conditions, "Established", "True", "InitialNamesAccepted", "the initial names have been accepted",
                now_text(context_.scheduler));
  status["conditions"] = std::move(conditions);
  return write_status(name, status);
}

json::object Crds::write_status(const std::string& name, const json::object& status) {
  const Target target{std::string(kCrdStorageKey), "", name};
  const auto done = context_.writer.update(target, "status", kApiServer, [&](json::object& object) {
    object["status"] = status;
    return true;
  });
  if (!done) tell("crds", target, done.error());
  return load(context_.store, kCrdStorageKey, "", name).value_or(json::object{});
}

void Crds::finish(const std::string& name, const json::object& crd) {
  const Target target{std::string(kCrdStorageKey), "", name};
  const std::string key =
      fmt::format("{}.{}", string_at(crd, {"spec", "names", "plural"}), string_at(crd, {"spec", "group"}));
  json::object status = object_at(crd, {"status"});
  json::array conditions = conditions_of(crd);
  if (set_condition(conditions, "Terminating", "True", "InstanceDeletionInProgress",
                    "CustomResource deletion is in progress", now_text(context_.scheduler))) {
    status["conditions"] = std::move(conditions);
    if (write_status(name, status).empty()) return;
  }
  if (crd_condition_true(crd, "Established")) {
    ending_[key] = name;
    std::vector<Target> left;
    context_.store.scan(key, "", "", [&](const StoredPtr& stored) {
      if (!is_ending(*stored)) left.push_back({key, stored->ns, stored->name, stored->uid});
      return true;
    });
    for (const Target& object : left)
      if (const auto done = context_.writer.remove(object, {}); !done) tell("crds", object, done.error());
    if (context_.store.count(key) > 0) return;  // the last one's end comes back here
  }
  ending_.erase(key);
  const auto done = context_.writer.update(target, "", kApiServer, [](json::object& object) {
    json::array& finalizers = object["metadata"].as_object()["finalizers"].as_array();
    erase_text(finalizers, kCrdFinalizer);
    return true;
  });
  if (!done) tell("crds", target, done.error());
}

void Crds::serve(const std::string& name, const json::object& crd) {
  std::vector<Resource> resources = resources_of_crd(crd);
  if (resources.empty()) return stop_serving(name);
  const json::object look{{"spec", object_at(crd, {"spec"})},
                          {"names", object_at(crd, {"status", "acceptedNames"})},
                          {"terminating", resources.front().terminating}};
  std::string text = json::serialize(look);
  Served& served = served_[name];
  if (served.look == text) return;
  const bool replaced = !served.look.empty();
  served.look = std::move(text);
  served.group = resources.front().group;
  served.plural = resources.front().plural;
  if (replaced) context_.registry.remove_group_resource(served.group, served.plural);
  const std::string key = resources.front().storage_key;
  for (Resource& resource : resources) {
    std::string schema = json::serialize(*resource.openapi);
    std::string& before = served.schemas[resource.version];
    if (!before.empty() && before != schema && context_.store.count(key) > 0) served.coerce = true;
    before = std::move(schema);
    resource.coerce_on_read = served.coerce;
    context_.registry.add(std::move(resource));
  }
  if (replaced && kind_changed_) kind_changed_(key);
}

void Crds::stop_serving(const std::string& name) {
  auto found = served_.find(name);
  if (found == served_.end()) return;
  const Served served = std::move(found->second);
  served_.erase(found);
  context_.registry.remove_group_resource(served.group, served.plural);
  ending_.erase(served.plural + "." + served.group);
  if (kind_changed_) kind_changed_(served.plural + "." + served.group);
}

void Crds::reconsider_group(const std::string& name, std::string_view group) {
  for (const auto& [other, its_group] : groups_)
    if (other != name && its_group == group) queue_.add(other);
}

}  // namespace hookd::embedded::control
