#include "reconcile/child_match.h"

#include <array>
#include <boost/json.hpp>
#include <cmath>
#include <map>

#include "base/json_field.h"
#include "base/json_read.h"
#include "hook/content_hash.h"
#include "reconcile/child_plan.h"
#include "reconcile/content.h"

namespace hookd::reconcile {
namespace {

namespace json = boost::json;

// By which lists of maps are merged, tried in this order. Source: controllers.md 1.5.
constexpr std::array<std::string_view, 7> kMergeKeys{"containerPort", "port", "mountPath", "name", "uid", "ip", "path"};

bool equal_numbers(const json::value& one, const json::value& other) {
  if (!one.is_number() || !other.is_number()) return false;
  return one.to_number<double>() == other.to_number<double>();
}

// Says nothing: a program that writes all fields of its types means nothing by it, and what the cluster puts there
// (volumeName, nodeName, clusterIP) is no reason to delete.
bool is_empty(const json::value& value) {
  if (value.is_string()) return value.get_string().empty();
  if (value.is_array()) return value.get_array().empty();
  if (value.is_object()) return value.get_object().empty();
  return value.is_null();
}

// What Go's omitempty leaves out.
bool is_zero(const json::value& value) {
  return is_empty(value) || (value.is_bool() && !value.get_bool()) || equal_numbers(value, json::value(0));
}

using ByKey = std::map<std::string, const json::value*>;

std::optional<ByKey> by_key(const json::array& list, std::string_view key) {
  ByKey all;
  for (const json::value& element : list) {
    const auto* object = element.if_object();
    const auto* name = object ? object->if_contains(key) : nullptr;
    if (!name || name->is_structured() || name->is_null()) return std::nullopt;
    if (!all.emplace(json::serialize(*name), &element).second) return std::nullopt;
  }
  return all;
}

// Both by the first merge key that all elements of both have, each value once; nullopt: there is none.
std::optional<std::pair<ByKey, ByKey>> merged(const json::array& wanted, const json::array& found) {
  if (wanted.empty()) return std::nullopt;
  for (const auto key : kMergeKeys) {
    auto one = by_key(wanted, key);
    if (!one) continue;
    if (auto other = by_key(found, key)) return std::pair{*std::move(one), *std::move(other)};
  }
  return std::nullopt;
}

class Match {
 public:
  explicit Match(Doubt doubt) : lenient_(doubt == Doubt::kSame) {}

  bool same(const json::value& wanted, const json::value* found) const {
    if (!found || found->is_null()) return wanted.is_null() || (lenient_ && is_zero(wanted));
    if (lenient_ && is_empty(wanted)) return true;
    if (wanted.is_object() && found->is_object()) return members(wanted.get_object(), found->get_object());
    if (wanted.is_array() && found->is_array()) return elements(wanted.get_array(), found->get_array());
    return wanted == *found || equal_numbers(wanted, *found);
  }
  bool members(const json::object& wanted, const json::object& found) const {
    for (const auto& [key, value] : wanted)
      if (!same(value, found.if_contains(key))) return false;
    return true;
  }

 private:
  bool elements(const json::array& wanted, const json::array& found) const {
    if (!lenient_ && wanted.size() != found.size()) return false;
    if (lenient_)
      if (const auto both = merged(wanted, found)) {
        for (const auto& [key, value] : both->first) {
          const auto other = both->second.find(key);
          if (other == both->second.end() || !same(*value, other->second)) return false;
        }
        return true;
      }
    if (wanted.size() != found.size()) return false;
    for (size_t i = 0; i < wanted.size(); ++i)
      if (!same(wanted[i], &found[i])) return false;
    return true;
  }
  bool lenient_;
};

uint64_t hash_of(const json::value& value) { return content_of(json::serialize(value)); }

uint64_t set_at(const json::value& wanted, const json::value* found) {
  constexpr uint64_t kMissing = 'm', kObject = 'o', kMerged = 'k', kArray = 'a';
  if (!found || found->is_null()) return kMissing;
  if (wanted.is_object() && found->is_object()) {
    uint64_t sum = 0;
    for (const auto& [key, value] : wanted.get_object())
      if (!is_empty(value))
        sum += combine(hook::content_hash(key), set_at(value, found->get_object().if_contains(key)));
    return combine(kObject, sum);
  }
  if (wanted.is_array() && found->is_array()) {
    const auto &one = wanted.get_array(), &other = found->get_array();
    if (const auto both = merged(one, other)) {
      uint64_t sum = 0;
      for (const auto& [key, value] : both->first) {
        const auto there = both->second.find(key);
        const json::value* element = there == both->second.end() ? nullptr : there->second;
        sum += combine(hook::content_hash(key), set_at(*value, element));
      }
      return combine(kMerged, sum);
    }
    uint64_t all = combine(kArray, other.size());
    for (size_t i = 0; i < other.size(); ++i)
      all = combine(all, i < one.size() ? set_at(one[i], &other[i]) : hash_of(other[i]));
    return all;
  }
  return hash_of(*found);
}

// An object as it is compared: metadata.finalizers as a set, others put theirs beside ours.
std::optional<json::object> read(std::string_view text) {
  auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object()) return std::nullopt;
  json::object object = std::move(parsed->get_object());
  auto* metadata = object.if_contains("metadata");
  auto* finalizers = metadata && metadata->is_object() ? metadata->get_object().if_contains("finalizers") : nullptr;
  if (finalizers && finalizers->is_array()) {
    json::object set;
    for (const auto& one : finalizers->get_array())
      if (one.is_string()) set[one.get_string()] = true;
    *finalizers = std::move(set);
  }
  return object;
}

// Without what is not the hook's: others may be owners beside its parent.
std::optional<json::object> read_manifest(std::string_view text) {
  auto wanted = read(text);
  auto* metadata = wanted ? wanted->if_contains("metadata") : nullptr;
  if (!metadata || !metadata->is_object()) return wanted;
  metadata->get_object().erase("ownerReferences");
  if (auto* notes = metadata->get_object().if_contains("annotations"); notes && notes->is_object())
    notes->get_object().erase(kManifestHash);
  return wanted;
}

}  // namespace

bool is_as_wanted(std::string_view manifest, std::string_view object, Doubt doubt) {
  const auto wanted = read_manifest(manifest), found = read(object);
  const bool unsure = doubt == Doubt::kSame;
  if (!wanted || !found) return unsure;
  if (text_field(*wanted, "apiVersion") != text_field(*found, "apiVersion")) return unsure;
  return Match(doubt).members(*wanted, *found);
}

std::optional<uint64_t> what_is_set(std::string_view manifest, std::string_view object) {
  const auto wanted = read_manifest(manifest), found = read(object);
  if (!wanted || !found || text_field(*wanted, "apiVersion") != text_field(*found, "apiVersion")) return std::nullopt;
  const json::value whole = *found;
  return set_at(*wanted, &whole) | 1;
}

}  // namespace hookd::reconcile
