// Any request, whatever its method, path, query, headers and body: the embedded API server answers it with a document
// of a known form and lives on.
#include <cstdlib>

#include "embedded/server.h"
#include "embedded/wire/json_text.h"

namespace {

using namespace hookd;
using namespace hookd::embedded;

struct Answered final : ReplySink {
  void whole(ReplyHead head, std::string text) override {
    check(!done);
    done = true;
    check(head.status >= 200 && head.status < 600);
    // What says that it is JSON is JSON.
    if (head.content_type.starts_with("application/json") && head.status != 304) check(parse_text(text).has_value());
  }
  void begin(ReplyHead) override { check(!done && !begun), begun = true; }
  void write(std::string) override { check(begun && !done); }
  void end() override { check(begun && !done), done = true; }
  void cut() override { done = true; }
  static void check(bool holds) {
    if (!holds) std::abort();
  }
  bool begun = false, done = false;
};

// Pieces of the input, each ended by a byte 0.
std::string piece(std::string_view& input) {
  const auto end = input.find('\0');
  std::string out(input.substr(0, end));
  input = end == std::string_view::npos ? std::string_view{} : input.substr(end + 1);
  return out;
}

void send(ApiServer& server, ManualScheduler& scheduler, std::string method, std::string path, std::string_view query,
          std::string content_type, std::string accept, std::string body) {
  Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.query = parse_query(query);
  request.headers = {
      {"content-type", std::move(content_type)}, {"accept", std::move(accept)}, {"user-agent", "fuzz/1"}};
  request.body = std::move(body);
  const auto sink = std::make_shared<Answered>();
  const auto exchange = server.handle(std::move(request), sink);
  scheduler.run_posted();
  scheduler.advance(std::chrono::minutes(2));
  Answered::check(exchange || sink->done);
}

constexpr std::string_view kMethods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "FOO"};
constexpr std::string_view kTypes[] = {"application/json",
                                       "application/yaml",
                                       "application/merge-patch+json",
                                       "application/json-patch+json",
                                       "application/strategic-merge-patch+json",
                                       "application/apply-patch+yaml",
                                       "application/vnd.kubernetes.protobuf",
                                       ""};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > 20'000) return 0;
  ManualScheduler scheduler;
  SeededRandom random;
  ApiServer server(scheduler, random, {});
  send(server, scheduler, "POST", "/api/v1/namespaces/default/pods", "", "application/json", "",
       R"({"metadata":{"name":"a","labels":{"x":"y"}},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  send(server, scheduler, "POST", "/api/v1/namespaces/default/configmaps", "", "application/json", "",
       R"({"metadata":{"name":"a","finalizers":["x/y"]},"data":{"k":"v"}})");
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto method = kMethods[static_cast<size_t>(input[0]) % 8], type = kTypes[static_cast<size_t>(input[1]) % 8];
  input.remove_prefix(2);
  auto path = piece(input), query = piece(input), accept = piece(input);
  if (!path.starts_with('/')) path = "/" + path;
  send(server, scheduler, std::string(method), path, query, std::string(type), accept, std::string(input));
  send(server, scheduler, "GET", "/api/v1/namespaces/default/pods", "", "", "", "");
  return 0;
}
