#include "rehearsal/hands.h"

#include "apply/applier.h"
#include "base/json_read.h"
#include "kube/discovery.h"
#include "rehearsal/owner_uids.h"

namespace hookd::rehearsal {

// Looks at the server's kinds anew each time: a step may have made one a moment ago, and virtual time may stand still.
class Hands::Job {
 public:
  explicit Job(Hands& owner) : owner_(owner), discovery_(owner.client_, owner.scheduler_) {}
  virtual ~Job() = default;
  virtual void begin() = 0;

 protected:
  Hands& owner_;
  kube::Discovery discovery_;
};

class Hands::Work final : public Job {
 public:
  Work(Hands& owner, std::vector<apply::Operation> operations, Done done)
      : Job(owner),
        applier_(
            owner.client_,
            [this](std::string_view api_version, std::string_view kind, kube::Discovery::Callback callback) {
              discovery_.resolve(api_version, kind, std::move(callback));
            },
            owner.scheduler_, owner.random_, [this] { discovery_.invalidate(); }),
        owners_(owner.client_, discovery_, owner.default_namespace_),
        waiting_(std::move(operations)),
        done_(std::move(done)) {}

  void begin() override { send_what_can_be(false); }

 private:
  // Round by round: what waits for the uid of its owner goes when the owner is there.
  void send_what_can_be(bool looked) {
    const auto middle = std::stable_partition(waiting_.begin(), waiting_.end(), [](const apply::Operation& op) {
      return op.object.empty() || owners_without_uid(op.object).empty();
    });
    if (middle == waiting_.begin() && !looked) return look_for_owners();
    // Owners that are nowhere: the server says so.
    const auto end = middle == waiting_.begin() ? waiting_.end() : middle;
    operations_.assign(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(end));
    waiting_.erase(waiting_.begin(), end);
    send();
  }

  void send() {
    apply::Request request;
    request.operations = operations_;
    request.hook = owner_.name_;
    request.field_manager = owner_.name_;
    request.default_namespace = owner_.default_namespace_;
    run_ = applier_.apply(std::move(request),
                          [this](std::vector<apply::Outcome> outcomes) { applied(std::move(outcomes)); });
  }

  void applied(std::vector<apply::Outcome> outcomes) {
    std::string problems;
    for (const apply::Outcome& outcome : outcomes) {
      const apply::Operation& op = operations_[outcome.index];
      const bool nothing_there =
          outcome.kind == apply::Outcome::Kind::kNotNeeded && !op.ignore_missing_object && apply::is_delete(op.verb);
      if (outcome.ok() && !nothing_there) continue;
      if (!problems.empty()) problems += "\n";
      problems += op.describe() + ": " + outcome.text;
      if (nothing_there) problems += "; `ignoreMissingObject: true` lets that pass";
    }
    if (!problems.empty()) return end(fail(Errc::kInvalid, "{}", problems));
    if (with_status_) return end({});
    std::ranges::copy(operations_, std::back_inserter(made_));
    if (waiting_.empty()) return find_statuses(0);
    look_for_owners();
  }

  void look_for_owners() {
    owners_.fill(std::move(waiting_), [this](std::vector<apply::Operation> operations) {
      waiting_ = std::move(operations);
      send_what_can_be(true);
    });
  }

