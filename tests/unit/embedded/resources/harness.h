// Writes as the verbs do them, without a server: decode, defaults, admission, preparation, checks.
#pragma once

#include <gtest/gtest.h>

#include "embedded/resources/fields.h"
#include "embedded/resources/metadata.h"
#include "embedded/schema/decode.h"
#include "embedded/schema/defaults.h"

namespace hookd::embedded {

// What other objects there are, by "storage key/name"; namespaces are not told apart.
class Others final : public Lookup {
 public:
  void add(const std::string& key, const std::string& name, std::string text) {
    objects_[key + "/" + name] = std::move(text);
  }
  std::optional<std::string> find(std::string_view key, std::string_view, std::string_view name) const override {
    const auto found = objects_.find(fmt::format("{}/{}", key, name));
    return found == objects_.end() ? std::nullopt : std::optional(found->second);
  }
  void each(std::string_view key, std::string_view, const std::function<bool(std::string_view)>& visit) const override {
    for (const auto& [name, text] : objects_)
      if (name.starts_with(fmt::format("{}/", key)) && !visit(text)) return;
  }

 private:
  std::map<std::string, std::string> objects_;
};

class Desk {
 public:
  Desk() { add_builtin_resources(registry); }

  ResourcePtr resource(std::string_view gv, std::string_view plural) const {
    const size_t slash = gv.find('/');
    return slash == std::string_view::npos ? registry.find("", gv, plural)
                                           : registry.find(gv.substr(0, slash), gv.substr(slash + 1), plural);
  }

  // The object as it would be stored; on refusal {} and `message`, `errors`.
  json::object create(std::string_view gv, std::string_view plural, std::string_view text) {
    json::object object = decoded(gv, plural, text);
    const ResourcePtr kind = resource(gv, plural);
    const Strategy& strategy = *kind->strategy;
    json::object& meta = ensure_object(object, {"metadata"});
    if (kind->namespaced) meta["namespace"] = "fun";
    meta["uid"] = "u-1";
    const WriteContext context = context_of("");
    if (kind->status && !strategy.status_on_create) object.erase("status");
    if (strategy.admit)
      if (const Answer<void> answer = strategy.admit(object, context); !answer) return refused(answer.error());
    if (strategy.prepare_create) strategy.prepare_create(object, context);
    FieldErrors errors;
    validate_metadata(object, *kind, errors);
    if (strategy.validate) strategy.validate(object, errors);
    return finish(*kind, std::move(object), errors);
  }

  json::object update(std::string_view gv, std::string_view plural, const json::object& live, std::string_view merge,
                      std::string subresource = "") {
    const ResourcePtr kind = resource(gv, plural);
    const Strategy& strategy = *kind->strategy;
    json::object next = live;
    apply(next, json::parse(merge).as_object());
    const WriteContext context = context_of(std::move(subresource));
    if (strategy.admit_update)
      if (const Answer<void> answer = strategy.admit_update(next, live, context); !answer)
        return refused(answer.error());
    if (strategy.prepare_update) strategy.prepare_update(next, live, context);
    ensure_object(next, {"metadata"})["resourceVersion"] = "1";
    FieldErrors errors;
    validate_metadata_update(next, live, errors);
    if (context.subresource == "status") {
      if (strategy.validate_status) strategy.validate_status(next, live, errors);
    } else {
      if (strategy.validate) strategy.validate(next, errors);
      const auto other = strategy.validate_subresource.find(context.subresource);
      if (other != strategy.validate_subresource.end()) {
        other->second(next, live, errors);
      } else if (strategy.validate_update) {
        strategy.validate_update(next, live, errors);
      }
    }
    return finish(*kind, std::move(next), errors);
  }

  // What is wrong, "" = nothing: "Pod "p" is invalid: " is cut off.
  std::string fault(std::string_view gv, std::string_view plural, std::string_view text) {
    create(gv, plural, text);
    const size_t at = message.find(" is invalid: ");
    return at == std::string::npos ? message : message.substr(at + 13);
  }

  Registry registry;
  Others others;
  ManualScheduler scheduler;
  SeededRandom random;
  std::string message;
  int code = 0;
  std::vector<std::string> warnings;

 private:
  WriteContext context_of(std::string subresource) {
    return {scheduler, random, false, "admin", std::move(subresource), &others};
  }
  json::object decoded(std::string_view gv, std::string_view plural, std::string_view text) {
    const ResourcePtr kind = resource(gv, plural);
    json::object object = json::parse(text).as_object();
    object["apiVersion"] = kind->api_version();
    object["kind"] = kind->kind;
    EXPECT_TRUE(decode(object, *kind->schema).has_value()) << text;
    apply_builtin_defaults(object, kind->group, kind->version, kind->kind);
    if (kind->strategy->defaults) kind->strategy->defaults(object);
    return object;
  }
  json::object refused(const StatusError& error) {
    message = error.message;
    code = error.code;
    return {};
  }
  json::object finish(const Resource& kind, json::object object, const FieldErrors& errors) {
    message.clear();
    code = 200;
    warnings.clear();
    if (!errors.empty())
      return refused(
          invalid({kind.group, kind.plural, kind.kind, std::string(string_at(object, {"metadata", "name"}))}, errors));
    if (kind.strategy->warnings) warnings = kind.strategy->warnings(object);
    return object;
  }
  static void apply(json::object& to, const json::object& patch) {
    for (const auto& entry : patch) {
      if (entry.value().is_null()) {
        to.erase(entry.key());
      } else if (entry.value().is_object()) {
        apply(ensure_object(to, {entry.key()}), entry.value().get_object());
      } else {
        to[entry.key()] = entry.value();
      }
    }
  }
};

}  // namespace hookd::embedded
