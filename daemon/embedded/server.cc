#include "embedded/server.h"

#include <fmt/format.h>

#include "embedded/impersonation.h"
#include "embedded/server_state.h"
#include "embedded/verbs/dispatch.h"
#include "embedded/wire/base64url.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {

// In front of every sink: nothing comes after the end, and a fault may cut the answer or lose it.
class ApiServer::State::Sink final : public ReplySink {
 public:
  Sink(Scheduler& scheduler, std::shared_ptr<ReplySink> to) : scheduler_(scheduler), to_(std::move(to)) {}

  void whole(ReplyHead head, std::string body) override {
    if (over_) return;
    over_ = true;
    if (lose_)
      to_->cut();
    else
      to_->whole(never_cached(std::move(head)), std::move(body));
  }
  void begin(ReplyHead head) override {
    if (over_) return;
    begun_ = true;
    head = never_cached(std::move(head));
    to_->begin(std::move(head));
    if (lose_) cut_ = scheduler_.after(Duration(0), [this] { cut(); });
  }
  void write(std::string bytes) override {
    if (!over_ && !muted_) to_->write(std::move(bytes));
  }
  void end() override {
    if (over_) return;
    over_ = true;
    to_->end();
  }
  void cut() override {
    if (over_) return;
    over_ = true;
    to_->cut();
  }

  void lose() { lose_ = true; }   // the connection breaks instead of the answer, or soon after a stream has begun
  void mute() { muted_ = true; }  // as when the network loses every packet: the stream stays open
  bool begun() const { return begun_; }
  bool over() const { return over_; }

 private:
  // Unless the answer itself says otherwise.
  static ReplyHead never_cached(ReplyHead head) {
    const auto told = [](const auto& header) { return header.first == "Cache-Control"; };
    if (std::ranges::none_of(head.headers, told)) head.headers.emplace_back("Cache-Control", "no-cache, private");
    return head;
  }
  Scheduler& scheduler_;
  std::shared_ptr<ReplySink> to_;
  Timer cut_;
  bool over_ = false, lose_ = false, begun_ = false, muted_ = false;
};

namespace {

// The request waits, then has an exchange of its own.
class Delayed final : public Exchange {
 public:
  Delayed(size_t& count, Scheduler& scheduler, Duration latency,
          std::move_only_function<std::unique_ptr<Exchange>()> then)
      : count_(count), then_(std::move(then)) {
    ++count_;
    timer_ = scheduler.after(latency, [this] {
      started();
      inner_ = then_();
    });
  }
  ~Delayed() override { started(); }

 private:
  void started() {
    if (std::exchange(waiting_, false)) --count_;
  }
  size_t& count_;
  std::move_only_function<std::unique_ptr<Exchange>()> then_;
  bool waiting_ = true;
  std::unique_ptr<Exchange> inner_;
  Timer timer_;
};

// A watch that the server knows of while it runs.
class Tracked final : public Exchange {
 public:
  Tracked(std::function<void()> gone, std::unique_ptr<Exchange> inner)
      : gone_(std::move(gone)), inner_(std::move(inner)) {}
  ~Tracked() override { gone_(); }

 private:
  std::function<void()> gone_;
  std::unique_ptr<Exchange> inner_;
};

StatusError status_of_fault(const Fault& fault) {
  const auto with_retry = [&](StatusError error) {
    if (fault.retry_after_seconds > 0) error.details["retryAfterSeconds"] = fault.retry_after_seconds;
    return error;
  };
  switch (fault.status) {
    case 400:
      return bad_request("refused by a fault");
    case 401:
      return unauthorized();
    case 403:
      return forbidden({}, "refused by a fault");
    case 404:
      return path_not_found();
    case 409:
      return with_retry({409, "Conflict",
                         "Operation cannot be fulfilled: the object has been modified; please apply your changes to "
                         "the latest version and try again"});
    case 410:
      return expired("too old resource version: refused by a fault");
    case 429:
      return with_retry({429, "TooManyRequests", "Too many requests, please try again later.", {}, true});
    case 500:
      return with_retry(internal_error("a fault"));
    case 503:
      return with_retry({503, "ServiceUnavailable", "the server is currently unable to handle the request", {}, true});
    case 504:
      return with_retry({504, "Timeout", "Timeout: request did not complete within the allotted timeout", {}, true});
    default:
      return with_retry({fault.status, "Unknown", fmt::format("refused by a fault with {}", fault.status), {}, true});
  }
}

bool open_to_all(std::string_view path) {
  for (const std::string_view one : {"/healthz", "/livez", "/readyz"})
    if (path == one || (path.starts_with(one) && path.size() > one.size() && path[one.size()] == '/')) return true;
  return path == "/version" || path == "/version/";
}

AccessQuestion question_of(const Target& target) {
  AccessQuestion question;
  question.verb = target.verb;
  if (target.resource_path) {
    question.group = target.group;
    question.resource = target.resource;
    question.subresource = target.subresource;
    question.ns = target.ns;
    question.name = target.name;
  } else {
    question.path = target.path;
  }
  return question;
}

bool admin(const User& user) {
  return std::find(user.groups.begin(), user.groups.end(), "system:masters") != user.groups.end();
}

}  // namespace

