#include "control/server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/log.h"
#include "base/time.h"
#include "control/documents.h"
#include "control/paths.h"
#include "control/places.h"
#include "control/snapshot_sender.h"

namespace hookd::control {
namespace {

constexpr char kLines[] = "application/x-ndjson";

}  // namespace

Server::Server(AsioScheduler& scheduler, std::string path, Subject subject, log::Ring& ring)
    : scheduler_(scheduler), path_(std::move(path)), desk_(std::move(subject)), ring_(ring) {}

Result<std::unique_ptr<Server>> Server::open(AsioScheduler& scheduler, const std::string& path, Subject subject,
                                             log::Ring& ring) {
  std::unique_ptr<Server> server(new Server(scheduler, path, std::move(subject), ring));
  net::HttpServerLimits limits;
  limits.body_bytes = 64u << 10;
  limits.connections = kConnections;
  limits.stream_queue_bytes = 4 * kLogQueueBytes;
  limits.refusal = [](int status, std::string_view why) {
    return net::ServerResponse{.status = status, .content_type = "application/json", .body = error_document(why)};
  };
  HOOKD_TRY(server->http_, net::HttpServer::listen(
                               scheduler, "unix:" + path,
                               [raw = server.get()](net::ServerRequest request, net::Responder respond) {
                                 raw->serve(request, respond);
                               },
                               std::move(limits)));
  return server;
}

Result<std::unique_ptr<Server>> Server::open_somewhere(AsioScheduler& scheduler,
                                                       const std::optional<std::string>& asked,
                                                       const std::string& runtime_dir, const config::EnvLookup& env,
                                                       Subject subject, log::Ring& ring) {
  if (asked && asked->empty()) return nullptr;
  if (asked) {
    const auto folder = std::filesystem::path(*asked).parent_path().string();
    if (!folder.empty()) ::mkdir(folder.c_str(), 0700);  // one that is missing for another reason shows below
    return open(scheduler, *asked, std::move(subject), ring);
  }
  std::vector<std::string> paths;
  for (const auto& folder : default_folders(env)) {
    remove_dead_sockets(folder);
    paths.push_back(folder + "/hookd.sock");
    paths.push_back(fmt::format("{}/hookd-{}.sock", folder, ::getpid()));
  }
  paths.push_back(runtime_dir + "/hookd.sock");
  std::string problems;
  for (const auto& path : paths) {
    auto server = open(scheduler, path, subject, ring);
    if (server) return server;
    problems += (problems.empty() ? "" : "; ") + server.error().what;
  }
  log::warn("no control socket: hookd status and its like will not find this daemon; `control: PATH` names a place",
            {{"error", problems}});
  return nullptr;
}

void Server::serve(const net::ServerRequest& request, const net::Responder& respond) {
  if (serve_finalizers(request, respond)) return;
  const bool logs = request.path == kLogsPath;
  if (request.method != "GET" || (!logs && request.path != kSnapshotPath)) return respond(desk_.answer(request));
  const auto query = Query::parse(request.query);
  auto sent = query ? (logs ? send_logs(*query, respond) : send_snapshot(*query, respond)) : Failure(query.error());
  if (!sent) respond(Desk::refuse(sent.error()));
}

// ---- log

Result<void> Server::send_logs(const Query& query, const net::Responder& respond) {
  HOOKD_TRY(const size_t count, query.number("lines", 100, 0, 100'000));
  const std::string hook = query.text("hook");
  if (!hook.empty()) HOOKD_CHECK(desk_.check_hook(hook));
  const bool follow_on = query.flag("follow");
  if (follow_on && followers_.size() >= kFollowers)
    return fail(Errc::kConflict, "{} readers follow the log already, more are not taken", kFollowers);
  const Mask mask = mask_of(desk_.subject().engine);
  std::string text;
  const uint64_t newest = ring_.newest();
  for (const auto& line : ring_.last(count, hook)) text += mask.apply_to_json(line.json) + "\n";
  net::ServerResponse head{.content_type = kLines, .body = std::move(text)};
  if (!follow_on) {
    respond(std::move(head));
    return {};
  }
  followers_.push_back({respond.stream(std::move(head)), hook, newest});
  if (!follow_timer_.pending()) follow_timer_ = scheduler_.after(kLogPoll, [this] { follow(); });
  return {};
}

// The log is looked at, it does not call: a line costs the same whether somebody reads along or not.
void Server::follow() {
  const Mask mask = mask_of(desk_.subject().engine);
  for (auto it = followers_.begin(); it != followers_.end();) {
    Follower& one = *it;
    std::string text;
    for (const auto& line : ring_.after(one.seen)) {
      if (line.number > one.seen + 1)
        text += fmt::format(
            "{{\"time\":\"{}\",\"level\":\"warn\",\"msg\":\"{} lines were lost here: the log was too fast\"}}\n",
            format_rfc3339(scheduler_.wall_now(), 3), line.number - one.seen - 1);
      one.seen = line.number;
      if (one.hook.empty() || line.hook == one.hook) text += mask.apply_to_json(line.json) + "\n";
    }
    const bool slow = one.stream.queued() > kLogQueueBytes;
    if (slow) {
      log::warn("a reader of the log is too slow and is cut off", {{"limit_bytes", kLogQueueBytes}});
      one.stream.cut();
    }
    // An empty write tells whether the reader is still there.
    it = !slow && one.stream.write(std::move(text)) ? std::next(it) : followers_.erase(it);
  }
  if (!followers_.empty()) follow_timer_ = scheduler_.after(kLogPoll, [this] { follow(); });
}

// ---- snapshots

namespace {

// Of what a look tells, "Deployment (apps/v1) in shop": children all have one name, their kind tells them apart.
std::string kind_of(const app::BindingLook& look) { return look.what.substr(0, look.what.find(' ')); }

bool is_called(const app::BindingLook& look, std::string_view name) {
  if (look.name == name) return true;
  if (look.name != "children") return false;
  const std::string kind = kind_of(look);
  if (!name.starts_with(kind)) return false;
  name.remove_prefix(kind.size());
  return name.empty() ||
         (name.front() == '.' && look.what.find(fmt::format("({})", name.substr(1))) != std::string::npos);
}

}  // namespace

Result<void> Server::send_snapshot(const Query& query, const net::Responder& respond) {
  HOOKD_TRY(const auto* unit, desk_.find_hook(query.text("hook")));
  const std::string binding = query.text("binding");
  auto snapshot = unit->snapshot(binding);
  if (!snapshot) {
    std::vector<std::string> names;
    for (const auto& watch : unit->hook().watches) names.push_back(watch.name);
    for (const auto& look : unit->look().bindings)
      if (look.type == "reconcile") names.push_back(look.name == "children" ? kind_of(look) : look.name);
    return fail(binding.empty() ? Errc::kInvalid : Errc::kNotFound, "{} has no watch \"{}\"; it has: {}",
                unit->hook().name, binding, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
  }
  for (const auto& look : unit->look().bindings)
    if ((look.type == "watch" || look.type == "reconcile") && is_called(look, binding) && !look.ready)
      return fail(Errc::kConflict, "the objects of {}/{} are not known yet{}{}", unit->hook().name, binding,
                  look.trouble.empty() ? "" : ": ", look.trouble);
  SnapshotSender::start(scheduler_, respond.stream({.content_type = kLines}), *std::move(snapshot),
                        mask_of(desk_.subject().engine));
  return {};
}

}  // namespace hookd::control
