#include "reconcile/parent_set.h"

#include "apply/json_text.h"
#include "base/json_read.h"
#include "base/log.h"
#include "hook/content_hash.h"

namespace hookd::reconcile {
namespace {

FollowedKind::Selection selection_of(const ParentSet::Options& options) {
  FollowedKind::Selection selection{options.rule.api_version, options.rule.kind, options.rule.namespaces, {}, true};
  // With a finalizer those that cease to match must still be seen (controllers.md 1.1).
  if (options.rule.label_selector && options.finalizer.empty())
    selection.label_selector = options.rule.label_selector->to_string();
  return selection;
}

bool lists(std::string_view array, const std::string& finalizer) {
  const auto elements = apply::json_elements(array);
  if (!elements) return false;
  for (const std::string_view element : *elements)
    if (apply::json_text_of(element) == finalizer) return true;
  return false;
}

}  // namespace

ParentSet::ParentSet(kube::InformerPool& pool, Scheduler&, Options options, Touched touched,
                     std::function<void()> ready)
    : options_(std::move(options)),
      touched_(std::move(touched)),
      followed_(pool, selection_of(options_),
                {[this](const std::string& key, const cache::Change& change, std::string_view text) {
                   changed(key, change, text);
                 },
                 std::move(ready), [this](const std::string& ns, bool) { namespace_changed(ns); }}) {}

ParentSet::~ParentSet() = default;
void ParentSet::start() { followed_.start(); }
void ParentSet::stop() { followed_.stop(); }

// ---------------------------------------------------------------- what a text says

ParentSet::Mark ParentSet::read_mark(std::string_view text) const {
  Mark mark;
  bool generation = false;
  const auto members = apply::json_members(text);
  if (!members) return mark;
  if (const auto* metadata = apply::find_member(*members, "metadata")) {
    const auto fields = apply::json_members(metadata->value);
    for (const auto& field : fields ? *fields : std::vector<apply::Member>()) {
      if (field.key == "labels") {
        mark.labels = hook::content_hash(field.value);
      } else if (field.key == "annotations") {
        mark.annotations = hook::content_hash(field.value);
      } else if (field.key == "generation") {
        generation = field.value != "0";
        mark.spec = hook::content_hash(field.value);
      } else if (field.key == "deletionTimestamp") {
        mark.deleting = field.value != "null";
      } else if (field.key == "finalizers" && !options_.finalizer.empty()) {
        mark.finalizer = lists(field.value, options_.finalizer);
      }
    }
  }
  if (!generation) mark.spec = 0;
  for (const auto& member : *members) {
    if (member.key == "status") {
      mark.status = hook::content_hash(member.value);
    } else if (!generation && member.key != "metadata" && member.key != "apiVersion" && member.key != "kind") {
      mark.spec = hook::content_hash(member.key, mark.spec);
      mark.spec = hook::content_hash(member.value, mark.spec);
    }
  }
  return mark;
}

bool ParentSet::matches(const cache::Object& object, std::string_view text, bool before) {
  if (!followed_.in_namespace(object.ns)) return false;
  const auto& rule = options_.rule;
  if (rule.label_selector && !options_.finalizer.empty() && !rule.label_selector->matches(labels_of(text)))
    return false;
  if (options_.matches && !options_.matches(text)) return false;
  if (!rule.when) return true;
  const auto holds = rule.when->test(text);
  if (holds) {
    if (trouble_key_ == object.key()) trouble_.clear();
    return *holds;
  }
  trouble_key_ = object.key();
  trouble_ = fmt::format("`when` fails on {}: {}", trouble_key_, holds.error().what);
  // The first ones tell the story; a filter that fails on every object must not fill the log.
  if (++when_errors_ <= 10 || when_errors_ % 1000 == 0)
    log::warn("`when` failed on an object, which stays what it was",
              {{"object", object.key()}, {"error", holds.error().what}, {"total", when_errors_}});
  return before;
}

bool ParentSet::counts(const Member& before, const Mark& mark, bool matches) const {
  const Mark& old = before.mark;
  const hook::Changed& changed = options_.rule.changed;
  if (before.matches != matches || (mark.deleting && !old.deleting) || (old.finalizer && !mark.finalizer)) return true;
  return (changed.spec && old.spec != mark.spec) || (changed.labels && old.labels != mark.labels) ||
         (changed.annotations && old.annotations != mark.annotations) || (changed.status && old.status != mark.status);
}

// ---------------------------------------------------------------- changes

void ParentSet::changed(const std::string& key, const cache::Change& change, std::string_view text) {
  const bool gone = change.type == cache::Change::Type::kDeleted;
  if (options_.seen) options_.seen(*change.object, gone ? std::string_view() : text);
  if (gone) return leave(key, change.object);
  look(key, change.object, text, change.initial);
}

void ParentSet::look(const std::string& key, const cache::ObjectPtr& object, std::string_view text, bool initial) {
  const auto known = members_.find(key);
  const Mark mark = read_mark(text);
  // Whoever has our finalizer was a parent; a `when` that fails must not end it.
  const bool was_in = known != members_.end() ? known->second.matches : mark.finalizer;
  const bool in = matches(*object, text, was_in);
  if (!in && !mark.finalizer) return leave(key, object);
  if (known == members_.end()) {
    members_.emplace(key, Member{object, mark, in});
    key_of_uid_[object->uid] = key;
    if (touched_) touched_(*object, "Added", nullptr, initial);
    return;
  }
  const bool news = counts(known->second, mark, in);
  known->second = Member{object, mark, in};
  if (news && touched_) touched_(*object, "Modified", nullptr, false);
}

void ParentSet::leave(const std::string& key, const cache::ObjectPtr& last) {
  const auto known = members_.find(key);
  if (known == members_.end()) return;
  key_of_uid_.erase(known->second.object->uid);
  members_.erase(known);
  if (touched_) touched_(*last, "Deleted", last, false);
}

void ParentSet::namespace_changed(const std::string& ns) {
  std::vector<std::pair<std::string, cache::ObjectPtr>> there;
  const std::string prefix = ns + "/";
  const auto& objects = followed_.objects();
  for (auto it = objects.lower_bound(prefix); it != objects.end() && it->first.starts_with(prefix); ++it)
    there.emplace_back(*it);
  for (const auto& [key, object] : there) look(key, object, object->text.unpack(), !ready());
}

// ---------------------------------------------------------------- looks

std::optional<Parent> ParentSet::find(std::string_view key) const {
  const auto known = members_.find(key);
  if (known == members_.end()) return std::nullopt;
  return Parent{known->second.object, type(), known->second.matches};
}

std::optional<std::string> ParentSet::key_of(std::string_view uid) const {
  const auto known = key_of_uid_.find(std::string(uid));
  return known == key_of_uid_.end() ? std::nullopt : std::optional(known->second);
}

std::vector<std::string> ParentSet::keys() const {
  std::vector<std::string> all;
  all.reserve(members_.size());
  for (const auto& [key, member] : members_) all.push_back(key);
  return all;
}

std::vector<std::string> ParentSet::keys_after(std::string_view after, size_t limit) const {
  std::vector<std::string> some;
  for (auto it = members_.upper_bound(after); it != members_.end() && some.size() < limit; ++it)
    some.push_back(it->first);
  return some;
}

void ParentSet::each(const std::function<void(const std::string&, const Parent&)>& visit) const {
  for (const auto& [key, member] : members_) visit(key, Parent{member.object, type(), member.matches});
}

uint64_t ParentSet::mark_of(std::string_view key) const {
  const auto known = members_.find(key);
  if (known == members_.end()) return 0;
  const auto& [object, mark, matches] = known->second;
  const hook::Changed& changed = options_.rule.changed;
  const uint64_t parts[] = {changed.spec ? mark.spec : 0, changed.labels ? mark.labels : 0,
                            changed.annotations ? mark.annotations : 0, changed.status ? mark.status : 0,
                            (matches ? 1U : 0U) | (mark.deleting ? 2U : 0U) | (mark.finalizer ? 4U : 0U)};
  const std::string_view bytes(reinterpret_cast<const char*>(parts), sizeof parts);
  return hook::content_hash(object->uid, hook::content_hash(bytes)) | 1;  // never 0
}

}  // namespace hookd::reconcile
