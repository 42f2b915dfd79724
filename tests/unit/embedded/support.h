// An ApiServer on virtual time and a client without a socket, for all tests of this room.
//
//   Client c;
//   auto pod = c.post("/api/v1/namespaces/default/pods", R"({"metadata":{"name":"a"},"spec":{"containers":[…]}})");
//   EXPECT_EQ(pod.code, 201);  EXPECT_EQ(pod.at("status.phase"), "Pending");
//   auto watch = c.watch("/api/v1/pods?watch=1");  …;  EXPECT_EQ(watch->types(), "ADDED MODIFIED");
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "embedded/server.h"
#include "embedded/wire/json_text.h"
#include "embedded/wire/request.h"

namespace hookd::embedded::testing {

using Headers = std::vector<std::pair<std::string, std::string>>;

// The value at "a.b[0].c" (a name with dots in quotes is not known), null if there is none.
inline json::value value_at_path(const json::value& from, std::string_view path) {
  const json::value* at = &from;
  while (!path.empty()) {
    if (path.front() == '.') path.remove_prefix(1);
    if (path.front() == '[') {
      const auto close = path.find(']');
      const auto index = std::stoul(std::string(path.substr(1, close - 1)));
      if (!at->is_array() || index >= at->get_array().size()) return nullptr;
      at = &at->get_array()[index];
      path.remove_prefix(close + 1);
      continue;
    }
    const auto end = path.find_first_of(".[");
    if (!at->is_object()) return nullptr;
    at = at->get_object().if_contains(path.substr(0, end));
    if (!at) return nullptr;
    path = end == std::string_view::npos ? std::string_view{} : path.substr(end);
  }
  return *at;
}
// The same as text: strings without quotes, "" if there is nothing.
inline std::string text_at_path(const json::value& from, std::string_view path) {
  const auto value = value_at_path(from, path);
  if (value.is_null()) return "";
  return value.is_string() ? std::string(value.get_string()) : to_text(value);
}

struct Response {
  int code = 0;
  std::string type;  // Content-Type
  Headers headers;
  std::string text;
  bool cut = false, streams = false;

  json::value body() const { return parse_text(text).value_or(json::value(nullptr)); }
  std::string at(std::string_view path) const { return text_at_path(body(), path); }
  std::string message() const { return at("message"); }
  std::string reason() const { return at("reason"); }
  std::vector<std::string> header(std::string_view name) const {
    std::vector<std::string> out;
    for (const auto& [key, value] : headers)
      if (key == name) out.push_back(value);
    return out;
  }
};

class Recorder final : public ReplySink {
 public:
  void whole(ReplyHead head, std::string body) override {
    EXPECT_FALSE(done) << "answered twice";
    take(std::move(head));
    response.text = std::move(body);
    done = true;
  }
  void begin(ReplyHead head) override {
    EXPECT_FALSE(done) << "answered twice";
    take(std::move(head));
    response.streams = true;
  }
  void write(std::string bytes) override {
    EXPECT_FALSE(done) << "written after the end";
    response.text += bytes;
  }
  void end() override { done = true; }
  void cut() override { done = response.cut = true; }

  Response response;
  bool done = false;

 private:
  void take(ReplyHead head) {
    response.code = head.status;
    response.type = std::move(head.content_type);
    response.headers = std::move(head.headers);
  }
};

// A watch that goes on until it is destroyed.
struct WatchRecord {
  std::shared_ptr<Recorder> sink = std::make_shared<Recorder>();
  std::unique_ptr<Exchange> exchange;

  int code() const { return sink->response.code; }
  bool ended() const { return sink->done; }
  bool cut() const { return sink->response.cut; }
  std::vector<json::value> events() const {
    std::vector<json::value> out;
    std::string_view text = sink->response.text;
    while (!text.empty()) {
      const auto end = text.find('\n');
      out.push_back(parse_text(text.substr(0, end)).value_or(json::value("broken")));
      if (end == std::string_view::npos) break;
      text.remove_prefix(end + 1);
    }
    return out;
  }
  // "ADDED MODIFIED DELETED"
  std::string types() const {
    std::string out;
    for (const auto& event : events()) out += (out.empty() ? "" : " ") + text_at_path(event, "type");
    return out;
  }
  // "ADDED a, DELETED b"
  std::string names() const {
    std::string out;
    for (const auto& event : events())
      out +=
          (out.empty() ? "" : ", ") + text_at_path(event, "type") + " " + text_at_path(event, "object.metadata.name");
    return out;
  }
};

class Client {
 public:
  explicit Client(ServerOptions options = {}) : server(scheduler, random, options) { scheduler.run_posted(); }

  Response send(std::string method, std::string_view url, std::string body = "", Headers headers = {}) {
    const auto sink = std::make_shared<Recorder>();
    const auto exchange = server.handle(request(std::move(method), url, std::move(body), std::move(headers)), sink);
    scheduler.run_posted();
    return sink->response;
  }
  Response get(std::string_view url, Headers headers = {}) { return send("GET", url, "", std::move(headers)); }
  Response post(std::string_view url, std::string body, Headers headers = {}) {
    return send("POST", url, std::move(body), std::move(headers));
  }
  Response put(std::string_view url, std::string body) { return send("PUT", url, std::move(body)); }
  Response del(std::string_view url, std::string body = "") { return send("DELETE", url, std::move(body)); }
  Response patch(std::string_view url, std::string_view type, std::string body) {
    return send("PATCH", url, std::move(body), {{"content-type", std::string(type)}});
  }
  Response merge(std::string_view url, std::string body) {
    return patch(url, "application/merge-patch+json", std::move(body));
  }
  Response strategic(std::string_view url, std::string body) {
    return patch(url, "application/strategic-merge-patch+json", std::move(body));
  }
  Response json_patch(std::string_view url, std::string body) {
    return patch(url, "application/json-patch+json", std::move(body));
  }
  // `url` with its fieldManager.
  Response apply(std::string_view url, std::string body) {
    return patch(url, "application/apply-patch+yaml", std::move(body));
  }

  std::unique_ptr<WatchRecord> watch(std::string_view url, Headers headers = {}) {
    auto record = std::make_unique<WatchRecord>();
    record->exchange = server.handle(request("GET", url, "", std::move(headers)), record->sink);
    scheduler.run_posted();
    return record;
  }

  Request request(std::string method, std::string_view url, std::string body, Headers headers) const {
    Request out;
    out.method = std::move(method);
    const auto mark = url.find('?');
    out.path = std::string(url.substr(0, mark));
    if (mark != std::string_view::npos) out.query = parse_query(url.substr(mark + 1));
    out.headers = std::move(headers);
    out.headers.emplace_back("user-agent", "test/1");
    out.body = std::move(body);
    out.user = user;
    return out;
  }

  ManualScheduler scheduler;
  SeededRandom random{7};
  User user;  // who asks; an administrator
  ApiServer server;
};

}  // namespace hookd::embedded::testing