ApiServer::State::State(Scheduler& scheduler, Random& random, ServerOptions options)
    : world(scheduler, random), options_(options) {
  world.authorize = options.authorize;
  world.authenticate = [this](std::string_view token) { return user_of(token); };
  world.issue_token = [this](User user, WallTime until) {
    // It looks like the JWT of a service account, and is only known by its text.
    const auto part = [](const json::object& object) { return base64url_encode(to_text(object)); };
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(until.time_since_epoch()).count();
    return add_token(user, until,
                     part({{"alg", "none"}, {"kid", "hookd"}}) + "." +
                         part({{"iss", "https://kubernetes.default.svc"}, {"sub", user.name}, {"exp", seconds}}) + ".");
  };
  world.crds_changed = [this] {
    if (loops) loops->crds_changed();
  };
  add_builtin_resources(world.registry);
  add_startup_objects(world);
  admin_token = add_token(User{}, std::nullopt, "");
  writer = std::make_unique<ServerWriter>(world);
  loops = std::make_unique<control::Loops>(scheduler, world.store, world.registry, *writer, control::Options{});
}

std::string ApiServer::State::add_token(User user, std::optional<WallTime> until, std::string prefix) {
  std::string bytes;
  for (int i = 0; i < 3; ++i) {
    const auto bits = world.random.bits();
    bytes.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  }
  auto token = prefix + base64url_encode(bytes);
  const auto now = world.scheduler.wall_now();
  std::erase_if(tokens_, [&](const auto& entry) { return entry.second.until && *entry.second.until <= now; });
  tokens_[token] = {std::move(user), until};
  return token;
}

std::optional<User> ApiServer::State::user_of(std::string_view token) const {
  const auto found = tokens_.find(token);
  if (found == tokens_.end()) return std::nullopt;
  const auto& [user, until] = found->second;
  if (!until) return user;
  if (*until <= world.scheduler.wall_now()) return std::nullopt;
  // One that was issued holds no longer than its service account.
  const auto account = account_of(user.name);
  const auto stored = account ? world.store.get("serviceaccounts", account->first, account->second) : nullptr;
  if (!stored || stored->uid != user.uid) return std::nullopt;
  return user;
}

void ApiServer::State::set_ca(std::string pem) {
  control::Options options;
  options.ca_certificate = std::move(pem);
  loops.reset();
  loops = std::make_unique<control::Loops>(world.scheduler, world.store, world.registry, *writer, std::move(options));
}

void ApiServer::State::cut_watches() {
  for (const auto& [id, weak] : std::map(watches))
    if (const auto sink = weak.lock()) sink->cut();
  watches.clear();
}

void ApiServer::State::mute_watches() {
  for (const auto& [id, weak] : watches)
    if (const auto sink = weak.lock()) sink->mute();
}

Answer<void> ApiServer::State::authenticate(Request& request, const Target& target) const {
  if (const auto header = request.header("authorization"); !header.empty()) {
    auto space = header.find(' ');
    std::string scheme(header.substr(0, space));
    for (auto& c : scheme) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (scheme != "bearer" || space == std::string_view::npos) return refuse(unauthorized());
    auto token = header.substr(space);
    token.remove_prefix(std::min(token.find_first_not_of(' '), token.size()));
    const auto user = user_of(token);
    if (!user) return refuse(unauthorized());
    request.user = *user;
  }
  if (request.user.name.empty()) {
    if (!open_to_all(target.path)) return refuse(unauthorized());
    request.user = {"system:anonymous", {"system:unauthenticated"}};
    return {};
  }
  auto other = impersonated(world, request, question_of(target));
  if (!other) return refuse(other.error());
  if (*other) request.user = **std::move(other);
  return {};
}

