// An API server in memory for what hooks do: discovery, list, watch (with the selectors that it understands), GET,
// DELETE with preconditions; other writes are taken and give the object a new version. Answers are posted, never
// inline.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "apply/json_text.h"
#include "base/json_read.h"
#include "base/json_writer.h"
#include "cache/label_selector.h"
#include "kube/client.h"
#include "kube/resource_type.h"
#include "kube/status.h"
#include "unit/support/objects.h"

namespace hookd::test {

class FakeCluster final : public kube::Api {
 public:
  explicit FakeCluster(Scheduler& scheduler) : scheduler_(scheduler) {}

  void serve(const kube::ResourceType& type) { types_.push_back(type); }
  // A type whose CRD was deleted: watches end, its paths give 404.
  void unserve(std::string_view plural) {
    std::erase_if(types_, [&](const auto& type) { return type.plural == plural; });
    std::erase_if(objects_, [&](const auto& entry) {
      return entry.first.find("/" + std::string(plural) + "/") != std::string::npos;
    });
    for (auto& stream : streams_)
      if (stream->path.ends_with(plural)) end(stream, Result<void>());
  }

  // Makes or changes an object, which gets the next resource version.
  void put(const kube::ResourceType& type, std::string_view json) {
    const std::string ns = json_string_at(json, {"metadata", "namespace"}).value_or("");
    const std::string name = json_string_at(json, {"metadata", "name"}).value_or("");
    const std::string path = type.object_path(ns, name);
    const std::string before = objects_.contains(path) ? objects_[path] : "";
    const std::string text = stamp(json);
    objects_[path] = text;
    tell(type, ns, before, text);
  }
  // An object as it was, with its version, as if it had never been away; watches hear nothing.
  void put_back(const kube::ResourceType& type, std::string_view json) {
    objects_[type.object_path(json_string_at(json, {"metadata", "namespace"}).value_or(""),
                              json_string_at(json, {"metadata", "name"}).value_or(""))] = json;
  }
  void remove(const kube::ResourceType& type, const std::string& ns, const std::string& name) {
    const auto found = objects_.find(type.object_path(ns, name));
    ASSERT_NE(found, objects_.end()) << name;
    const std::string last = found->second;
    objects_.erase(found);
    tell(type, ns, last, "");
  }
  bool has(const kube::ResourceType& type, const std::string& ns, const std::string& name) const {
    return objects_.contains(type.object_path(ns, name));
  }
  std::string version_of(const kube::ResourceType& type, const std::string& ns, const std::string& name) const {
    return json_string_at(objects_.at(type.object_path(ns, name)), {"metadata", "resourceVersion"}).value_or("");
  }
  // Lists of that collection get no answer until release().
  void hold(std::string path) { held_.insert(std::move(path)); }
  void release(const std::string& path) {
    held_.erase(path);
    for (auto& waiting : std::exchange(waiting_, {})) {
      if (waiting.first.path == path)
        answer_list(waiting.first, waiting.second);
      else
        waiting_.push_back(std::move(waiting));
    }
  }
  // Ends the watches of a collection without a word; their events meanwhile are missed, so that only a list tells.
  void cut(const std::string& path) {
    for (auto& stream : streams_)
      if (stream->path == path) end(stream, fail(Errc::kTransport, "connection reset"));
  }
  size_t lists(const std::string& path) const {
    return static_cast<size_t>(
        std::ranges::count_if(lists_, [&](const auto& request) { return request.path == path; }));
  }
  const std::vector<kube::ApiRequest>& lists() const { return lists_; }
  // "DELETE /api/v1/…" of every write so far.
  std::vector<std::string> writes() const {
    std::vector<std::string> all;
    for (const auto& request : written) all.push_back(request.method + " " + request.path);
    return all;
  }

