#include "trigger/missed_deletions.h"

#include "apply/outcome.h"
#include "apply/task.h"
#include "base/json_read.h"
#include "base/log.h"

namespace hookd::trigger {

std::pair<std::string, std::string> split_object_key(const std::string& key) {
  const size_t slash = key.find('/');
  if (slash == std::string::npos) return {"", key};
  return {key.substr(0, slash), key.substr(slash + 1)};
}

MissedDeletions::MissedDeletions(KnownObjects& known, kube::Api& api, Scheduler& scheduler, Seams seams)
    : known_(known), api_(api), scheduler_(scheduler), seams_(std::move(seams)) {}

void MissedDeletions::start() {
  timer_ = scheduler_.after(Duration{0}, [this] { scan(); });
}

void MissedDeletions::scan() {
  std::vector<Row> rows;
  const bool more = known_.next_page(rows);
  for (Row& row : rows) {
    switch (seams_.look(row)) {
      case Now::kHere:
      case Now::kTold:
        break;
      case Now::kOut:
        ++told_;
        seams_.tell(row);
        break;
      case Now::kMissing:
        missing_.push_back(std::move(row));
        break;
    }
  }
  if (more) return start();
  scanned_ = true;
  next();
}

void MissedDeletions::next() {
  const bool believed = confirmed_ >= kAsked && !doubtful_;
  for (size_t count = 0; !missing_.empty(); ++count) {
    if (count == kSlice) {
      timer_ = scheduler_.after(Duration{0}, [this] { next(); });
      return;
    }
    // Meanwhile it may have been told (a namesake came), or come back.
    const Now now = seams_.look(missing_.front());
    if (now == Now::kHere || now == Now::kTold) {
      missing_.pop_front();
      continue;
    }
    if (!believed && now == Now::kMissing) return ask(missing_.front());
    settle_front(true);
  }
  done_ = true;
  if (told_ > 0)
    log::info("objects went while hookd was down, their deletions are told",
              {{"hook", seams_.hook}, {"binding", seams_.binding}, {"objects", told_}});
}

void MissedDeletions::settle_front(bool gone) {
  const Row row = std::move(missing_.front());
  missing_.pop_front();
  // While the server was asked it may have been told (a namesake came) or listed: that is newer than the answer.
  const Now now = seams_.look(row);
  if (now == Now::kHere || now == Now::kTold) return;
  if (!gone) return known_.forget(row.object, row.uid);
  ++told_;
  seams_.tell(row);
}

void MissedDeletions::ask(const Row& row) {
  const auto type = seams_.type();
  if (!type) {
    timer_ = scheduler_.after(kAskAgain, [this] { next(); });
    return;
  }
  const auto [ns, name] = split_object_key(row.object);
  kube::ApiRequest request;
  request.path = apply::object_path(*type, ns, name);
  request.accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
  call_ = api_.request(std::move(request), [this](Result<kube::ApiResponse> result) {
    scheduler_.post([call = std::shared_ptr<kube::ApiCall>(std::move(call_))] {});
    answered(std::move(result));
  });
}

void MissedDeletions::answered(Result<kube::ApiResponse> result) {
  const Row& row = missing_.front();
  const auto uid = result ? json_string_at(result->body, {"metadata", "uid"}) : std::nullopt;
  // A 200 from something before the server (a login page, a truncated body) says nothing of the object.
  if (result && !uid) result = fail(Errc::kDecode, "the answer is no object");
  bool gone = true;
  if (result) {
    gone = *uid != row.uid || !seams_.matches(result->body);
    if (!gone) {
      doubtful_ = true;
      log::warn("an object is not in the list, but there: it is not told as deleted",
                {{"hook", seams_.hook}, {"binding", seams_.binding}, {"object", row.object}});
    }
  } else {
    const Error& error = result.error();
    const bool no_such_object = error.code == Errc::kNotFound && !apply::is_unserved_type(error);
    if (!no_such_object && error.code != Errc::kForbidden) {
      log::warn("cannot see whether an object went while hookd was down, will ask again",
                {{"hook", seams_.hook}, {"binding", seams_.binding}, {"object", row.object}, {"error", error.what}});
      timer_ = scheduler_.after(kAskAgain, [this] { next(); });
      return;
    }
  }
  if (gone) ++confirmed_;
  settle_front(gone);
  next();
}

}  // namespace hookd::trigger
