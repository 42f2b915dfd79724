#include "compat/metacontroller/related.h"

#include <algorithm>

namespace hookd::metacontroller {
namespace {

const std::pair<std::string, std::string> kNamespaces{"v1", "namespaces"};

}  // namespace

std::string RelatedRule::text() const {
  return fmt::format("{} {} {} [{}] {} {}", api_version, resource, ns, fmt::join(names, ","),
                     labels ? "(" + labels->to_string() + ")" : "-",
                     namespaces ? "(" + namespaces->to_string() + ")" : "-");
}

Result<std::vector<RelatedRule>> related_rules(const std::vector<RelatedResource>& answered, HookVersion version,
                                               const cache::Identity& parent) {
  std::vector<RelatedRule> rules;
  for (size_t i = 0; i < answered.size(); ++i) {
    const RelatedResource& from = answered[i];
    RelatedRule rule{from.api_version, from.resource,       from.ns,
                     from.names,       from.label_selector, from.namespace_selector};
    std::ranges::sort(rule.names);
    const auto [first, last] = std::ranges::unique(rule.names);
    rule.names.erase(first, last);
    if (version == HookVersion::kV1 && !parent.ns.empty()) {
      if (!rule.ns.empty() && rule.ns != parent.ns)
        return fail(Errc::kInvalid,
                    "relatedResources[{}]: namespace {} is not the parent's ({}); version v2 of the customize and sync "
                    "hooks allows it",
                    i, rule.ns, parent.ns);
      if (rule.namespaces)
        return fail(Errc::kInvalid,
                    "relatedResources[{}]: namespaceSelector needs version v2 of the customize hook, as the parent is "
                    "namespaced",
                    i);
      rule.ns = parent.ns;
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

RelatedObjects::RelatedObjects(kube::InformerPool& pool, std::function<void(const Touch&)> touched,
                               std::function<void()> ready)
    : pool_(pool), touched_(std::move(touched)), ready_(std::move(ready)) {}

RelatedObjects::~RelatedObjects() = default;

void RelatedObjects::stop() {
  for (auto& [name, kind] : kinds_)
    if (kind.followed) kind.followed->stop();
}

RelatedObjects::Kind& RelatedObjects::kind(const KindName& name) {
  const auto [found, fresh] = kinds_.try_emplace(name);
  Kind& kind = found->second;
  if (!fresh) return kind;
  reconcile::FollowedKind::Selection selection;
  selection.api_version = name.first;
  selection.kind = name.second;
  kind.followed = std::make_unique<reconcile::FollowedKind>(
      pool_, std::move(selection),
      reconcile::FollowedKind::Hear{[this, &kind](const std::string& key, const cache::Change& change,
                                                  std::string_view text) { changed(kind, key, change, text); },
                                    [this, &kind] {
                                      kind.was_ready = kind.was_ready || kind.followed->ready();
                                      ready_();
                                    }});
  kind.followed->start();
  kind.was_ready = kind.followed->ready();
  return kind;
}

std::vector<std::string> RelatedObjects::places(const RelatedRule& rule) {
  std::vector<std::string> all;
  for (const auto& name : rule.names) all.push_back(rule.ns + "/" + name);
  return all;
}

RelatedObjects::Entry* RelatedObjects::add(const std::string& parent, const RelatedRule& rule) {
  Kind& of = kind({rule.api_version, rule.resource});
  const auto [found, fresh] = of.rules.try_emplace(rule.text());
  Entry& entry = found->second;
  entry.parents.insert(parent);
  if (!fresh) return &entry;
  entry.rule = rule;
  entry.kind = &of;
  if (rule.names.empty()) of.by_namespace[rule.ns].insert(&entry);
  for (const auto& place : places(rule)) of.by_object[place].insert(&entry);
  if (rule.namespaces) {
    ++namespace_rules_;
    kind(kNamespaces);
  }
  return &entry;
}

void RelatedObjects::remove(const std::string& parent, Entry* entry) {
  entry->parents.erase(parent);
  if (!entry->parents.empty()) return;
  Kind& of = *entry->kind;
  const auto take_out = [entry](auto& map, const std::string& key) {
    const auto found = map.find(key);
    if (found == map.end()) return;
    found->second.erase(entry);
    if (found->second.empty()) map.erase(found);
  };
  if (entry->rule.names.empty()) take_out(of.by_namespace, entry->rule.ns);
  for (const auto& place : places(entry->rule)) take_out(of.by_object, place);
  if (entry->rule.namespaces) --namespace_rules_;
  of.rules.erase(std::string(entry->rule.text()));
}

void RelatedObjects::set(const std::string& parent, const std::vector<RelatedRule>& rules) {
  std::vector<Entry*> now;
  for (const auto& rule : rules) now.push_back(add(parent, rule));
  if (const auto before = parents_.find(parent); before != parents_.end()) {
    std::set<Entry*> gone(before->second.begin(), before->second.end());
    for (Entry* entry : now) gone.erase(entry);
    for (Entry* entry : gone) remove(parent, entry);
  }
  if (now.empty())
    parents_.erase(parent);
  else
    parents_[parent] = std::move(now);
  drop_unused();
}

void RelatedObjects::drop_unused() {
  std::erase_if(kinds_, [this](const auto& one) {
    return one.second.rules.empty() && !(one.first == kNamespaces && namespace_rules_ > 0);
  });
}

const RelatedObjects::Kind* RelatedObjects::namespaces() const {
  const auto found = kinds_.find(kNamespaces);
  return found == kinds_.end() ? nullptr : &found->second;
}

bool RelatedObjects::ready(const std::string& parent) const {
  const auto found = parents_.find(parent);
  if (found == parents_.end()) return true;
  return std::ranges::all_of(found->second, [this](const Entry* entry) {
    return entry->kind->followed->ready() &&
           (!entry->rule.namespaces || (namespaces() && namespaces()->followed->ready()));
  });
}

std::optional<std::string> RelatedObjects::trouble(const std::string& parent) const {
  const auto found = parents_.find(parent);
  if (found == parents_.end()) return std::nullopt;
  for (const Entry* entry : found->second) {
    const RelatedRule& rule = entry->rule;
    if (const auto error = entry->kind->followed->error())
      return fmt::format("related {} ({}): {}", rule.resource, rule.api_version, error->what);
    const auto& type = entry->kind->followed->type();
    if (type && !type->namespaced && rule.namespaces)
      return fmt::format("related {} ({}): namespaceSelector cannot hold for a cluster-scoped kind", rule.resource,
                         rule.api_version);
    if (rule.namespaces && namespaces())
      if (const auto error = namespaces()->followed->error())
        return fmt::format("namespaces, for a namespaceSelector: {}", error->what);
  }
  return std::nullopt;
}

bool RelatedObjects::matches(const RelatedRule& rule, std::string_view ns, std::string_view name,
                             const cache::LabelSelector::Labels& labels) const {
  if (!rule.ns.empty() && rule.ns != ns) return false;
  if (!rule.names.empty() && !std::ranges::binary_search(rule.names, name)) return false;
  if (rule.labels && !rule.labels->matches(labels)) return false;
  if (!rule.namespaces) return true;
  const Kind* all = namespaces();
  const auto found = all ? all->labels.find(ns) : decltype(all->labels.end())();
  return all && found != all->labels.end() && rule.namespaces->matches(found->second);
}

std::vector<ObjectsOfKind> RelatedObjects::of(const std::string& parent) const {
  std::vector<ObjectsOfKind> all;
  const auto found = parents_.find(parent);
  if (found == parents_.end()) return all;
  for (const Entry* entry : found->second) {
    const RelatedRule& rule = entry->rule;
    const auto& followed = *entry->kind->followed;
    if (!followed.type()) continue;
    ObjectsOfKind& kind = all.emplace_back();
    kind.api_version = followed.type()->api_version();
    kind.kind = followed.type()->kind;
    const auto take = [&](const std::string& key, const cache::ObjectPtr& object) {
      const auto labels = entry->kind->labels.find(key);
      if (labels != entry->kind->labels.end() && matches(rule, object->ns, object->name, labels->second))
        kind.objects.push_back(object);
    };
    const auto& objects = followed.objects();
    if (!rule.names.empty() && (!rule.ns.empty() || !followed.type()->namespaced)) {
      for (const auto& name : rule.names) {
        const std::string key = followed.type()->namespaced ? rule.ns + "/" + name : name;
        if (const auto object = followed.find(key)) take(key, object);
      }
    } else if (!rule.ns.empty()) {
      const std::string prefix = rule.ns + "/";
      for (auto it = objects.lower_bound(prefix); it != objects.end() && it->first.starts_with(prefix); ++it)
        take(it->first, it->second);
    } else {
      for (const auto& [key, object] : objects) take(key, object);
    }
  }
  return all;
}

void RelatedObjects::changed(Kind& kind, const std::string& key, const cache::Change& change, std::string_view text) {
  cache::LabelSelector::Labels before, now;
  const auto known = kind.labels.find(key);
  const bool was = known != kind.labels.end();
  if (was) before = known->second;
  const bool gone = change.type == cache::Change::Type::kDeleted;
  if (gone) {
    if (was) kind.labels.erase(known);
    now = before;
  } else {
    now = reconcile::labels_of(text);
    kind.labels[key] = now;
  }
  if (!kind.was_ready) return;  // whoever needs the kind waits for its first list
  const cache::Object& object = *change.object;
  std::set<std::string> parents;
  const auto look = [&](const std::set<Entry*>& entries) {
    for (const Entry* entry : entries)
      if (matches(entry->rule, object.ns, object.name, now) ||
          (was && matches(entry->rule, object.ns, object.name, before)))
        parents.insert(entry->parents.begin(), entry->parents.end());
  };
  std::set<std::string> places{object.ns + "/" + object.name, "/" + object.name};
  for (const auto& place : places)
    if (const auto found = kind.by_object.find(place); found != kind.by_object.end()) look(found->second);
  for (const std::string& place : std::set<std::string>{object.ns, ""})
    if (const auto found = kind.by_namespace.find(place); found != kind.by_namespace.end()) look(found->second);
  const auto& type = kind.followed->type();
  if (!parents.empty())
    touched_({parents, change, type ? fmt::format("{}.{}", type->kind, type->api_version()) : std::string()});
  if (namespace_rules_ > 0 && &kind == namespaces()) namespace_changed(change, before, now, gone || !was);
}

// What lies in a namespace becomes related, or is not any more, when the namespace's labels change.
void RelatedObjects::namespace_changed(const cache::Change& change, const cache::LabelSelector::Labels& before,
                                       const cache::LabelSelector::Labels& now, bool came_or_went) {
  if (!came_or_went && before == now) return;
  std::set<std::string> parents;
  for (const auto& [name, kind] : kinds_)
    for (const auto& [text, entry] : kind.rules)
      if (entry.rule.namespaces &&
          (came_or_went ? entry.rule.namespaces->matches(now)
                        : entry.rule.namespaces->matches(now) != entry.rule.namespaces->matches(before)))
        parents.insert(entry.parents.begin(), entry.parents.end());
  if (!parents.empty()) touched_({parents, change, "Namespace.v1"});
}

std::vector<std::shared_ptr<kube::Informer>> RelatedObjects::informers() const {
  std::vector<std::shared_ptr<kube::Informer>> all;
  for (const auto& [name, kind] : kinds_)
    for (auto& informer : kind.followed->informers()) all.push_back(std::move(informer));
  return all;
}

std::vector<RelatedObjects::Look> RelatedObjects::looks() const {
  std::vector<Look> all;
  for (const auto& [name, kind] : kinds_) {
    const auto error = kind.followed->error();
    all.push_back({fmt::format("{} ({})", name.second, name.first), kind.followed->ready(),
                   kind.followed->objects().size(), error ? error->what : ""});
  }
  return all;
}

}  // namespace hookd::metacontroller