  // Writes change objects as they say (patches merge, what an apply no longer says stays) and are told to watchers,
  // uids are given, finalizers hold. Else a write only gives the object a new version.
  bool keeps_writes = false;
  // Nothing is told of a collection until flow(): what is written is answered before the watch tells of it.
  void dam(std::string path) { dammed_.insert(std::move(path)); }
  void flow(const std::string& path) {
    dammed_.erase(path);
    for (auto& task : std::exchange(behind_, {})) task();
  }
  std::string object(const kube::ResourceType& type, const std::string& ns, const std::string& name) const {
    const auto found = objects_.find(type.object_path(ns, name));
    return found == objects_.end() ? "" : found->second;
  }

  // Asked first for every request but lists and watches; nullopt = go on.
  std::function<std::optional<Result<kube::ApiResponse>>(const kube::ApiRequest&)> intercept;
  std::vector<kube::ApiRequest> written;  // everything but GET

  std::unique_ptr<kube::ApiCall> request(kube::ApiRequest request, kube::ApiCallback callback) override {
    if (request.method != "GET") written.push_back(request);
    auto alive = std::make_shared<kube::ApiCallback>(std::move(callback));
    scheduler_.post([this, request = std::move(request), alive] {
      if (!*alive) return;
      const auto call = *alive;
      if (intercept)
        if (auto answer = intercept(request)) return call(*std::move(answer));
      call(serve_request(request));
    });
    return std::make_unique<Call>(std::move(alive));
  }

  std::unique_ptr<kube::ApiCall> stream(kube::ApiRequest request, kube::StreamHandlers handlers) override {
    auto stream = std::make_shared<Stream>();
    stream->path = request.path;
    stream->handlers = std::move(handlers);
    for (const auto& [name, value] : request.query) {
      if (name == "labelSelector") stream->labels = *cache::LabelSelector::parse(value);
      if (name == "fieldSelector" && value.starts_with("metadata.name=")) stream->name = value.substr(14);
      if (name == "watch") stream->watch = true;
    }
    auto call = std::make_unique<StreamCall>(stream);
    if (stream->watch) {
      streams_.push_back(stream);
      post(stream, [this](Stream& one) {
        if (!find_type(one.path)) return end(one.shared_from_this(), not_found());
        if (one.handlers.on_head) one.handlers.on_head({});
      });
      return call;
    }
    lists_.push_back(request);
    if (held_.contains(stream->path))
      waiting_.emplace_back(*stream, stream);
    else
      answer_list(*stream, stream);
    return call;
  }

 private:
  struct Call final : kube::ApiCall {
    explicit Call(std::shared_ptr<kube::ApiCallback> c) : callback(std::move(c)) {}
    ~Call() override { *callback = nullptr; }
    std::shared_ptr<kube::ApiCallback> callback;
  };
  struct Stream : std::enable_shared_from_this<Stream> {
    std::string path;
    kube::StreamHandlers handlers;
    std::optional<cache::LabelSelector> labels;
    std::string name;
    bool watch = false;
    bool open = true;
  };
  struct StreamCall final : kube::ApiCall {
    explicit StreamCall(std::shared_ptr<Stream> s) : stream(std::move(s)) {}
    ~StreamCall() override { stream->open = false; }
    std::shared_ptr<Stream> stream;
  };

  std::string stamp(std::string_view json) {
    return apply::with_metadata(json, {{"resourceVersion", fmt::format("\"{}\"", ++version_)}});
  }
  void post(const std::shared_ptr<Stream>& stream, std::function<void(Stream&)> task) {
    scheduler_.post([stream, task = std::move(task)] {
      if (stream->open) task(*stream);
    });
  }
  // Not inlined: with sanitizers gcc 12 takes an Error that is not there for one that is not set.
  [[gnu::noinline]] void end(const std::shared_ptr<Stream>& stream, Result<void> result) {
    post(stream, [result](Stream& one) {
      one.open = false;
      const auto done = one.handlers.on_done;
      done(result);
    });
  }
  static Failure not_found() { return fail(kube::error_from_answer(404, "404 page not found\n", "", "GET")); }

