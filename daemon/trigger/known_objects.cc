#include "trigger/known_objects.h"

#include <algorithm>

#include "hook/content_hash.h"

namespace hookd::trigger {
namespace {

constexpr std::string_view kTable = "known";
constexpr size_t kNamesakes = 16;  // unhandled deletions of one name, looked at once

}  // namespace

std::string selection_text(const hook::WatchBinding& binding, std::string_view cluster) {
  std::string text;
  const auto add = [&text](std::string_view part) { text += fmt::format("{}:{};", part.size(), part); };
  const auto add_all = [&](std::vector<std::string> parts) {
    std::ranges::sort(parts);
    add(fmt::format("{}", parts.size()));
    for (const std::string& part : parts) add(part);
  };
  add(cluster);
  add(binding.api_version);
  add(binding.kind);
  add_all(binding.namespaces.names);
  add(binding.namespaces.label_selector ? binding.namespaces.label_selector->to_string() : "");
  add_all(binding.names);
  add(binding.label_selector ? binding.label_selector->to_string() : "");
  add(binding.field_selector);
  add(binding.when ? binding.when->expression() : "");
  return text;
}

KnownObjects::KnownObjects(state::Store& store, const std::string& hook, const hook::WatchBinding& binding,
                           std::string_view cluster)
    : store_(store),
      binding_prefix_(hook + "\n" + binding.name + "\n"),
      prefix_(fmt::format("{}{:016x}\n", binding_prefix_, hook::content_hash(selection_text(binding, cluster)))) {}

std::string KnownObjects::key_of(const std::string& object, const std::string& uid) const {
  return prefix_ + object + "\n" + uid;
}

std::vector<std::string> KnownObjects::entered(const std::string& object, const std::string& uid) {
  std::vector<std::string> others;
  const std::string of_name = prefix_ + object + "\n";
  bool known = false;
  for (const auto& [key, value] : store_.page(kTable, of_name, "", kNamesakes)) {
    std::string other = key.substr(of_name.size());
    if (other == uid)
      known = true;
    else
      others.push_back(std::move(other));
  }
  if (!known) store_.put(kTable, of_name + uid, "1");
  return others;
}

bool KnownObjects::has(const std::string& object, const std::string& uid) const {
  const auto row = store_.read(kTable, key_of(object, uid));
  return !row || row->has_value();  // what cannot be read may be there: better told twice than never
}

void KnownObjects::forget(const std::string& object, const std::string& uid) {
  store_.erase(kTable, key_of(object, uid));
}

bool KnownObjects::next_page(std::vector<Row>& rows) {
  const auto page = store_.page(kTable, binding_prefix_, after_, kPage);
  for (const auto& [key, value] : page) {
    const size_t end = key.rfind('\n');
    if (!key.starts_with(prefix_) || end < prefix_.size()) {
      store_.erase(kTable, key);
      continue;
    }
    rows.push_back({key.substr(prefix_.size(), end - prefix_.size()), key.substr(end + 1)});
  }
  if (!page.empty()) after_ = page.back().first;
  return page.size() == kPage;
}

}  // namespace hookd::trigger
