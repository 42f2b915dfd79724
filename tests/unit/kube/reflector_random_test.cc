// A small API server that changes objects at random and fails at random: cut streams, refusals, 410, truncated lists.
// Whatever it does, the listener hears a story that makes sense, and in the end the store is what the server has.
#include "unit/kube/reflector_fixture.h"

namespace hookd::kube {
namespace {

using namespace std::chrono_literals;
using namespace test;

class RandomServer {
 public:
  RandomServer(ScriptedApi& api, uint64_t seed) : random_(seed) {
    api.answer_all([this](Exchange& exchange) { answer(exchange); });
    api_ = &api;
  }

  bool faults = true;
  std::map<std::string, std::pair<std::string, int>> objects;  // name -> uid, version
  int gone = 0, cut = 0, refused = 0;

  size_t below(size_t n) { return random_.bits() % n; }

  void change() {
    const std::string name = fmt::format("p{}", below(6));
    const auto it = objects.find(name);
    ++version_;
    if (it == objects.end()) {
      objects[name] = {fmt::format("u{}", version_), version_};
      happen("ADDED", name, objects[name].first);
    } else if (below(3) == 0) {
      const std::string uid = it->second.first;
      objects.erase(it);
      happen("DELETED", name, uid);
    } else {
      it->second.second = version_;
      happen("MODIFIED", name, it->second.first);
    }
  }
  void compact() { compacted_ = version_; }
  void cut_watch() {
    if (!watch_ || !watch_->open()) return;
    ++cut;
    if (below(2) == 0) watch_->data(R"({"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"hal)");
    if (below(2) == 0)
      watch_->end();
    else
      watch_->refuse();
  }

 private:
  void happen(const std::string& type, const std::string& name, const std::string& uid) {
    history_.emplace_back(version_, event_of(type, with_kind(pod(name, std::to_string(version_), uid))));
    if (watch_ && watch_->open()) send(history_.back().second);
  }
  void send(const std::string& text) {
    const size_t split = below(text.size());
    watch_->data(text.substr(0, split));
    watch_->data(text.substr(split));
  }
  void answer(Exchange& exchange) {
    if (faults && below(4) == 0) return fail(exchange);
    if (exchange.is_watch())
      watch(exchange);
    else
      list(exchange);
  }
  void fail(Exchange& exchange) {
    ++refused;
    switch (below(7)) {
      case 0:
        return exchange.refuse();
      case 1:
        return exchange.reply_error(500, status_of(500, "InternalError"));
      case 2:
        return exchange.reply_error(429, status_of(429, "TooManyRequests"), "2");
      case 3:
        return exchange.reply(status_of(403, "Forbidden"));
      case 4:
        return exchange.reply_error(404, "404 page not found\n");
      case 5:
        return exchange.reply("<html></html>");
      default:
        return exchange.data("{\"kind\":\"PodList\""), exchange.end();
    }
  }
  void list(Exchange& exchange) {
    const std::string version = exchange.param("resourceVersion");
    if (!version.empty() && std::stoi(version) < compacted_) {
      ++gone;
      return exchange.reply_error(410, status_of(410, "Expired"));
    }
    const std::string token = exchange.param("continue");
    if (!token.empty() && below(3) == 0) return exchange.reply_error(410, status_of(410, "Expired"));
    if (token.empty()) snapshot_ = objects, snapshot_version_ = version_;
    std::vector<std::string> items;
    for (const auto& [name, state] : snapshot_)
      if (name >= token) items.push_back(pod(name, std::to_string(state.second), state.first));
    std::string next;
    if (!exchange.param("limit").empty() && items.size() > 2 && below(2) == 0) {
      next = std::next(snapshot_.lower_bound(token), 2)->first;
      items.resize(2);
    }
    const std::string body = list_of(items, std::to_string(snapshot_version_), next);
    if (faults && below(6) == 0) return exchange.reply(std::string_view(body).substr(0, below(body.size())));
    exchange.reply(body);
  }
  void watch(Exchange& exchange) {
    const int from = std::stoi(exchange.param("resourceVersion"));
    for (size_t i = 0; i < api_->count(); ++i)
      if (api_->at(i).get() == &exchange) watch_ = api_->at(i);
    exchange.head();
    if (from < compacted_) {
      ++gone;
      return exchange.data(event_of("ERROR", status_of(410, "Expired")));
    }
    for (const auto& [version, text] : std::vector(history_))
      if (version > from && watch_->open()) send(text);
    if (below(3) == 0) watch_->data(bookmark(std::to_string(version_)));
  }