  const kube::ResourceType* find_type(std::string_view path) const {
    for (const auto& type : types_)
      if (path.starts_with(type.group.empty() ? "/api/v1/" : "/apis/" + type.api_version() + "/") &&
          path.ends_with("/" + type.plural))
        return &type;
    return nullptr;
  }
  static bool selected(const Stream& stream, const std::string& text) {
    if (text.empty()) return false;
    if (!stream.name.empty() && json_string_at(text, {"metadata", "name"}) != stream.name) return false;
    if (!stream.labels) return true;
    cache::LabelSelector::Labels labels;
    if (const auto raw = json_raw_at(text, {"metadata", "labels"})) {
      const auto members = apply::json_members(*raw);
      if (!members) return false;
      for (const auto& member : *members) labels[member.key] = apply::json_text_of(member.value).value_or("");
    }
    return stream.labels->matches(labels);
  }

  void tell(const kube::ResourceType& type, const std::string& ns, const std::string& before,
            const std::string& after) {
    for (const auto& stream : streams_) {
      if (stream->path != type.collection_path("") && stream->path != type.collection_path(ns)) continue;
      const bool was = selected(*stream, before), is = selected(*stream, after);
      if (!was && !is) continue;
      const std::string_view word = !was ? "ADDED" : is ? "MODIFIED" : "DELETED";
      const std::string line = fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", word, is ? after : stamp(before));
      const auto send = [this, stream, line] { post(stream, [line](Stream& one) { one.handlers.on_data(line); }); };
      dammed_.contains(stream->path) ? behind_.push_back(send) : send();
    }
    std::erase_if(streams_, [](const auto& stream) { return !stream->open; });
  }

  void answer_list(const Stream&, const std::shared_ptr<Stream>& stream) {
    post(stream, [this](Stream& one) {
      const auto* type = find_type(one.path);
      const auto keep = one.shared_from_this();
      if (!type) {
        one.open = false;
        const auto done = one.handlers.on_done;
        return done(not_found());
      }
      std::string items;
      for (const auto& [path, text] : objects_) {
        const std::string ns = json_string_at(text, {"metadata", "namespace"}).value_or("");
        const std::string name = json_string_at(text, {"metadata", "name"}).value_or("");
        const bool here = type->object_path(ns, name) == path &&
                          (one.path == type->collection_path("") || one.path == type->collection_path(ns));
        if (here && selected(one, text)) items += (items.empty() ? "" : ",") + text;
      }
      const std::string body =
          fmt::format(R"({{"kind":"{}List","apiVersion":"{}","metadata":{{"resourceVersion":"{}"}},"items":[{}]}})",
                      type->kind, type->api_version(), version_, items);
      if (one.handlers.on_head) one.handlers.on_head({});
      one.handlers.on_data(body);
      one.open = false;
      const auto done = one.handlers.on_done;
      done({});
    });
  }

