#include "state/config_map_store.h"

#include "base/json_read.h"
#include "base/json_writer.h"
#include "base/log.h"

namespace hookd::state {
namespace {

// In the order in which they get their room.
constexpr std::string_view kTables[] = {"paused", "guard", "ticked", "gone", "state", "parked"};

size_t row_bytes(const std::string& key, const std::string& value) { return key.size() + value.size() + 8; }

std::string hook_of(const std::string& key) { return key.substr(0, key.find('\n')); }

// Rows of a table that fit into `room` bytes, and how many of which hook do not: whole hooks, the smallest first, as
// far as they fit; of the first that does not, its first rows.
struct Fitting {
  TableRows rows;
  std::map<std::string, size_t> left_out;  // by hook
};
Fitting fit(const TableRows& all, size_t room) {
  std::map<std::string, size_t> sizes;
  for (const auto& [key, value] : all) sizes[hook_of(key)] += row_bytes(key, value);
  std::vector<std::pair<size_t, std::string>> order;
  for (const auto& [hook, bytes] : sizes) order.emplace_back(bytes, hook);
  std::ranges::sort(order);
  std::map<std::string, size_t> shares;
  for (const auto& [bytes, hook] : order) room -= shares[hook] = std::min(bytes, room);
  Fitting fitting;
  for (const auto& [key, value] : all) {
    size_t& share = shares[hook_of(key)];
    if (row_bytes(key, value) > share) {
      ++fitting.left_out[hook_of(key)];
      share = 0;  // which ones stay does not depend on their sizes
    } else {
      share -= row_bytes(key, value);
      fitting.rows.emplace(key, value);
    }
  }
  return fitting;
}

}  // namespace

ConfigMapStore::ConfigMapStore(Scheduler& scheduler, Random& random, std::string ns, std::string name,
                               std::string holder)
    : scheduler_(scheduler),
      ns_(std::move(ns)),
      name_(std::move(name)),
      holder_(std::move(holder)),
      backoff_({.initial = std::chrono::seconds(1), .max = std::chrono::seconds(60), .factor = 2, .jitter = 0.1},
               random) {}

void ConfigMapStore::open(kube::Api& api, std::function<void()> ready) {
  api_ = &api;
  on_ready_ = std::move(ready);
  load();
}

void ConfigMapStore::close() {
  timer_.cancel();
  call_.reset();
  api_ = nullptr;
}

std::string ConfigMapStore::path() const { return fmt::format("/api/v1/namespaces/{}/configmaps/{}", ns_, name_); }

std::optional<Error> ConfigMapStore::trouble() const { return trouble_ ? trouble_ : size_trouble_; }

void ConfigMapStore::in_trouble(Error error) {
  if (!trouble_ || trouble_->what != error.what)
    log::error(ready_ ? "the state cannot be written; hookd goes on in memory and tries again"
                      : "the state cannot be read; no hook starts before that",
               {{"configMap", ns_ + "/" + name_}, {"error", error.what}});
  trouble_ = std::move(error);
}

// ---------------------------------------------------------------- reading

void ConfigMapStore::load() {
  if (api_ == nullptr) return;
  kube::ApiRequest request;
  request.path = path();
  request.retry = false;
  call_ = api_->request(std::move(request), [this](Result<kube::ApiResponse> result) { read_done(std::move(result)); });
}

void ConfigMapStore::read_done(Result<kube::ApiResponse> result) {
  // The call that runs this goes later, in a turn of its own.
  scheduler_.post([call = std::shared_ptr<kube::ApiCall>(std::move(call_))] {});
  // A page of something before the server is not a ConfigMap without data: a pause in it would be lifted.
  if (result && json_string_at(result->body, {"metadata", "resourceVersion"}).value_or("").empty())
    result = fail(Errc::kDecode, "the answer is no ConfigMap");
  const bool missing =
      !result && result.error().code == Errc::kNotFound && result.error().reason != "NamespaceNotFound";
  if (!result && !missing) {
    in_trouble(result.error().with(fmt::format("state.configMap {}/{}", ns_, name_)));
    timer_ = scheduler_.after(backoff_.next(), [this] { load(); });
    return;
  }
  if (!ready_) backoff_.reset();  // else the write that follows tells whether it goes on
  trouble_.reset();
  take_over(missing ? std::string() : result->body, !ready_);
  if (ready_) return;
  ready_ = true;
  // The first write tells other daemons that this one has it now, and shows at once whether it may write.
  dirty_ = true;
  write();
  if (const auto tell = std::exchange(on_ready_, nullptr)) tell();
}

// `object` "" = it is not there.
void ConfigMapStore::take_over(const std::string& object, bool first) {
  version_ = json_string_at(object, {"metadata", "resourceVersion"}).value_or("");
  const std::string held = json_string_at(object, {"metadata", "annotations", kHolder}).value_or("");
  if (first) {
    seen_holder_ = held;
    size_t bad = 0;
    for (const std::string_view table : kTables)
      if (const auto text = json_string_at(object, {"data", table}))
        tables_[std::string(table)] = rows_from_text(*text, bad);
    if (bad > 0)
      log::error("lines of the state were not understood and are left out",
                 {{"configMap", ns_ + "/" + name_}, {"lines", bad}});
    log::info("state read", {{"configMap", ns_ + "/" + name_}, {"before", held}});
    return;
  }
  if (held == holder_ || held == seen_holder_ || held.empty()) return write();  // people changed it, or it was deleted
  lost_ = true;
  in_trouble(Error{Errc::kConflict,
                   fmt::format("state.configMap {}/{} is held by another hookd now ({}); this one writes nothing to it "
                               "any more; give each daemon a ConfigMap of its own, or end one of them",
                               ns_, name_, held),
                   0,
                   {},
                   {}});
}

Result<std::optional<std::string>> ConfigMapStore::read(std::string_view table, std::string_view key) const {
  const auto rows = tables_.find(table);
  if (rows == tables_.end()) return std::nullopt;
  const auto row = rows->second.find(key);
  return row == rows->second.end() ? std::optional<std::string>() : row->second;
}

Result<void> ConfigMapStore::each(std::string_view table, std::string_view key_prefix,
                                  const std::function<void(std::string_view, std::string_view)>& visit) const {
  const auto rows = tables_.find(table);
  if (rows == tables_.end()) return {};
  for (auto row = rows->second.lower_bound(key_prefix); row != rows->second.end(); ++row) {
    if (!row->first.starts_with(key_prefix)) break;
    visit(row->first, row->second);
  }
  return {};
}

// ---------------------------------------------------------------- writing

void ConfigMapStore::put(std::string_view table, std::string_view key, std::string_view value) {
  auto& rows = tables_[std::string(table)];
  const auto [row, fresh] = rows.try_emplace(std::string(key), value);
  if (!fresh) {
    if (row->second == value) return;
    row->second = value;
  }
  changed(table);
}

void ConfigMapStore::erase(std::string_view table, std::string_view key) {
  const auto rows = tables_.find(table);
  if (rows == tables_.end()) return;
  const auto row = rows->second.find(key);
  if (row == rows->second.end()) return;
  rows->second.erase(row);
  changed(table);
}

void ConfigMapStore::changed(std::string_view table) {
  if (!keeps(table)) return;
  dirty_ = true;
  changed_meanwhile_ = true;
  write_after(table == "ticked" || table == "guard" ? kLazyDebounce : kDebounce);
}

void ConfigMapStore::write_after(Duration delay) {
  if (!ready_ || lost_ || call_ || api_ == nullptr) return;
  const SteadyTime due = scheduler_.now() + delay;
  if (timer_.pending() && due_ <= due) return;
  due_ = due;
  timer_ = scheduler_.at(due, [this] { write(); });
}

void ConfigMapStore::flush() {
  // After a failure the back-off decides; every answer of a hook comes by here.
  if (dirty_ && !trouble_) write_after(Duration::zero());
}

std::string ConfigMapStore::data() {
  JsonWriter out;
  out.begin_object();
  size_t room = kMaxBytes;
  std::vector<std::string> left_out;
  for (const std::string_view table : kTables) {
    const auto found = tables_.find(table);
    std::string text;
    if (found != tables_.end()) {
      const Fitting fitting = fit(found->second, table == "parked" ? std::min(room, kMaxParkedBytes) : room);
      for (const auto& [hook, rows] : fitting.left_out)
        left_out.push_back(fmt::format("{} row(s) of `{}` of hook {}", rows, table, hook));
      text = rows_to_text(fitting.rows);
    }
    room -= std::min(room, text.size());
    if (text.empty())
      out.key(table).null();
    else
      out.key(table).string(text);
  }
  out.end_object();
  const auto before = std::exchange(size_trouble_, std::nullopt);
  if (!left_out.empty()) {
    const size_t more = left_out.size() - std::min(left_out.size(), kHooksNamed);
    left_out.resize(std::min(left_out.size(), kHooksNamed));
    size_trouble_ = Error{
        Errc::kTooLarge,
        fmt::format("state.configMap {}/{} is full ({} bytes, {} of them for parked items): in memory only and lost at "
                    "a restart are {}{}; use stateDir, keep smaller states, retry or drop what is parked",
                    ns_, name_, kMaxBytes, kMaxParkedBytes, fmt::join(left_out, ", "),
                    more > 0 ? fmt::format(", and of {} more", more) : ""),
        0,
        {},
        {}};
    if (!before) log::error("not all of the state is kept", {{"error", size_trouble_->what}});
  }
  return std::move(out).take();
}

void ConfigMapStore::write() {
  if (!dirty_ || lost_ || call_ || api_ == nullptr) return;
  timer_.cancel();
  const std::string rows = data();
  changed_meanwhile_ = false;
  kube::ApiRequest request;
  request.retry = false;
  JsonWriter body;
  body.begin_object();
  if (version_.empty()) {
    request.method = "POST";
    request.path = fmt::format("/api/v1/namespaces/{}/configmaps", ns_);
    request.content_type = "application/json";
    body.key("apiVersion").string("v1").key("kind").string("ConfigMap");
    body.key("metadata").begin_object().key("namespace").string(ns_).key("name").string(name_);
  } else {
    request.method = "PATCH";
    request.path = path();
    request.content_type = "application/merge-patch+json";
    body.key("metadata").begin_object().key("resourceVersion").string(version_);
  }
  request.query.emplace_back("fieldManager", "hookd");
  body.key("annotations").begin_object().key(kHolder).string(holder_).end_object().end_object();
  if (version_.empty()) {  // a null is for taking away: a new one has nothing to take
    JsonWriter present;
    present.begin_object();
    for (const std::string_view table : kTables)
      if (const auto text = json_string_at(rows, {table})) present.key(table).string(*text);
    present.end_object();
    body.key("data").raw(std::move(present).take());
  } else {
    body.key("data").raw(rows);
  }
  request.body = std::move(body.end_object()).take();
  call_ = api_->request(std::move(request), [this](Result<kube::ApiResponse> result) { written(std::move(result)); });
}

void ConfigMapStore::written(Result<kube::ApiResponse> result) {
  scheduler_.post([call = std::shared_ptr<kube::ApiCall>(std::move(call_))] {});
  if (result) {
    if (trouble_) log::info("the state can be written again", {{"configMap", ns_ + "/" + name_}});
    trouble_.reset();
    backoff_.reset();
    version_ = json_string_at(result->body, {"metadata", "resourceVersion"}).value_or(version_);
    seen_holder_ = holder_;
    dirty_ = changed_meanwhile_;
    if (dirty_) write_after(kDebounce);
    return;
  }
  const Errc code = result.error().code;
  // 404 of a PATCH: somebody deleted it; of a POST: the namespace is missing.
  if (code == Errc::kConflict || code == Errc::kExists || (code == Errc::kNotFound && !version_.empty()))
    return conflict();
  in_trouble(result.error().with(fmt::format("state.configMap {}/{}", ns_, name_)));
  due_ = scheduler_.now() + backoff_.next();
  timer_ = scheduler_.at(due_, [this] { write(); });
}

// A conflict at each try would be a busy loop: read again after the back-off, the first time at once.
void ConfigMapStore::conflict() {
  const Duration wait = backoff_.failures() == 0 ? Duration::zero() : backoff_.next();
  if (backoff_.failures() == 0) backoff_.next();
  due_ = scheduler_.now() + wait;
  timer_ = scheduler_.at(due_, [this] { load(); });
}

}  // namespace hookd::state
