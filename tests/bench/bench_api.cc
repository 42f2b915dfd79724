// Writes and watch events a second of one API server, from one client with many requests in flight:
//   bench_api KUBECONFIG NAMESPACE [OBJECTS] [IN_FLIGHT] [WATCHERS]
// ConfigMaps are created, changed by merge patches while WATCHERS watches of the namespace listen, listed, deleted.
// Prints one line a measure, "name value", for bench_embedded.py. The namespace must exist.
#include <boost/asio/io_context.hpp>
#include <cstdlib>

#include "base/json_read.h"
#include "kube/rest_client.h"
#include "net/curl_transport.h"

namespace {

using namespace hookd;

class Load {
 public:
  Load(kube::ConnectionConfig config, std::string ns, int objects, int in_flight)
      : transport_(scheduler_),
        credentials_(config, scheduler_),
        client_(transport_, credentials_, config, scheduler_, {0, 0}),
        path_("/api/v1/namespaces/" + ns + "/configmaps"),
        objects_(objects),
        in_flight_(in_flight) {}

  bool run(int watchers) {
    if (!each("creates", [this](int i) {
          kube::ApiRequest request;
          request.method = "POST";
          request.path = path_;
          request.content_type = "application/json";
          request.body =
              fmt::format(R"({{"metadata":{{"name":"bench-{}","labels":{{"app":"bench"}}}},"data":{{"n":"0"}}}})", i);
          return request;
        }))
      return false;
    if (!listen(watchers)) return false;
    const auto begin = scheduler_.now();
    const auto patch = [this](int i) {
      kube::ApiRequest request;
      request.method = "PATCH";
      request.path = fmt::format("{}/bench-{}", path_, i);
      request.content_type = "application/merge-patch+json";
      request.body = fmt::format(R"({{"data":{{"n":"{}"}}}})", ++changes_);
      return request;
    };
    if (!each("patches", patch)) return false;
    const size_t wanted = static_cast<size_t>(watchers) * static_cast<size_t>(objects_);
    if (!until([&] { return events_ >= wanted || failed_; })) return false;
    report("watch_events", static_cast<double>(wanted) / seconds_since(begin));
    watches_.clear();
    if (!each("gets", [this](int i) { return get(fmt::format("{}/bench-{}", path_, i)); })) return false;
    return each("deletes", [this](int i) {
      auto request = get(fmt::format("{}/bench-{}", path_, i));
      request.method = "DELETE";
      return request;
    });
  }

 private:
  static kube::ApiRequest get(std::string path) {
    kube::ApiRequest request;
    request.path = std::move(path);
    request.retry = false;
    return request;
  }
  static void report(std::string_view name, double a_second) { fmt::print("{} {:.1f}\n", name, a_second); }
  double seconds_since(SteadyTime begin) const {
    return std::chrono::duration<double>(scheduler_.now() - begin).count();
  }
  template <class Predicate>
  bool until(Predicate done) {
    context_.restart();
    while (!done() && context_.run_one() != 0) {
    }
    if (failed_) fmt::print(stderr, "bench_api: {}\n", failed_->what);
    return !failed_;
  }

  bool each(std::string_view name, const std::function<kube::ApiRequest(int)>& make) {
    const auto begin = scheduler_.now();
    int next = 0, done = 0;
    std::vector<std::unique_ptr<kube::ApiCall>> slots(static_cast<size_t>(in_flight_));
    std::function<void(size_t)> start = [&](size_t slot) {
      if (next == objects_ || failed_) return;
      slots[slot] = client_.request(make(next++), [&, slot](Result<kube::ApiResponse> answer) {
        if (!answer) failed_ = answer.error();
        ++done;
        scheduler_.post([&start, slot] { start(slot); });
      });
    };
    for (size_t slot = 0; slot < slots.size(); ++slot) start(slot);
    if (!until([&] { return done == objects_ || failed_; })) return false;
    report(name, objects_ / seconds_since(begin));
    context_.poll();
    return true;
  }

  // Each from the newest version of its own list, so that only the changes to come are told.
  bool listen(int watchers) {
    std::string version;
    auto list = client_.request(get(path_ + "?limit=1"), [&](Result<kube::ApiResponse> answer) {
      if (!answer)
        failed_ = answer.error();
      else
        version = json_string_at(answer->body, {"metadata", "resourceVersion"}).value_or("0");
    });
    if (!until([&] { return !version.empty() || failed_; })) return false;
    int open = 0;
    for (int i = 0; i < watchers; ++i) {
      auto request = get(path_);
      request.query = {{"watch", "1"}, {"resourceVersion", version}};
      request.pool = net::Pool::kWatch;
      request.total_timeout = Duration{0};
      kube::StreamHandlers handlers;
      handlers.on_head = [&](const net::HttpHead&) { ++open; };
      handlers.on_data = [this](std::string_view bytes) {
        events_ += static_cast<size_t>(std::ranges::count(bytes, '\n'));
        return true;
      };
      handlers.on_done = [this](Result<void> end) {
        if (!end) failed_ = end.error();
      };
      watches_.push_back(client_.stream(std::move(request), std::move(handlers)));
    }
    return until([&] { return open == watchers || failed_; });
  }

  boost::asio::io_context context_{1};
  AsioScheduler scheduler_{context_};
  net::CurlTransport transport_;
  kube::Credentials credentials_;
  kube::RestClient client_;
  std::string path_;
  int objects_, in_flight_;
  int changes_ = 0;
  size_t events_ = 0;
  std::optional<Error> failed_;
  std::vector<std::unique_ptr<kube::ApiCall>> watches_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: bench_api KUBECONFIG NAMESPACE [OBJECTS] [IN_FLIGHT] [WATCHERS]\n");
    return 2;
  }
  const auto number = [&](int at, int otherwise) { return argc > at ? std::atoi(argv[at]) : otherwise; };
  kube::LoadOptions options;
  options.explicit_path = argv[1];
  auto config = kube::load_connection(options);
  if (!config) {
    fmt::print(stderr, "bench_api: {}\n", config.error().what);
    return 1;
  }
  Load load(*std::move(config), argv[2], number(3, 5000), number(4, 16));
  return load.run(number(5, 20)) ? 0 : 1;
}