  Result<kube::ApiResponse> serve_request(const kube::ApiRequest& request) {
    if (request.path == "/api" || request.path == "/apis") return discovery(request.path == "/api");
    std::string path = request.path;
    for (const std::string_view sub : {"/status", "/scale", "/eviction"})
      if (path.ends_with(sub)) path.resize(path.size() - sub.size());
    const auto found = objects_.find(path);
    if (keeps_writes && request.method != "GET") return write(request, path);
    if (request.method == "POST") return answer(request.body, 201);
    if (request.method == "PATCH" && found == objects_.end() &&
        request.content_type.find("apply-patch") != std::string::npos)
      return answer(objects_[path] = stamp(request.body), 201);
    if (found == objects_.end()) return status(404, "NotFound", fmt::format("{} not found", path));
    if (request.method == "GET") return answer(found->second);
    if (request.method == "DELETE") {
      const auto wanted = json_string_at(request.body, {"preconditions", "uid"});
      const auto uid = json_string_at(found->second, {"metadata", "uid"});
      if (wanted && wanted != uid)
        return status(409, "Conflict",
                      fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", *wanted,
                                  uid.value_or("")));
      const std::string last = found->second;
      const std::string ns = json_string_at(last, {"metadata", "namespace"}).value_or("");
      for (const auto& type : types_)
        if (type.object_path(ns, json_string_at(last, {"metadata", "name"}).value_or("")) == path) {
          objects_.erase(found);
          tell(type, ns, last, "");
          break;
        }
      return answer(R"({"kind":"Status","apiVersion":"v1","status":"Success"})");
    }
    found->second = stamp(found->second);
    return answer(found->second);
  }
  // ---- keeps_writes
  static std::string merge(std::string_view into, std::string_view patch) {
    if (!apply::is_json_object(patch)) return std::string(patch);
    std::string result = apply::is_json_object(into) ? std::string(into) : "{}";
    const auto members = *apply::json_members(patch);
    for (const auto& [key, value] : members) {
      const auto old = json_raw_at(result, {key});
      const std::string next = value == "null" ? "" : merge(old ? *old : "{}", value);
      result = apply::with_members(result, {{key, value == "null" ? std::nullopt : std::optional(next)}});
    }
    return result;
  }
  static bool held_by_finalizers(std::string_view object) {
    const std::string_view list = json_raw_at(object, {"metadata", "finalizers"}).value_or("[]");
    return list != "[]" && list != "null";
  }
  const kube::ResourceType* type_of(std::string_view path) const {
    for (const auto& type : types_) {
      const std::string start = type.group.empty() ? "/api/v1/" : "/apis/" + type.api_version() + "/";
      if (path.starts_with(start) && path.find("/" + type.plural + "/") != std::string_view::npos) return &type;
    }
    return nullptr;
  }
  Result<kube::ApiResponse> write(const kube::ApiRequest& request, std::string path) {
    const bool dry = std::ranges::any_of(request.query, [](const auto& one) { return one.first == "dryRun"; });
    std::string body = request.body;
    if (request.method == "POST") path += "/" + json_string_at(body, {"metadata", "name"}).value_or("");
    const auto* type = type_of(path);
    if (!type) return not_found();
    const std::string before = objects_.contains(path) ? objects_[path] : "";
    const bool applies = request.content_type.find("apply-patch") != std::string::npos;
    const std::string uid = json_string_at(before, {"metadata", "uid"}).value_or("");
    if (request.method == "DELETE") {
      if (before.empty()) return status(404, "NotFound", path + " not found");
      const auto wanted = json_string_at(body, {"preconditions", "uid"});
      if (wanted && *wanted != uid) return uid_conflict(*wanted, uid);
      if (dry) return answer(before);
      if (!held_by_finalizers(before)) return take_away(*type, path);
      return keep(*type, path, apply::with_metadata(before, {{"deletionTimestamp", "\"2026-01-01T00:00:00Z\""}}), 200);
    }
    if (before.empty() && request.method == "PATCH" && (!applies || request.path != path))
      return status(404, "NotFound", path + " not found");
    if (const auto wanted = json_string_at(body, {"metadata", "uid"}); wanted && *wanted != uid)
      return uid_conflict(*wanted, uid);
    const auto version = json_string_at(body, {"metadata", "resourceVersion"});
    if (version && !before.empty() && *version != json_string_at(before, {"metadata", "resourceVersion"}))
      return status(409, "Conflict", "the object has been modified; please apply your changes to the latest version");
    if (request.method == "POST" && !before.empty()) return status(409, "AlreadyExists", path + " already exists");
    std::string after = merge(before.empty() ? "{}" : before, body);
    if (before.empty()) after = apply::with_metadata(after, {{"uid", fmt::format("\"uid-{}\"", ++uids_)}});
    // No change, no new version.
    const auto bare = [](std::string_view text) {
      return apply::with_metadata(text, {{"resourceVersion", std::nullopt}});
    };
    const bool same = *parse_json(bare(after)) == *parse_json(before.empty() ? "{}" : bare(before));
    if (dry || same) return answer(dry ? after : before);
    if (json_raw_at(after, {"metadata", "deletionTimestamp"}) && !held_by_finalizers(after)) {
      auto gone = take_away(*type, path);
      return answer(after);
    }
    return keep(*type, path, after, before.empty() ? 201 : 200);
  }
  static Result<kube::ApiResponse> uid_conflict(std::string_view wanted, std::string_view uid) {
    return status(409, "Conflict",
                  fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", wanted, uid));
  }
  Result<kube::ApiResponse> keep(const kube::ResourceType& type, const std::string& path, std::string text, int code) {
    const std::string before = objects_.contains(path) ? objects_[path] : "";
    objects_[path] = stamp(text);
    tell(type, json_string_at(text, {"metadata", "namespace"}).value_or(""), before, objects_[path]);
    return answer(objects_[path], code);
  }
  Result<kube::ApiResponse> take_away(const kube::ResourceType& type, const std::string& path) {
    const std::string last = objects_[path];
    objects_.erase(path);
    tell(type, json_string_at(last, {"metadata", "namespace"}).value_or(""), last, "");
    return answer(R"({"kind":"Status","apiVersion":"v1","status":"Success"})");
  }

  static Result<kube::ApiResponse> answer(std::string body, int code = 200) {
    return kube::ApiResponse{
        .status = code, .body = std::move(body), .content_type = "application/json", .warnings = {}};
  }
  static Result<kube::ApiResponse> status(int code, std::string_view reason, std::string_view message) {
    return fail(kube::error_from_answer(
        code,
        fmt::format(R"({{"kind":"Status","apiVersion":"v1","status":"Failure","code":{},"reason":"{}","message":{}}})",
                    code, reason, json_string(message)),
        "", "DELETE"));
  }

  Result<kube::ApiResponse> discovery(bool core) const {
    JsonWriter out;
    out.begin_object().key("kind").string("APIGroupDiscoveryList").key("items").begin_array();
    std::set<std::string> groups;
    for (const auto& type : types_)
      if (type.group.empty() == core) groups.insert(type.group);
    for (const auto& group : groups) {
      out.begin_object().key("metadata").begin_object().key("name").string(group).end_object();
      const auto& version = std::ranges::find(types_, group, &kube::ResourceType::group)->version;  // one a group
      out.key("versions").begin_array().begin_object().key("version").string(version).key("resources").begin_array();
      for (const auto& type : types_) {
        if (type.group != group) continue;
        out.begin_object()
            .key("resource")
            .string(type.plural)
            .key("responseKind")
            .begin_object()
            .key("kind")
            .string(type.kind)
            .end_object();
        out.key("scope")
            .string(type.namespaced ? "Namespaced" : "Cluster")
            .key("singularResource")
            .string(type.singular);
        for (const auto& [key, words] : {std::pair{"shortNames", &type.short_names}, std::pair{"verbs", &type.verbs}}) {
          out.key(key).begin_array();
          for (const auto& word : *words) out.string(word);
          out.end_array();
        }
        out.key("subresources").begin_array();
        for (const auto& sub : type.subresources) out.begin_object().key("subresource").string(sub).end_object();
        out.end_array().end_object();
      }
      out.end_array().end_object().end_array().end_object();
    }
    out.end_array().end_object();
    return kube::ApiResponse{.status = 200,
                             .body = std::move(out).take(),
                             .content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
                             .warnings = {}};
  }

  Scheduler& scheduler_;
  std::vector<kube::ResourceType> types_;
  std::map<std::string, std::string> objects_;  // by path
  std::vector<std::shared_ptr<Stream>> streams_;
  std::set<std::string> held_, dammed_;
  std::vector<std::function<void()>> behind_;  // what is told of dammed collections
  uint64_t uids_ = 0;
  std::vector<std::pair<Stream, std::shared_ptr<Stream>>> waiting_;
  std::vector<kube::ApiRequest> lists_;
  uint64_t version_ = 100;
};

}  // namespace hookd::test
