// A reflector with its store on virtual time, against a scripted Api.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"
#include "kube/reflector.h"
#include "unit/kube/scripted_api.h"

namespace hookd::kube::test {

inline ResourceType pod_type() {
  ResourceType type;
  type.version = "v1";
  type.kind = "Pod";
  type.plural = "pods";
  type.singular = "pod";
  type.short_names = {"po"};
  type.verbs = {"get", "list", "watch", "delete"};
  return type;
}

// "Added default/a@1", "Modified …", "Deleted …" with '?' behind when the last state is not known.
inline std::string told_text(const cache::Change& change) {
  const char* type = change.type == cache::Change::Type::kAdded      ? "Added"
                     : change.type == cache::Change::Type::kModified ? "Modified"
                                                                     : "Deleted";
  return fmt::format("{} {}@{}{}", type, change.object->key(), change.object->resource_version,
                     change.final_state_unknown ? "?" : "");
}

class ReflectorTest : public testing::Test {
 protected:
  using Seconds = std::chrono::duration<double>;

  ReflectorTest() {
    store_.set_listener([this](const cache::Change& change, std::string_view text) {
      told_.push_back(told_text(change));
      texts_.emplace_back(text);
    });
    log::set_tap([](log::Level, std::string_view) {});
  }
  ~ReflectorTest() override { log::set_tap({}); }

  void start(Reflector::Options options = {}) {
    if (options.type.plural.empty()) options.type = pod_type();
    reflector_ =
        std::make_unique<Reflector>(api_, scheduler_, random_, store_, std::move(options), [this] { ++changes_; });
    reflector_->start();
  }
  // Started, listed, and the watch is asked for.
  void start_watching(const std::vector<std::string>& items, const std::string& version,
                      Reflector::Options options = {}) {
    start(std::move(options));
    last().reply(list_of(items, version));
    scheduler_.run_posted();
    told_.clear();
    texts_.clear();
    ASSERT_TRUE(last().is_watch());
  }
  Exchange& last() { return *api_.last(); }
  const Reflector::Health& health() { return reflector_->health(); }
  std::vector<std::string> told() {
    scheduler_.run_posted();
    return std::exchange(told_, {});
  }
  // Time until the next exchange begins, at most `limit`.
  Seconds until_next(Duration limit = std::chrono::minutes(10)) {
    const size_t before = api_.count();
    const SteadyTime from = scheduler_.now();
    while (api_.count() == before && scheduler_.now() - from < limit) scheduler_.advance(std::chrono::milliseconds(1));
    EXPECT_GT(api_.count(), before) << "nothing was asked within the limit";
    return scheduler_.now() - from;
  }

  ManualScheduler scheduler_;
  SeededRandom random_;
  ScriptedApi api_{scheduler_};
  cache::ObjectStore store_{scheduler_, {}};
  std::vector<std::string> told_;
  std::vector<std::string> texts_;
  int changes_ = 0;
  std::unique_ptr<Reflector> reflector_;
};

}  // namespace hookd::kube::test
