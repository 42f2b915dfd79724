// A watch: what there is, then what changes, until its time is over.
#include <fmt/format.h>

#include "base/json_read.h"
#include "embedded/resources/crd_strategy.h"
#include "embedded/resources/fields.h"
#include "embedded/schema/decode.h"
#include "embedded/verbs/object.h"
#include "embedded/verbs/read.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {
namespace {

class Watch final : public Exchange {
 public:
  Watch(const ReadCall& call, ListOptions options, const Reply& reply, Request request, const WatchFaults& faults)
      : world_(call.world),
        resource_(call.resource),
        ns_(call.resource->namespaced ? call.ns : ""),
        options_(std::move(options)),
        request_(std::move(request)),
        reply_{request_, reply.sink, reply.media, reply.warnings},
        faults_(faults) {}

  // Writes what is known already and stays for the rest.
  void start(uint64_t revision, bool initial, bool mark_initial) {
    reply_.sink->begin(reply_.head(200, "application/json"));
    last_ = revision;
    if (initial) {
      last_ = world_.store.revision();
      world_.store.scan(resource_->storage_key, ns_, "", [&](const StoredPtr& stored) {
        const auto text = load_text(*stored, *resource_);
        if (text && selected(*resource_, options_, *stored, *text)) send("ADDED", *text);
        return true;
      });
      if (mark_initial && options_.bookmarks) bookmark(true);
    } else if (revision < world_.store.revision()) {
      const bool there = world_.store.replay(revision, [&](const StoreEvent& event) { take(event); });
      if (!there) {
        fail(expired(fmt::format("too old resource version: {} ({})", revision, world_.store.oldest_replayable())));
        return;
      }
    }
    subscription_ = world_.store.subscribe(resource_->storage_key, [this](const StoreEvent& event) { take(event); });
    if (resource_->custom)
      crd_ =
          world_.store.subscribe(std::string(kCrdStorageKey), [this](const StoreEvent& event) { kind_changed(event); });
    if (const auto seconds = options_.timeout_seconds.value_or(0); seconds > 0) {
      const auto bounded = std::min<int64_t>(seconds, 10 * 365 * 24 * 3600L);
      end_ = world_.scheduler.after(std::chrono::seconds(bounded), [this] { finish(); });
    } else {
      // The real server picks 30 to 60 minutes.
      end_ = world_.scheduler.after(std::chrono::seconds(1800 + static_cast<int64_t>(world_.random.uniform() * 1800)),
                                    [this] { finish(); });
    }
    if (options_.bookmarks && !faults_.no_bookmarks) next_bookmark();
  }

  void fail(const StatusError& error) {
    write(fmt::format(R"({{"type":"ERROR","object":{}}})", to_text(to_status(error))) + "\n");
    finish();
  }

 private:
  void take(const StoreEvent& event) {
    if (over_ || event.storage_key != resource_->storage_key || event.revision <= last_) return;
    if (!ns_.empty() && event.object->ns != ns_) return;
    last_ = event.revision;
    const auto text = load_text(*event.object, *resource_);
    if (!text) return fail(text.error());
    bool was = false;
    if (event.previous) {
      if (options_.labels.empty() && options_.fields.empty()) {
        was = true;
      } else {
        const auto before = load_text(*event.previous, *resource_);
        was = before && selected(*resource_, options_, *event.previous, *before);
      }
    }
    const bool is = event.type != StoreEvent::Type::kDeleted && selected(*resource_, options_, *event.object, *text);
    if (is)
      send(was ? "MODIFIED" : "ADDED", *text);
    else if (was && event.type == StoreEvent::Type::kDeleted)
      send("DELETED", *text);
    else if (was)
      left(event);
  }

  // A watch ends with its kind, and when another schema begins to hold; a CRD has the name of the storage key.
  void kind_changed(const StoreEvent& event) {
    if (event.object->name != resource_->storage_key) return;
    if (event.type == StoreEvent::Type::kDeleted ||
        (event.previous && json_raw_at(event.previous->text, {"spec"}) != json_raw_at(event.object->text, {"spec"})))
      finish();
  }

