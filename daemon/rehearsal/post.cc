#include "rehearsal/post.h"

#include <filesystem>

#include "base/ascii.h"
#include "base/fd.h"
#include "base/json_read.h"
#include "net/hmac.h"
#include "rehearsal/steps.h"

namespace hookd::rehearsal {
namespace {

namespace fs = std::filesystem;
using config::Node;
using config::Reader;

constexpr size_t kMostBody = 4u << 20;  // what an address takes at all (net/http_server.h)

void read_headers(Reader& r, Post& out) {
  const Node* node = r.raw("headers");
  if (!node) return;
  if (node->kind != Node::Kind::kMap) return r.problem("headers", "expected a map of names to values");
  for (const auto& [key, at, value] : node->entries) {
    const bool plain =
        value.kind != Node::Kind::kMap && value.kind != Node::Kind::kList && value.kind != Node::Kind::kNull;
    if (!plain || value.text.find_first_of("\r\n") != std::string::npos)
      r.problems().add(value.at, r.path_of("headers") + "." + key, "expected one line of text, found {}",
                       value.describe());
    else
      out.headers[key] = value.text;
  }
}

void read_body(Reader& r, Post& out, const std::string& folder) {
  if (r.has("body") && r.has("file")) r.problem_here("needs at most one of body and file");
  if (const Node* node = r.raw("body"); node && node->kind == Node::Kind::kString) {
    out.body = node->text;
  } else if (node) {
    if (const auto json = json_of(*node, r.path_of("body"), r.problems())) out.body = boost::json::serialize(*json);
  }
  if (std::string file; r.string("file", file)) {
    auto text = read_file((fs::path(folder) / file).lexically_normal().string(), kMostBody);
    if (text)
      out.body = *std::move(text);
    else
      r.problem("file", text.error().what);
  }
  out.json = !out.body.empty() && validate_json(out.body).has_value();
}

}  // namespace

void read_post(Reader& r, Post& out, const std::string& folder) {
  if (r.required_string("path", out.path)) {
    if (const size_t mark = out.path.find('?'); mark != std::string::npos) {
      out.query = out.path.substr(mark + 1);
      out.path.resize(mark);
    }
    if (!out.path.starts_with('/') || out.path.find_first_of(" #\r\n") != std::string::npos)
      r.problem("path", "expected the path of a source, like /github");
  }
  read_headers(r, out);
  read_body(r, out, folder);
  r.boolean("signed", out.sign);
  if (int status = 0; r.integer("status", status, 200, 599)) out.status = status;
  r.finish();
}

std::string Post::display() const {
  constexpr size_t kShown = 100;
  std::string text = "POST " + path + (query.empty() ? "" : "?" + query) + (sign ? "" : " (not signed)");
  if (!body.empty()) text += " " + body.substr(0, kShown) + (body.size() > kShown ? "…" : "");
  return text;
}

net::HttpRequest request_of(const Post& post, const hook::SourceBinding& source, const std::string& base,
                            std::string_view secret, WallTime now) {
  using Check = hook::SourceBinding::Check;
  net::HttpRequest request;
  request.method = "POST";
  request.url = base + post.path + (post.query.empty() ? "" : "?" + post.query);
  request.body = post.body;
  request.pool = net::Pool::kHook;
  const auto given = [&](std::string_view name) {
    const auto same = [&](const auto& header) { return lower(header.first) == lower(name); };
    return std::ranges::find_if(post.headers, same);
  };
  // What the step says itself is sent as it is.
  const auto set = [&](const std::string& name, std::string value) {
    if (!name.empty() && given(name) == post.headers.end()) request.headers.emplace_back(name, std::move(value));
  };
  set("Content-Type", post.json ? "application/json" : "text/plain; charset=utf-8");
  for (const auto& header : post.headers) request.headers.push_back(header);
  if (!post.sign || source.check == Check::kNone) return request;
  if (source.check == Check::kBearer) {
    if (source.header.empty())
      set("Authorization", fmt::format("Bearer {}", secret));
    else
      set(source.header, std::string(secret));
    return request;
  }
  std::string text;
  if (!source.timestamp_header.empty()) {
    const auto time = given(source.timestamp_header);
    const std::string seconds =
        time != post.headers.end()
            ? time->second
            : std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count());
    set(source.timestamp_header, seconds);
    text = seconds + ".";
  }
  text += post.body;
  set(source.header.empty() ? "X-Hub-Signature-256" : source.header, "sha256=" + net::hmac_sha256_hex(secret, text));
  return request;
}

hook::LoadResult with_secrets_for_rehearsal(hook::LoadResult hooks, const std::string& file) {
  const auto missing = [](const hook::SourceBinding& source) {
    std::error_code error;
    return !source.http.empty() && !source.secret_from.file.empty() && !fs::exists(source.secret_from.file, error);
  };
  for (auto& one : hooks.hooks) {
    if (std::ranges::none_of(one->sources, missing)) continue;
    const auto changed = std::make_shared<hook::Hook>(*one);
    for (auto& source : changed->sources)
      if (missing(source)) source.secret_from.file = file;
    one = changed;
  }
  return hooks;
}

}  // namespace hookd::rehearsal
