#include "hook/native_source.h"

#include <algorithm>

#include "base/ascii.h"
#include "hook/native_run.h"

namespace hookd::hook {
namespace {

using config::Reader;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr std::string_view kOwnPaths[] = {"/metrics", "/healthz", "/livez", "/readyz"};
constexpr uint64_t kMostBytes = 64u << 20;
// What the daemon's HTTP server takes at all (net/http_server.h).
constexpr uint64_t kMostBodyBytes = 4u << 20;

bool is_header_name(std::string_view name) {  // a token of RFC 9110 5.6.2
  return !name.empty() && name.size() <= 100 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

void read_header(Reader& r, std::string_view key, std::string& out) {
  if (!r.string(key, out)) return;
  if (!is_header_name(out)) r.problem(key, fmt::format("\"{}\" is no name of an HTTP header", out));
  out = lower(out);
}

std::string without_end_slash(std::string whole) {
  while (whole.size() > 1 && whole.back() == '/') whole.pop_back();
  return whole;
}

void read_secret(Reader& http, const std::string& folder, SourceBinding::SecretFrom& out) {
  auto r = http.map("secretFrom");
  if (!r) return;
  std::string secret;
  const bool file = r->string("file", out.file);
  const bool object = r->string("secret", secret);
  if (r->has("file") == r->has("secret"))
    r->problem_here("needs either file (a path) or secret (NAMESPACE/NAME of a Kubernetes Secret, with key)");
  if (file) out.file = without_end_slash(from_folder(folder, out.file));
  if (object) {
    const size_t slash = secret.find('/');
    if (slash == 0 || slash == std::string::npos || slash + 1 == secret.size() ||
        secret.find_first_of("/?%# ", slash + 1) != std::string::npos)
      r->problem("secret", fmt::format("\"{}\" names no Secret; expected NAMESPACE/NAME", secret));
    else
      out.ns = secret.substr(0, slash), out.name = secret.substr(slash + 1);
    r->require("key");
  }
  r->string("key", out.key);
  if (r->has("key") && r->has("file")) r->problem("key", "has a meaning only with secret");
  r->finish();
}

void read_http(Reader& r, const std::string& folder, SourceBinding& out) {
  if (r.string("http", out.http)) {
    const bool good =
        out.http.size() > 1 && out.http.size() <= 200 && out.http[0] == '/' &&
        out.http.find("//") == std::string::npos && std::ranges::all_of(out.http, [](char c) {
          return c > ' ' && c < 0x7f && std::string_view("?#\"<>\\^`{|}").find(c) == std::string_view::npos;
        });
    if (!good)
      r.problem("http",
                fmt::format("\"{}\" is no path; expected one of the daemon's address such as /github", out.http));
    else if (std::ranges::find(kOwnPaths, out.http) != std::end(kOwnPaths))
      r.problem("http", fmt::format("{} is the daemon's own; choose another path", out.http));
  }
  using Check = SourceBinding::Check;
  r.one_of("check", out.check, {{"hmac", Check::kHmac}, {"bearer", Check::kBearer}, {"none", Check::kNone}});
  read_secret(r, folder, out.secret_from);
  if (out.check == Check::kNone && r.has("secretFrom"))
    r.problem("check", "none looks at no secret; take secretFrom away, or this");
  if (out.check != Check::kNone && !r.has("secretFrom"))
    r.problem_here(
        "the key \"secretFrom\" is missing: anybody could POST here. Give {file: PATH} or {secret: NAMESPACE/NAME, "
        "key: "
        "KEY}, or write check: none");
  read_header(r, "header", out.header);
  if (r.has("header") && out.check == Check::kNone) r.problem("header", "has no meaning with check: none");
  read_header(r, "timestampHeader", out.timestamp_header);
  if (r.has("timestampHeader") && out.check != Check::kHmac)
    r.problem("timestampHeader", "has a meaning only with check: hmac, which signs the time too");
  r.duration("replayWindow", out.replay_window, Duration{0}, hours(24));
  if (r.has("timestampHeader") && out.replay_window == Duration{0})
    r.problem("replayWindow", "0 takes a request of any age; give a time, or take timestampHeader away");
  r.quantity("maxBody", out.max_body_bytes, 1, kMostBodyBytes);
  r.one_of("reply", out.reply_handled, {{"queued", false}, {"handled", true}});
  r.duration("replyTimeout", out.reply_within, milliseconds(1), minutes(10));
  if (r.has("replyTimeout") && !out.reply_handled) r.problem("replyTimeout", "has a meaning only with reply: handled");
}

// Keys that belong to another kind of source.
void only_with(Reader& r, std::string_view kind, std::initializer_list<std::string_view> keys) {
  if (r.has(kind)) return;
  for (const std::string_view key : keys) {
    if (!r.has(key)) continue;
    r.raw(key);  // or finish() would call it unknown
    r.problem(key, fmt::format("has a meaning only with {}", kind));
  }
}

SourceBinding read_source(Reader& r, const LoadOptions& options, const Hook& hook, uint64_t& identity) {
  SourceBinding out;
  out.line = r.at().line;
  read_binding_name(r, out.name);
  const int kinds = r.has("command") + r.has("file") + r.has("http");
  if (r.is_map() && kinds != 1) r.problem_here("needs exactly one of command, file and http");
  if (!r.has("name")) out.name = r.has("file") ? "file" : r.has("http") ? "http" : "command";

  if (r.words("command", out.command)) {
    if (out.command.empty() || out.command[0].empty()) {
      r.problem("command", "is empty; expected a program and its arguments such as [redis-cli, subscribe, users]");
      out.command.clear();
    } else {
      identity = identity * 31 + settle_command(r, hook.run, options, out.command);
    }
  }
  r.quantity("maxLine", out.max_line_bytes, 16, kMostBytes);
  only_with(r, "command", {"maxLine"});

  if (r.string("file", out.file)) out.file = without_end_slash(from_folder(hook.run.directory, out.file));
  r.duration("settle", out.settle, milliseconds(0), hours(1));
  r.quantity("maxFile", out.max_file_bytes, 1, kMostBytes);
  r.one_of("existing", out.existing, {{"deliver", true}, {"none", false}});
  only_with(r, "file", {"settle", "maxFile", "existing"});

  if (r.has("http"))
    read_http(r, hook.run.directory, out);
  else
    only_with(r, "http",
              {"check", "secretFrom", "header", "timestampHeader", "replayWindow", "maxBody", "reply", "replyTimeout"});

  read_filter(r, "when", out.when);
  read_filter(r, "key", out.key);
  r.integer("buffer", out.buffer, 1, 10'000);
  r.string_list("include", out.include);
  r.finish();
  return out;
}

}  // namespace

uint64_t read_sources(BindingReaders& readers, const LoadOptions& options, Hook& hook) {
  uint64_t identity = 0;
  for (Reader& r : readers.source) {
    SourceBinding source = read_source(r, options, hook, identity);
    if (!source.http.empty() &&
        std::ranges::any_of(hook.sources, [&](const SourceBinding& other) { return other.http == source.http; }))
      r.problem("http", fmt::format("{} is the path of another source of this hook", source.http));
    hook.sources.push_back(std::move(source));
  }
  return identity;
}

}  // namespace hookd::hook
