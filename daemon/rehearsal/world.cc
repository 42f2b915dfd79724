#include "rehearsal/world.h"

#include "base/fd.h"
#include "hook/environment.h"

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
      hook_transport_(services.real) {}

World::~World() = default;

Result<std::unique_ptr<World>> World::make(WorldServices services, WorldOptions options) {
  std::unique_ptr<World> world(new World(services, std::move(options)));
  HOOKD_CHECK(world->open());
  return world;
}

Result<void> World::open() {
  HOOKD_TRY(socket_, embedded::Socket::listen(server_, services_.real, {.address = options_.address}));
  HOOKD_CHECK(write_file(options_.kubeconfig_file, socket_->kubeconfig(server_.admin_token())));
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
  options.load = options_.load;
  options.observer = options_.observer;
  options.sources = options_.sources;
  options.metacontroller = options_.metacontroller;
  options.environment = hook::own_environment();
  engine_ = std::make_unique<app::Engine>(
      app::EngineServices{services_.scheduler, services_.random, transport_, services_.launcher, metrics_, store_,
                          nullptr, options_.paths, &hook_transport_},
      connection(), std::move(options));
  if (engine_->load()) return {};
  std::string problems;
  for (const auto& error : engine_->load_errors()) problems += (problems.empty() ? "" : "\n") + error.text();
  return fail(Errc::kConfig, "{}", problems);
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
