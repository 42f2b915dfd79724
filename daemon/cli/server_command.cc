// `hookd play --server-only`: the embedded API server alone, until a signal. For tests with kubectl and for looking
// around.
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdio>
#include <ranges>

#include "base/fd.h"
#include "base/json_read.h"
#include "cli/cli.h"
#include "config/yaml_source.h"
#include "embedded/resources/resource.h"
#include "embedded/server.h"
#include "embedded/server_state.h"
#include "embedded/socket.h"

namespace hookd::cli {
namespace {

// Keeps one answer.
struct Kept final : embedded::ReplySink {
  void whole(embedded::ReplyHead head, std::string text) override {
    status = head.status;
    body = std::move(text);
  }
  void begin(embedded::ReplyHead) override {}
  void write(std::string) override {}
  void end() override {}
  void cut() override {}
  int status = 0;
  std::string body;
};

Result<void> create(embedded::ApiServer& server, const std::string& text) {
  const auto field = [&](std::initializer_list<std::string_view> path) {
    return json_string_at(text, path).value_or("");
  };
  const auto version = field({"apiVersion"}), kind = field({"kind"}), name = field({"metadata", "name"});
  const auto slash = version.find('/');
  const auto resource =
      server.state().world.registry.find_kind(slash == std::string::npos ? "" : version.substr(0, slash),
                                              slash == std::string::npos ? version : version.substr(slash + 1), kind);
  if (!resource) return fail(Errc::kConfig, "{} {} {}: no such kind", version, kind, name);
  auto ns = field({"metadata", "namespace"});
  if (ns.empty()) ns = "default";
  embedded::Request request;
  request.method = "POST";
  request.path = fmt::format("{}/{}/{}{}", resource->group.empty() ? "/api" : "/apis/" + resource->group,
                             resource->version, resource->namespaced ? "namespaces/" + ns + "/" : "", resource->plural);
  request.body = text;
  request.headers = {{"content-type", "application/json"}, {"user-agent", "hookd/load"}};
  const auto sink = std::make_shared<Kept>();
  const auto exchange = server.handle(std::move(request), sink);
  if (sink->status != 201)
    return fail(Errc::kConfig, "{} {}: {}", kind, name, json_string_at(sink->body, {"message"}).value_or(sink->body));
  return {};
}

Result<void> load(embedded::ApiServer& server, boost::asio::io_context& context, const std::string& file) {
  config::YamlLimits limits;
  limits.bytes = size_t{256} << 20;
  limits.values = 50'000'000;
  HOOKD_TRY(const std::string text, read_named_file(file, limits.bytes));
  HOOKD_TRY(const auto documents, config::yaml_to_json(text, file, limits));
  for (const auto& document : documents) {
    if (auto done = create(server, document); !done) return fail(done.error().with(file));
    context.poll();  // a CRD's kind is served when the control loops have seen it
  }
  return {};
}

// The form of kube-apiserver's --token-auth-file: token,user,uid,"group,group".
Result<void> add_users(embedded::ApiServer& server, const std::string& file) {
  HOOKD_TRY(const std::string text, read_named_file(file));
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"')
        quoted = !quoted;
      else if (c == ',' && !quoted)
        fields.emplace_back();
      else if (c != '\r')
        fields.back() += c;
    }
    if (fields.size() < 3 || fields[0].empty() || fields[1].empty() || quoted)
      return fail(Errc::kConfig, "{}:{}: expected TOKEN,USER,UID,\"GROUP,GROUP\"", file, number);
    std::vector<std::string> groups{"system:authenticated"};
    if (fields.size() > 3)
      for (const auto part : std::views::split(fields[3], ','))
        if (!std::ranges::empty(part)) groups.emplace_back(part.begin(), part.end());
    server.add_token(fields[0], fields[1], std::move(groups));
  }
  return {};
}

}  // namespace

int run_server(const PlayOptions& options) {
  boost::asio::io_context context;
  AsioScheduler scheduler(context);
  SystemRandom random;
  const auto wrong = [](const Error& error) {
    fmt::print(stderr, "hookd play: {}\n", error.what);
    return 2;
  };
  embedded::ApiServer server(scheduler, random, {});
  auto socket = embedded::Socket::listen(server, scheduler, {fmt::format("127.0.0.1:{}", options.port), true});
  if (!socket) return wrong(socket.error());
  for (const auto& file : options.load)
    if (auto done = load(server, context, file); !done) return wrong(done.error());
  if (!options.tokens.empty())
    if (auto done = add_users(server, options.tokens); !done) return wrong(done.error());
  const auto file = options.kubeconfig.empty() ? std::string("kubeconfig") : options.kubeconfig;
  if (auto done = write_file(file, (*socket)->kubeconfig(server.admin_token())); !done) return wrong(done.error());
  fmt::print(stderr, "ready: {}, kubeconfig {}\n", (*socket)->url(), file);
  boost::asio::signal_set signals(context, SIGTERM, SIGINT);
  signals.async_wait([&](const boost::system::error_code&, int) { context.stop(); });
  context.restart();
  context.run();
  return 0;
}

}  // namespace hookd::cli
