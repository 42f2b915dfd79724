#include "kube/discovery.h"

#include "base/log.h"
#include "kube/discovery_documents.h"

namespace hookd::kube {

// One look at the server: aggregated documents first, group by group if the server does not have them (D1, D2).
class Discovery::Look {
 public:
  explicit Look(Discovery& owner) : owner_(owner) {
    fetch("/api", core_, kAggregatedAccept, owner.core_etag_);
    fetch("/apis", groups_, kAggregatedAccept, owner.groups_etag_);
  }

 private:
  static constexpr std::string_view kPlainAccept = "application/json";

  struct Answer {
    std::unique_ptr<ApiCall> call;
    std::optional<Result<ApiResponse>> result;

    bool unchanged() const { return result && *result && (*result)->status == 304; }
    bool aggregated() const { return result && *result && is_aggregated((*result)->content_type); }
    // An aggregated API server has no core group (D2).
    bool absent() const { return result && !*result && result->error().code == Errc::kNotFound; }
  };

  void fetch(const std::string& path, Answer& into, std::string_view accept, const std::string& etag = {}) {
    ApiRequest request;
    request.path = path;
    request.accept = accept;
    request.if_none_match = etag;
    request.total_timeout = std::chrono::seconds(32);
    request.accept_gzip = true;
    request.retry = false;
    into.result.reset();
    ++open_;
    into.call = owner_.api_.request(std::move(request), [this, &into](Result<ApiResponse> result) {
      into.result = std::move(result);
      if (--open_ == 0)
        owner_.scheduler_.post([this, alive = std::weak_ptr(alive_)] {  // a step may replace the call that called
          if (alive.lock()) step();
        });
    });
  }

  void step() {
    if (!versions_.empty()) return finish_legacy();
    if (!*groups_.result) return end(fail(groups_.result->error().with("discovery")));
    if (!*core_.result && !core_.absent()) return end(fail(core_.result->error().with("discovery")));
    const bool core_same = core_.unchanged() || core_.absent();
    if (core_same && groups_.unchanged()) return end(Seen{std::nullopt, owner_.core_etag_, owner_.groups_etag_, false});
    // Only one of them changed: the other is needed in full as well.
    if (core_.unchanged()) return fetch("/api", core_, kAggregatedAccept);
    if (groups_.unchanged()) return fetch("/apis", groups_, kAggregatedAccept);

    const bool core_aggregated = core_.aggregated() || core_.absent();
    if (core_aggregated && groups_.aggregated()) return finish_aggregated();
    // D1: aggregated only if both are; what came aggregated is asked for again in the old form.
    if (core_.aggregated()) fetch("/api", core_, kPlainAccept);
    if (groups_.aggregated()) fetch("/apis", groups_, kPlainAccept);
    if (open_ == 0) start_legacy();
  }

  void finish_aggregated() {
    Seen seen;
    seen.table.emplace();
    for (Answer* answer : {&core_, &groups_}) {
      if (answer->absent()) continue;
      if (auto read = read_aggregated((*answer->result)->body, *seen.table); !read)
        return end(fail(read.error().with("discovery")));
      (answer == &core_ ? seen.core_etag : seen.groups_etag) = (*answer->result)->etag;
    }
    end(std::move(seen));
  }

  void start_legacy() {
    auto versions = read_group_versions(core_.absent() ? "" : (*core_.result)->body, (*groups_.result)->body);
    if (!versions) return end(fail(versions.error().with("discovery")));
    versions_ = std::move(*versions);
    if (versions_.empty()) return end(Seen{ResourceTable{}, {}, {}, true});
    answers_.resize(versions_.size());
    for (size_t i = 0; i < versions_.size(); ++i) fetch(versions_[i].path(), answers_[i], kPlainAccept);
  }

  void finish_legacy() {
    Seen seen{ResourceTable{}, {}, {}, true};
    for (size_t i = 0; i < versions_.size(); ++i) {
      auto& result = *answers_[i].result;
      const auto read = result ? read_resource_list(result->body, versions_[i], *seen.table) : Failure(result.error());
      seen.table->group_versions.push_back(versions_[i].api_version());
      if (!read) seen.table->failed_groups.push_back(versions_[i].api_version());  // D4: the others still count
    }
    end(std::move(seen));
  }

  void end(Result<Seen> result) {
    // Posted, because this object is destroyed by it.
    owner_.scheduler_.post([owner = &owner_, alive = std::weak_ptr(alive_), result = std::move(result)]() mutable {
      if (alive.lock()) owner->finished(std::move(result));
    });
  }

  Discovery& owner_;
  Answer core_, groups_;
  std::vector<GroupVersion> versions_;
  std::vector<Answer> answers_;
  size_t open_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

Discovery::Discovery(Api& api, Scheduler& scheduler) : api_(api), scheduler_(scheduler) {}
Discovery::~Discovery() = default;

std::optional<ResourceType> Discovery::cached(std::string_view api_version, std::string_view name) const {
  if (!known_) return std::nullopt;
  auto found = table_.find(api_version, name);
  if (!found) return std::nullopt;
  return *std::move(found);
}

void Discovery::resolve(std::string_view api_version, std::string_view name, Callback callback) {
  if (auto type = cached(api_version, name)) return callback(*std::move(type));
  refresh([this, api_version = std::string(api_version), name = std::string(name),
           callback = std::move(callback)](Result<void> looked) {
    // An old table is better than none when the server does not answer.
    if (!looked && !known_) return callback(fail(looked.error()));
    callback(table_.find(api_version, name));
  });
}

void Discovery::invalidate() { known_ = false; }

void Discovery::refresh(std::function<void(Result<void>)> callback) {
  waiting_.push_back(std::move(callback));
  if (look_ || delayed_.pending()) return;
  const SteadyTime earliest =
      refreshed_at_ ? *refreshed_at_ + (legacy_ ? kMinRefreshLegacy : kMinRefresh) : scheduler_.now();
  if (scheduler_.now() >= earliest)
    start_look();
  else
    delayed_ = scheduler_.at(earliest, [this] { start_look(); });
}

void Discovery::start_look() { look_ = std::make_unique<Look>(*this); }

void Discovery::finished(Result<Seen> result) {
  look_.reset();
  refreshed_at_ = scheduler_.now();
  Result<void> told;
  if (result) {
    if (result->table) {
      result->table->keep_failed(table_);
      table_ = *std::move(result->table);
    }
    core_etag_ = std::move(result->core_etag);
    groups_etag_ = std::move(result->groups_etag);
    legacy_ = result->legacy;
    known_ = true;
  } else {
    told = Failure(result.error());
  }
  for (auto& callback : std::exchange(waiting_, {})) callback(told);
}

}  // namespace hookd::kube
