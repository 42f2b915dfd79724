#include "rehearsal/world.h"

#include "base/fd.h"
#include "hook/environment.h"
#include "rehearsal/post.h"

namespace hookd::rehearsal {
namespace {

// What `fail: {api: …}` asks for is meant for hookd and its hooks, not for the steps of the test itself.
class WithoutFaults final : public net::HttpTransport {
 public:
  explicit WithoutFaults(net::HttpTransport& inner) : inner_(inner) {}
  std::unique_ptr<net::HttpCall> start(net::HttpRequest request, net::HttpHandlers handlers) override {
    request.headers.emplace_back("X-Hookd-Faults", "none");
    return inner_.start(std::move(request), std::move(handlers));
  }

 private:
  net::HttpTransport& inner_;
};

}  // namespace

World::World(WorldServices services, WorldOptions options)
    : services_(services),
      options_(std::move(options)),
      server_(services.scheduler, services.random, {}),
      transport_(server_, services.scheduler),
      hands_transport_(std::make_unique<WithoutFaults>(transport_)),
      hook_transport_(services.real),
      slow_posts_(services.real) {}

World::~World() = default;

Result<std::unique_ptr<World>> World::make(WorldServices services, WorldOptions options) {
  std::unique_ptr<World> world(new World(services, std::move(options)));
  HOOKD_CHECK(world->open());
  return world;
}

Result<void> World::open() {
  HOOKD_TRY(socket_, embedded::Socket::listen(server_, services_.real, {.address = options_.address}));
  HOOKD_CHECK(write_file(options_.kubeconfig_file, socket_->kubeconfig(server_.admin_token())));
  HOOKD_CHECK(write_file(options_.runtime_dir + "/source-secret", kRehearsalSecret));
  HOOKD_TRY(posts_,
            net::HttpServer::listen(
                services_.real, options_.listen, [this](net::ServerRequest request, const net::Responder& respond) {
                  post_on_the_way_ = false;
                  if (routes_.serve(request, respond)) return;
                  respond({.status = 404, .body = "no source of a hook takes requests at this path\n"});
                }));
  const std::string host = options_.listen.substr(0, options_.listen.rfind(':'));
  const bool every = host.empty() || host == "0.0.0.0" || host == "[::]";
  post_url_ = fmt::format("http://{}:{}", every ? "127.0.0.1" : host, posts_->port());
  hands_ =
      std::make_unique<Hands>(*hands_transport_, connection(), services_.scheduler, services_.random, options_.name);
  return {};
}

kube::ConnectionConfig World::connection() const {
  kube::ConnectionConfig config;
  config.server = socket_->url();
  config.host_is_loopback = true;
  config.ca.pem = socket_->ca_pem();
  config.token = server_.admin_token();
  config.disable_compression = true;
  return config;
}

Result<void> World::load_hooks() {
  app::EngineOptions options;
  options.strict = true;
  options.kube.qps = 0;
  options.runtime_dir = options_.runtime_dir;
  options.load = [this] { return load(); };
  options.faults = &hook_faults_;
  options.observer = options_.observer;
  options.sources = options_.sources;
  options.metacontroller = options_.metacontroller;
  options.environment = hook::own_environment();
  engine_ = std::make_unique<app::Engine>(
      app::EngineServices{services_.scheduler, services_.random, transport_, services_.launcher, metrics_, store_,
                          &routes_, options_.paths, &hook_transport_},
      connection(), std::move(options));
  if (engine_->load()) return {};
  std::string problems;
  for (const auto& error : engine_->load_errors()) problems += (problems.empty() ? "" : "\n") + error.text();
  return fail(Errc::kConfig, "{}", problems);
}

hook::LoadResult World::load() const {
  return with_secrets_for_rehearsal(options_.load(), options_.runtime_dir + "/source-secret");
}

std::unique_ptr<net::HttpCall> World::post(net::HttpRequest request, net::HttpHandlers handlers, bool answer_waits) {
  if (!answer_waits) return hook_transport_.start(std::move(request), std::move(handlers));
  post_on_the_way_ = true;
  handlers.on_done = [this, on_done = std::move(handlers.on_done)](Result<void> done) {
    post_on_the_way_ = false;
    on_done(std::move(done));
  };
  return slow_posts_.start(std::move(request), std::move(handlers));
}

std::vector<World::Receiver> World::receivers() const {
  std::vector<Receiver> all;
  if (!engine_) return all;
  for (const hook::Hook* hook : engine_->hooks())
    for (const auto& source : hook->sources)
      if (!source.http.empty()) all.push_back({hook, &source});
  return all;
}

void World::start_hooks() { engine_->start(); }

Result<void> World::restart_hooks() {
  engine_.reset();
  HOOKD_CHECK(load_hooks());
  start_hooks();
  return {};
}

size_t World::worker_calls() const {
  size_t work = 0;
  if (engine_)
    for (const auto& [name, unit] : engine_->units())
      for (const hook::Caller* caller : unit->callers()) work += caller->at_work();
  return work;
}

}  // namespace hookd::rehearsal