  // It is still there but not selected any more: told as deleted, as it was when it was selected, with the revision of
  // the change.
  void left(const StoreEvent& event) {
    if (const auto before = load_text(*event.previous, *resource_))
      send("DELETED", with_revision(*before, event.revision));
  }

  void send(std::string_view type, std::string_view text) {
    if (over_) return;
    if (reply_.media.shape == Shape::kMetadataList) return finish();  // no event is a list
    const auto object = event_object(reply_, *resource_, text, first_, world_.scheduler.wall_now());
    if (!object) return fail(object.error());
    first_ = false;
    std::string line;
    line.reserve(object->size() + 40);
    line.append(R"({"type":")").append(type).append(R"(","object":)").append(*object).append("}\n");
    write(std::move(line));
  }

  void write(std::string line) {
    if (over_ || faults_.silent) return;
    reply_.sink->write(std::move(line));
  }

  void bookmark(bool initial) {
    json::object object{{"kind", resource_->kind}, {"apiVersion", resource_->api_version()}};
    json::object metadata{{"resourceVersion", std::to_string(world_.store.revision())}};
    if (initial) metadata["annotations"] = json::object{{"k8s.io/initial-events-end", "true"}};
    object["metadata"] = std::move(metadata);
    if (!resource_->custom && resource_->schema) complete(object, *resource_->schema);
    send("BOOKMARK", to_text(object));
  }

  void next_bookmark() {
    // About one a minute, not all at once.
    bookmark_ = world_.scheduler.after(
        std::chrono::milliseconds(55'000 + static_cast<int64_t>(world_.random.uniform() * 10'000)), [this] {
          bookmark(false);
          if (!over_) next_bookmark();
        });
  }

  void finish() {
    if (over_) return;
    over_ = true;
    // The subscription stays until the exchange goes: this may run inside of its own listener.
    bookmark_.cancel();
    end_.cancel();
    reply_.sink->end();
  }

  World& world_;
  ResourcePtr resource_;
  std::string ns_;
  ListOptions options_;
  Request request_;
  Reply reply_;
  WatchFaults faults_;
  uint64_t last_ = 0;
  bool first_ = true, over_ = false;
  Store::Subscription subscription_, crd_;
  Timer end_, bookmark_;
};

}  // namespace

Answer<std::unique_ptr<Exchange>> watch_objects(const ReadCall& call, ListOptions options, Reply& reply,
                                                const Request& request, const WatchFaults& faults) {
  if (!call.name.empty()) {
    if (options.fields.empty()) {
      auto only = FieldSelector::parse("metadata.name=" + call.name);
      if (only) options.fields = *std::move(only);
    } else if (const auto* name = options.fields.exact("metadata.name"); !name || *name != call.name) {
      return refuse(bad_request("fieldSelector metadata.name doesn't match requested name"));
    }
  }
  if (auto done = check_fields(*call.resource, options.fields); !done) return refuse(done.error());
  uint64_t revision = 0;
  const bool any = options.resource_version.empty() || options.resource_version == "0";
  if (!any) {
    const auto wanted = go_parse_uint(options.resource_version);
    if (!wanted)
      return refuse(plain_error(500, fmt::format("resourceVersion: Invalid value: {}: {}",
                                                 go_quote(options.resource_version), wanted.error())));
    revision = *wanted;
  }
  const bool initial = options.send_initial_events.value_or(any);
  if (any && !initial) revision = call.world.store.revision();
  Request kept;
  kept.method = request.method;
  kept.query = request.query;
  auto watch = std::make_unique<Watch>(call, std::move(options), reply, std::move(kept), faults);
  if (initial && revision > call.world.store.revision()) {
    reply.sink->begin(reply.head(200, "application/json"));
    watch->fail(too_large_resource_version(revision, call.world.store.revision()));
    return watch;
  }
  watch->start(revision, initial, true);
  return watch;
}

}  // namespace hookd::embedded