  SeededRandom random_;
  ScriptedApi* api_;
  int version_ = 1;
  int compacted_ = 0;
  std::vector<std::pair<int, std::string>> history_;
  std::map<std::string, std::pair<std::string, int>> snapshot_;
  int snapshot_version_ = 0;
  std::shared_ptr<Exchange> watch_;
};

TEST(ReflectorRandom, TheStoreEndsEqualToTheServerAndTheStoryMakesSense) {
  log::set_tap([](log::Level, std::string_view) {});
  int gone = 0, cut = 0, refused = 0;
  size_t heard = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    ManualScheduler scheduler;
    SeededRandom random(seed);
    ScriptedApi api(scheduler);
    RandomServer server(api, seed * 7919);
    cache::ObjectStore store(scheduler, {});
    std::map<std::string, std::pair<std::string, std::string>> story;  // key -> uid, version
    store.set_listener([&](const cache::Change& change, std::string_view text) {
      ++heard;
      const std::string key = change.object->key();
      const auto it = story.find(key);
      EXPECT_FALSE(text.empty());
      if (change.type == cache::Change::Type::kAdded) {
        EXPECT_EQ(it, story.end()) << "added twice: " << key;
      } else {
        ASSERT_NE(it, story.end()) << "unknown: " << told_text(change);
        EXPECT_EQ(it->second.first, change.object->uid) << "of another namesake: " << told_text(change);
      }
      if (change.type == cache::Change::Type::kModified) {
        EXPECT_NE(it->second.second, change.object->resource_version);
      }
      if (change.type == cache::Change::Type::kDeleted)
        story.erase(key);
      else
        story[key] = {change.object->uid, change.object->resource_version};
    });
    Reflector::Options options;
    options.type = pod_type();
    Reflector reflector(api, scheduler, random, store, options, nullptr);
    reflector.start();
    for (int step = 0; step < 400; ++step) {
      switch (server.below(8)) {
        case 0:
          server.cut_watch();
          break;
        case 1:
          if (server.below(5) == 0) server.compact();
          break;
        case 2:
          scheduler.advance(std::chrono::seconds(server.below(20)));
          break;
        case 3:
          scheduler.run_posted();
          break;
        default:
          server.change();
      }
    }
    server.faults = false;
    scheduler.advance(10min);

    ASSERT_FALSE(reflector.health().error) << reflector.health().error->what;
    std::map<std::string, std::pair<std::string, std::string>> wanted;
    for (const auto& [name, state] : server.objects)
      wanted["default/" + name] = {state.first, std::to_string(state.second)};
    EXPECT_EQ(story, wanted);
    EXPECT_EQ(store.size(), wanted.size());
    for (const auto& [key, state] : wanted) {
      const auto object = store.find(key);
      ASSERT_NE(object, nullptr) << key;
      EXPECT_EQ(object->uid, state.first);
      EXPECT_EQ(object->resource_version, state.second);
    }
    gone += server.gone;
    cut += server.cut;
    refused += server.refused;
  }
  log::set_tap({});
  // It was worth the trouble.
  EXPECT_GT(gone, 30);
  EXPECT_GT(cut, 300);
  EXPECT_GT(refused, 200);
  EXPECT_GT(heard, 3000U);
}

}  // namespace
}  // namespace hookd::kube
