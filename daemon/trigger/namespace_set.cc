#include "trigger/namespace_set.h"

#include "base/json_read.h"

namespace hookd::trigger {
namespace {

cache::LabelSelector::Labels labels_of(std::string_view text) {
  cache::LabelSelector::Labels labels;
  const auto raw = json_raw_at(text, {"metadata", "labels"});
  if (!raw) return labels;
  const auto value = parse_json(*raw);
  if (!value || !value->is_object()) return labels;
  for (const auto& [key, label] : value->get_object())
    if (label.is_string()) labels.emplace(std::string(key), std::string(label.get_string()));
  return labels;
}

}  // namespace

NamespaceSet::NamespaceSet(kube::InformerPool& pool, cache::LabelSelector selector,
                           std::function<void(const std::string&, bool)> on_change, std::function<void()> on_synced)
    : selector_(std::move(selector)), on_change_(std::move(on_change)) {
  kube::CollectionKey key;
  key.api_version = "v1";
  key.kind = "Namespace";
  key.metadata_only = true;
  informer_ = pool.get(key);
  subscription_ = informer_->subscribe(
      {[this](const cache::Change& change, std::string_view text) { changed(change, text); }, std::move(on_synced)});
}

void NamespaceSet::changed(const cache::Change& change, std::string_view text) {
  const std::string& name = change.object->name;
  const bool in = change.type != cache::Change::Type::kDeleted && selector_.matches(labels_of(text));
  if (in == names_.contains(name)) return;
  if (in)
    names_.insert(name);
  else
    names_.erase(name);
  on_change_(name, in);
}

}  // namespace hookd::trigger
