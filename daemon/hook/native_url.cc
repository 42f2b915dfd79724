#include "hook/native_url.h"

#include <algorithm>

#include "base/ascii.h"
#include "hook/native_run.h"
#include "hook/url_caller.h"
#include "kube/token_file.h"

namespace hookd::hook {
namespace {

using config::Reader;
using std::chrono::milliseconds;
using std::chrono::minutes;

// A file beside the hook is meant from the hook's folder, as a command is.
bool read_path(Reader& r, std::string_view key, const Run& run, std::string& out) {
  std::string text;
  if (!r.string(key, text)) return false;
  out = from_folder(run.directory, text);
  return true;
}

void check_url(Reader& r, const std::string& url) {
  const bool printable = std::ranges::all_of(url, [](char c) { return c > 0x20 && c < 0x7f; });
  const std::string endpoint = endpoint_of(url);
  const size_t host = url.find("://") + 3;
  const size_t path = url.find_first_of("/?#", std::min(host, url.size()));
  if (!printable || endpoint.empty() || host >= url.size() || path == host) {
    r.problem("url", "expected an address such as https://hooks.example.com/pods or http://127.0.0.1:8080/");
  } else if (url.substr(0, path).find('@', host) != std::string::npos) {
    r.problem("url", "a user name or password in a URL is seen by too many; use auth, or headers");
  } else if (url.find('#') != std::string::npos) {
    r.problem("url", "what follows # is never sent; take it away");
  }
}

void read_tls(Reader& run, Run& out) {
  auto r = run.map("tls");
  if (!r) return;
  UrlTarget& url = out.url;
  if (url.url.starts_with("http://")) run.problem("tls", "is for https://; the url begins with http://");
  read_path(*r, "ca", out, url.ca_file);
  const bool certificate = read_path(*r, "certificate", out, url.certificate_file);
  const bool key = read_path(*r, "key", out, url.key_file);
  if (certificate && !r->has("key")) r->problem("certificate", "its key is missing; add key: FILE");
  if (key && !r->has("certificate")) r->problem("key", "its certificate is missing; add certificate: FILE");
  r->string("serverName", url.server_name);
  r->boolean("insecure", url.insecure);
  if (url.insecure && (!url.ca_file.empty() || !url.server_name.empty()))
    r->problem("insecure", "checks nothing at all, so ca and serverName say nothing; take one of them away");
  r->finish();
}

void read_headers(Reader& run, UrlTarget& url) {
  if (!run.string_map("headers", url.headers)) return;
  static constexpr std::string_view kOurs[] = {
      "content-type", "content-length",      "transfer-encoding", "host",      "connection",
      "expect",       "x-hub-signature-256", "accept-encoding",   "user-agent"};
  for (const auto& [name, value] : url.headers) {
    const std::string key = lower(name);
    const bool token = !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
      return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
             std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
    });
    if (!token)
      run.problem("headers", fmt::format("\"{}\" is no name of a header", name));
    else if (std::ranges::find(kOurs, key) != std::end(kOurs) || key.starts_with("x-hookd-"))
      run.problem("headers", fmt::format("{} is set by hookd itself", name));
    if (!kube::is_header_value(value))
      run.problem("headers", fmt::format("the value of {} has a line break or another control character", name));
  }
}

void read_auth(Reader& run, Run& out) {
  auto r = run.map("auth");
  if (!r) return;
  const bool bearer = read_path(*r, "bearer", out, out.url.bearer_file);
  const bool hmac = read_path(*r, "hmac", out, out.url.hmac_file);
  if (!bearer && !hmac && !r->has("bearer") && !r->has("hmac"))
    r->problem_here("says nothing; expected bearer: FILE, hmac: FILE or both");
  if (bearer &&
      std::ranges::any_of(out.url.headers, [](const auto& header) { return lower(header.first) == "authorization"; }))
    r->problem("bearer", "headers has Authorization too; take one of them away");
  r->finish();
}

}  // namespace

void read_url(Reader& run, Run& out) {
  UrlTarget& url = out.url;
  const bool has_url = run.has("url");
  if (run.string("url", url.url)) check_url(run, url.url);
  read_tls(run, out);
  read_headers(run, url);
  read_auth(run, out);
  run.duration("connectTimeout", url.connect_timeout, milliseconds(1), minutes(10));
  if (!has_url) {
    for (const std::string_view key : {"tls", "headers", "auth", "connectTimeout"})
      if (run.has(key)) run.problem(key, "is for a url; add one, or take it away");
    return;
  }
  out.mode = Run::Mode::kUrl;
  if (run.has("command")) run.problem("command", "a hook has either a command or a url; take one of them away");
  for (const std::string_view key : {"mode", "workers", "grace", "env", "inheritEnv", "user", "limits"})
    if (run.has(key)) run.problem(key, "is for a command; a url starts no process: take it away");
}

}  // namespace hookd::hook