Answer<void> ApiServer::State::authorize(const Request& request, const Target& target) const {
  if (!options_.authorize || admin(request.user) || open_to_all(target.path)) return {};
  const auto question = question_of(target);
  if (world.rbac.ask(request.user, question).allowed) return {};
  return refuse(access_denied(request.user, question));
}

std::unique_ptr<Exchange> ApiServer::State::handle(Request request, std::shared_ptr<ReplySink> to) {
  auto sink = std::make_shared<Sink>(world.scheduler, std::move(to));
  auto target = parse_target(request);
  if (!target) {
    Reply reply{request, sink};
    reply.plain(target.error().code, target.error().message + "\n");
    return nullptr;
  }
  Fault fault;
  // The steps of a test are not what its faults are meant for.
  if (!target->path.starts_with("/hookd/") && request.header("x-hookd-faults") != "none")
    if (auto found =
            faults.take({request.method, target->path, target->verb, target->resource, target->ns, target->name}))
      fault = *found;
  if (fault.latency > Duration(0)) {
    auto kept = std::make_shared<Request>(std::move(request));
    return std::make_unique<Delayed>(delayed, world.scheduler, fault.latency, [this, kept, sink, target, fault] {
      return answer(std::move(*kept), sink, *target, fault);
    });
  }
  return answer(std::move(request), sink, *target, fault);
}

std::unique_ptr<Exchange> ApiServer::State::answer(Request request, const std::shared_ptr<Sink>& sink,
                                                   const Target& target, const Fault& fault) {
  if (fault.status > 0) {
    Reply{request, sink}.error(status_of_fault(fault));
    return nullptr;
  }
  const bool watch = target.verb == "watch";
  if (fault.cut && !watch) {
    sink->cut();
    return nullptr;
  }
  if (fault.cut || fault.apply_then_cut) sink->lose();
  auto exchange = route(request, sink, target, {fault.no_bookmarks, fault.silent});
  if (!exchange) return nullptr;
  const auto id = ++last_watch;
  watches.emplace(id, sink);
  return std::make_unique<Tracked>([this, id, sink] { watches.erase(id); }, std::move(exchange));
}

std::unique_ptr<Exchange> ApiServer::State::route(Request& request, const std::shared_ptr<Sink>& sink,
                                                  const Target& target, const WatchFaults& watch_faults) {
  Reply reply{request, sink};
  if (auto done = authenticate(request, target); !done) {
    reply.error(done.error());
    return nullptr;
  }
  if (auto done = authorize(request, target); !done) {
    reply.error(done.error());
    return nullptr;
  }
  if (target.resource_path) return serve_resource(world, request, target, sink, watch_faults);
  if (!serve_document(*this, request, target, sink)) {
    // "/apis/apps/v9": a version that a group of the server itself does not have
    const auto in_group = target.path.starts_with("/apis/") ? target.path.find('/', 6) : std::string::npos;
    const bool of_builtin_group =
        in_group != std::string::npos && std::ranges::any_of(world.registry.all(), [&](const ResourcePtr& resource) {
          return !resource->custom && resource->group == std::string_view(target.path).substr(6, in_group - 6);
        });
    if (target.path.starts_with("/api/") || of_builtin_group)
      reply.error(path_not_found());
    else
      reply.plain(404, "404 page not found\n");
  }
  return nullptr;
}

ApiServer::ApiServer(Scheduler& scheduler, Random& random, ServerOptions options)
    : state_(std::make_unique<State>(scheduler, random, options)) {}
ApiServer::~ApiServer() = default;

std::unique_ptr<Exchange> ApiServer::handle(Request request, std::shared_ptr<ReplySink> sink) {
  return state_->handle(std::move(request), std::move(sink));
}

std::string ApiServer::add_user(std::string name, std::vector<std::string> groups) {
  return state_->add_token({std::move(name), std::move(groups)}, std::nullopt, "");
}
void ApiServer::add_token(std::string token, std::string name, std::vector<std::string> groups) {
  state_->set_token(std::move(token), {std::move(name), std::move(groups)});
}
const std::string& ApiServer::admin_token() const { return state_->admin_token; }
void ApiServer::mute_watches() { state_->mute_watches(); }
Faults& ApiServer::faults() { return state_->faults; }
Store::Subscription ApiServer::on_change(Store::Listener listener) {
  return state_->world.store.subscribe("", std::move(listener));
}
uint64_t ApiServer::revision() const { return state_->world.store.revision(); }
bool ApiServer::settled() const { return state_->delayed == 0 && state_->loops->settled(); }

}  // namespace hookd::embedded