  // Which of the objects made have a status that has to be written on its own?
  void find_statuses(size_t index) {
    const auto status_at = [this](size_t i) {
      const auto status = apply::is_upsert(made_[i].verb) ? json_raw_at(made_[i].object, {"status"}) : std::nullopt;
      return status && status->starts_with('{') ? std::string(*status) : std::string();
    };
    std::string status;
    while (index < made_.size() && (status = status_at(index)).empty()) ++index;
    if (index == made_.size()) {
      operations_ = std::move(statuses_);
      with_status_ = true;
      return operations_.empty() ? end({}) : send();
    }
    const apply::Operation& op = made_[index];
    discovery_.resolve(op.api_version, op.kind,
                       [this, index, text = std::move(status)](Result<kube::ResourceType> type) {
                         if (type && type->has_subresource("status")) {
                           const apply::Operation& made = made_[index];
                           apply::Operation next;
                           next.verb = apply::Verb::kStatus;
                           next.api_version = made.api_version;
                           next.kind = made.kind;
                           next.ns = made.ns;
                           next.name = made.name;
                           next.patch = text;
                           statuses_.push_back(std::move(next));
                         }
                         // Posted: thousands of them must not become as many calls inside each other.
                         owner_.scheduler_.post([this, index, alive = std::weak_ptr(alive_)] {
                           if (alive.lock()) find_statuses(index + 1);
                         });
                       });
  }

  void end(Result<void> result) {
    const Done done = std::move(done_);
    owner_.finished(this);
    done(std::move(result));
  }

  apply::Applier applier_;
  OwnerUids owners_;
  std::vector<apply::Operation> waiting_;     // not sent yet
  std::vector<apply::Operation> operations_;  // under way
  std::vector<apply::Operation> made_, statuses_;
  Done done_;
  bool with_status_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<apply::Run> run_;
};

class Hands::Look final : public Job {
 public:
  Look(Hands& owner, std::string api_version, std::string kind, std::function<void(Result<Objects>)> done)
      : Job(owner), api_version_(std::move(api_version)), kind_(std::move(kind)), done_(std::move(done)) {}

  void begin() override {
    discovery_.resolve(api_version_, kind_, [this](Result<kube::ResourceType> type) {
      if (!type) return end(fail(type.error()));
      type_ = *std::move(type);
      kube::ApiRequest request;
      request.path = type_.collection_path("");
      call_ = owner_.client_.request(std::move(request), [this](Result<kube::ApiResponse> response) {
        if (!response) return end(fail(response.error()));
        end(items(response->body));
      });
    });
  }

 private:
  Result<Objects> items(const std::string& body) const {
    HOOKD_TRY(auto list, parse_json(body));
    Objects objects;
    if (auto* found = list.as_object().if_contains("items"); found && found->is_array())
      for (auto& item : found->get_array()) {
        if (!item.is_object()) continue;
        item.get_object()["kind"] = type_.kind;
        item.get_object()["apiVersion"] = type_.api_version();
        objects.push_back(std::move(item));
      }
    return objects;
  }

  void end(Result<Objects> result) {
    const auto done = std::move(done_);
    owner_.finished(this);
    done(std::move(result));
  }

  std::string api_version_, kind_;
  std::function<void(Result<Objects>)> done_;
  kube::ResourceType type_;
  std::unique_ptr<kube::ApiCall> call_;
};

Hands::Hands(net::HttpTransport& transport, const kube::ConnectionConfig& connection, Scheduler& scheduler,
             Random& random, std::string name)
    : credentials_(connection, scheduler),
      client_(transport, credentials_, connection, scheduler, {.qps = 0}),
      scheduler_(scheduler),
      random_(random),
      name_(std::move(name)),
      default_namespace_(connection.default_namespace) {}
Hands::~Hands() = default;

// Posted: the job is in the middle of its own work.
void Hands::finished(const Job* job) {
  scheduler_.post([this, job, alive = std::weak_ptr(alive_)] {
    if (alive.lock()) std::erase_if(jobs_, [job](const auto& one) { return one.get() == job; });
  });
}

void Hands::carry_out(std::vector<apply::Operation> operations, Done done) {
  if (operations.empty()) return scheduler_.post([done = std::move(done)] { done({}); });
  jobs_.push_back(std::make_unique<Work>(*this, std::move(operations), std::move(done)));
  jobs_.back()->begin();
}

void Hands::list(const std::string& api_version, const std::string& kind, std::function<void(Result<Objects>)> done) {
  jobs_.push_back(std::make_unique<Look>(*this, api_version, kind, std::move(done)));
  jobs_.back()->begin();
}

}  // namespace hookd::rehearsal
