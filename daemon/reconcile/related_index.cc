#include "reconcile/related_index.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/json_read.h"
#include "base/log.h"
#include "hook/content_hash.h"

namespace hookd::reconcile {

using Operator = cache::LabelSelector::Operator;

Result<std::vector<std::string>> names_of(std::string_view json) {
  HOOKD_TRY(const auto value, parse_json(json));
  const auto wrong = [&] {
    return fail(Errc::kInvalid, "\"name\", \"ns/name\", a list of such or null was expected, not {}",
                json.substr(0, 80));
  };
  std::vector<std::string> names;
  const auto add = [&](const boost::json::value& one) {
    if (!one.is_string()) return false;
    const auto& text = one.get_string();
    if (!text.empty()) names.emplace_back(text);
    return true;
  };
  if (value.is_null()) return names;
  if (!value.is_array()) {
    if (!add(value)) return wrong();
    return names;
  }
  for (const auto& one : value.get_array())
    if (!one.is_null() && !add(one)) return wrong();
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  return names;
}

// An empty selector would mean everything: for that the rule has no `select`.
Result<std::optional<cache::LabelSelector>> selector_of(std::string_view json) {
  HOOKD_TRY(auto value, parse_json(json));
  if (value.is_null()) return std::nullopt;
  if (!value.is_object())
    return fail(Errc::kInvalid, "a map of labels or a LabelSelector was expected, not {}", json.substr(0, 80));
  auto& object = value.get_object();
  if (object.contains("matchLabels") || object.contains("matchExpressions")) {
    HOOKD_TRY(auto selector, cache::LabelSelector::from_json(object));
    if (selector.empty()) return fail(Errc::kInvalid, "an empty selector would select everything");
    return selector;
  }
  if (object.empty()) return fail(Errc::kInvalid, "an empty selector would select everything");
  for (const auto& [key, label] : object) {
    if (label.is_null())
      return fail(Errc::kInvalid, "the label \"{}\" is null: what it is made from is missing", std::string_view(key));
    if (!label.is_string()) return fail(Errc::kInvalid, "the label \"{}\" is no string", std::string_view(key));
  }
  boost::json::object whole;
  whole["matchLabels"] = std::move(object);
  return cache::LabelSelector::from_json(whole);
}

RelatedIndex::RelatedIndex(const hook::RelatedRule& rule, kube::InformerPool& pool, Scheduler&,
                           std::function<void(const Touch&)> touched, std::function<void()> ready)
    : rule_(rule),
      touched_(std::move(touched)),
      followed_(pool,
                {rule.api_version, rule.kind, rule.namespaces,
                 rule.label_selector ? rule.label_selector->to_string() : std::string()},
                {[this](const std::string& key, const cache::Change& change, std::string_view text) {
                   changed(key, change, text);
                 },
                 std::move(ready)}) {}

RelatedIndex::~RelatedIndex() = default;
void RelatedIndex::start() { followed_.start(); }
void RelatedIndex::stop() { followed_.stop(); }

// ---------------------------------------------------------------- objects

void RelatedIndex::changed(const std::string& key, const cache::Change& change, std::string_view text) {
  using Type = cache::Change::Type;
  const char* type = change.type == Type::kAdded ? "Added" : change.type == Type::kDeleted ? "Deleted" : "Modified";
  Touch touch{{}, false, type, *change.object, change.initial};
  if (rule_.map)
    changed_by_map(key, change, text, touch);
  else if (rule_.select)
    changed_by_select(key, change, text, touch);
  else
    touch.every = true;
  if (change.type == Type::kDeleted) worked(key);
  if ((touch.every || !touch.parents.empty()) && touched_) touched_(touch);
}

void RelatedIndex::changed_by_map(const std::string& key, const cache::Change& change, std::string_view text,
                                  Touch& touch) {
  ParentKeys found;
  const auto known = entries_.find(key);
  const bool deleted = change.type == cache::Change::Type::kDeleted;
  auto mapped = deleted ? std::vector<std::string>() : this->mapped(*change.object, text);
  if (!mapped) mapped = known == entries_.end() ? std::vector<std::string>() : known->second.parents;
  if (known != entries_.end()) {
    for (const std::string& parent : known->second.parents) {
      found.insert(parent);
      const auto objects = objects_of_.find(parent);
      if (objects == objects_of_.end()) continue;
      objects->second.erase(key);
      if (objects->second.empty()) objects_of_.erase(objects);
    }
    entries_.erase(known);
  }
  if (!deleted) {
    Entry entry{*std::move(mapped), nullptr};
    for (const std::string& parent : entry.parents) {
      objects_of_[parent].insert(key);
      found.insert(parent);
    }
    if (!entry.parents.empty()) entries_.emplace(key, std::move(entry));
  }
  for (const std::string& parent : found)
    if (parents_.contains(parent)) touch.parents.push_back(parent);
}

// As keys: a name without slash may be a cluster-scoped parent's, or means one in the object's own namespace. Keys of
// namespaced parents have a slash, those of others have none, so that both can be kept.
// nullopt: it failed.
std::optional<std::vector<std::string>> RelatedIndex::mapped(const cache::Object& object, std::string_view text) {
  const std::string who = object.key();
  const auto output = rule_.map->run(text);
  const auto names = output ? names_of(*output) : Result<std::vector<std::string>>(fail(output.error()));
  if (!names) {
    failed("map", who, names.error());
    return std::nullopt;
  }
  worked(who);
  std::vector<std::string> keys;
  for (const std::string& name : *names) {
    if (name.find('/') == std::string::npos && !object.ns.empty()) keys.push_back(object.ns + "/" + name);
    keys.push_back(name);
  }
  return keys;
}

void RelatedIndex::changed_by_select(const std::string& key, const cache::Change& change, std::string_view text,
                                     Touch& touch) {
  ParentKeys found;
  const auto known = entries_.find(key);
  const auto before = known == entries_.end() ? nullptr : known->second.labels;
  const auto after = change.type == cache::Change::Type::kDeleted ? nullptr : shared_labels(text);
  if (before) parents_of(change.object->ns, *before, found);
  if (before != after) {
    if (before) take_out_labels(key, *before);
    if (after) {
      put_labels(key, *after);
      parents_of(change.object->ns, *after, found);
    }
  }
  if (after)
    entries_[key].labels = after;
  else if (known != entries_.end())
    entries_.erase(known);
  touch.parents.assign(found.begin(), found.end());
}

std::shared_ptr<const RelatedIndex::Labels> RelatedIndex::shared_labels(std::string_view text) {
  const auto raw = json_raw_at(text, {"metadata", "labels"});
  if (label_sets_.size() > 64 && label_sets_.size() > 2 * entries_.size())
    std::erase_if(label_sets_, [](const auto& set) { return set.second.use_count() == 1; });
  auto& set = label_sets_[raw ? std::string(*raw) : std::string()];
  if (!set) set = std::make_shared<const Labels>(labels_of(text));
  return set;
}

void RelatedIndex::put_labels(Key key, const Labels& labels) {
  for (auto& [label, by_value] : objects_by_)
    if (const auto value = labels.find(label); value != labels.end()) by_value[value->second].insert(key);
}

void RelatedIndex::take_out_labels(Key key, const Labels& labels) {
  for (auto& [label, by_value] : objects_by_) {
    const auto value = labels.find(label);
    if (value == labels.end()) continue;
    const auto objects = by_value.find(value->second);
    if (objects == by_value.end()) continue;
    objects->second.erase(key);
    if (objects->second.empty()) by_value.erase(objects);
  }
}

// A label by which no parent was found so far. A hook's `select` asks for the same few labels for all of its parents.
void RelatedIndex::index_label(const std::string& label) {
  const auto [by_value, fresh] = objects_by_.try_emplace(label);
  if (!fresh) return;
  for (const auto& [key, entry] : entries_)
    if (const auto value = entry.labels->find(label); value != entry.labels->end())
      by_value->second[value->second].insert(key);
}

bool RelatedIndex::same_namespace(const Parent& parent, std::string_view ns) const {
  return !rule_.namespaces.all() || parent.ns.empty() || ns.empty() || parent.ns == ns;
}

void RelatedIndex::parents_of(std::string_view ns, const Labels& labels, ParentKeys& found) {
  const auto compare = [&](const std::string& key) {
    const auto parent = parents_.find(key);
    if (parent == parents_.end() || !same_namespace(parent->second, ns)) return;
    ++compared_;
    if (parent->second.selector->matches(labels)) found.insert(key);
  };
  for (const auto& [label, by_value] : parents_by_) {
    const auto value = labels.find(label);
    if (value == labels.end()) continue;
    const auto keys = by_value.find(value->second);
    if (keys != by_value.end()) std::ranges::for_each(keys->second, compare);
  }
  std::ranges::for_each(loose_, compare);
}

// ---------------------------------------------------------------- parents

bool RelatedIndex::parent(const std::string& key, std::string_view ns, std::string_view text) {
  const auto known = parents_.find(key);
  if (text.empty()) {
    if (known == parents_.end()) return false;
    take_out_parent(key, known->second);
    parents_.erase(known);
    if (rule_.select) worked(key);
    return false;
  }
  Parent& parent = known == parents_.end() ? parents_[key] : known->second;
  parent.ns = ns;
  if (!rule_.select) return false;
  const auto output = rule_.select->run(text);
  const uint64_t hash = output ? hook::content_hash(*output) : 0;
  if (output && parent.output == hash) return false;  // also one that is wrong stays so
  auto selector = output ? selector_of(*output) : Result<std::optional<cache::LabelSelector>>(fail(output.error()));
  take_out_parent(key, parent);
  const bool had = parent.selector.has_value(), failed_before = !parent.failure.empty();
  parent.output = hash;
  parent.selector.reset();
  parent.failure.clear();
  if (!selector) {
    failed("select", key, selector.error());
    parent.failure = fmt::format("`select` of the related `{}` fails: {}", rule_.name, selector.error().what);
    return !failed_before;
  }
  worked(key);
  parent.selector = *std::move(selector);
  put_parent(key, parent);
  return had || failed_before || parent.selector;
}

void RelatedIndex::put_parent(const std::string& key, Parent& parent) {
  if (!parent.selector) return;
  parent.label.clear();
  parent.values.clear();
  for (const auto& need : parent.selector->requirements()) {
    if (need.op != Operator::kIn || need.values.empty() || need.values.size() > kMostValues) continue;
    if (!parent.values.empty() && parent.values.size() <= need.values.size()) continue;
    parent.label = need.key;
    parent.values = need.values;
  }
  if (parent.values.empty()) {
    loose_.insert(key);
    return;
  }
  index_label(parent.label);
  for (const std::string& value : parent.values) parents_by_[parent.label][value].insert(key);
}

void RelatedIndex::take_out_parent(const std::string& key, const Parent& parent) {
  loose_.erase(key);
  const auto by_value = parents_by_.find(parent.label);
  if (!parent.selector || by_value == parents_by_.end()) return;
  for (const std::string& value : parent.values) {
    const auto keys = by_value->second.find(value);
    if (keys == by_value->second.end()) continue;
    keys->second.erase(key);
    if (keys->second.empty()) by_value->second.erase(keys);
  }
  if (!by_value->second.empty()) return;
  objects_by_.erase(by_value->first);
  parents_by_.erase(by_value);
}

// ---------------------------------------------------------------- looks

std::vector<cache::ObjectPtr> RelatedIndex::of(const std::string& key) const {
  std::vector<cache::ObjectPtr> found;
  if (!rule_.map && !rule_.select) {
    found.reserve(size());
    for (const auto& [name, object] : followed_.objects()) found.push_back(object);
    return found;
  }
  const auto add = [&](Key object) {
    if (auto known = followed_.find(object)) found.push_back(std::move(known));
  };
  if (rule_.map) {
    if (const auto objects = objects_of_.find(key); objects != objects_of_.end())
      std::ranges::for_each(objects->second, add);
    return found;
  }
  const auto parent = parents_.find(key);
  if (parent == parents_.end() || !parent->second.selector) return found;
  std::set<Key> matching;
  const auto look = [&](Key object, const Labels& labels) {
    const size_t slash = object.find('/');
    const Key ns = slash == Key::npos ? Key() : object.substr(0, slash);
    if (same_namespace(parent->second, ns) && parent->second.selector->matches(labels)) matching.insert(object);
  };
  if (parent->second.values.empty()) {
    for (const auto& [object, entry] : entries_) look(object, *entry.labels);
  } else if (const auto by_value = objects_by_.find(parent->second.label); by_value != objects_by_.end()) {
    for (const std::string& value : parent->second.values)
      if (const auto objects = by_value->second.find(value); objects != by_value->second.end())
        for (const Key object : objects->second) look(object, *entries_.at(object).labels);
  }
  std::ranges::for_each(matching, add);
  return found;
}

std::optional<std::string> RelatedIndex::failure_of(const std::string& key) const {
  const auto parent = parents_.find(key);
  if (parent == parents_.end() || parent->second.failure.empty()) return std::nullopt;
  return parent->second.failure;
}

void RelatedIndex::failed(std::string_view which, const std::string& who, const Error& error) {
  if (troubles_.size() < kTroubles || troubles_.contains(who))
    troubles_[who] = fmt::format("`{}` of {}: {}: {}", which, rule_.name, who, error.what);
  // The first ones tell the story; a filter that fails on every object must not fill the log.
  if (++failures_ <= 10 || failures_ % 1000 == 0)
    log::warn(
        "a filter failed on an object",
        {{"related", rule_.name}, {"filter", which}, {"object", who}, {"error", error.what}, {"total", failures_}});
}

void RelatedIndex::worked(const std::string& who) {
  if (!troubles_.empty()) troubles_.erase(who);
}

std::string RelatedIndex::trouble() const {
  if (troubles_.empty()) return "";
  if (troubles_.size() == 1) return troubles_.begin()->second;
  return fmt::format("{} (and {}{} more)", troubles_.begin()->second, troubles_.size() >= kTroubles ? "at least " : "",
                     troubles_.size() - 1);
}

}  // namespace hookd::reconcile
