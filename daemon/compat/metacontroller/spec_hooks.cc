#include "compat/metacontroller/spec_hooks.h"

#include <algorithm>
#include <filesystem>

#include "base/ascii.h"
#include "base/time.h"
#include "kube/token_file.h"

namespace hookd::metacontroller {
namespace {

namespace fs = std::filesystem;

constexpr Duration kDefaultTimeout = std::chrono::seconds(10);
constexpr Duration kMaxTimeout = std::chrono::hours(1);

// They become parts of a URL.
bool is_object_name(std::string_view text) {
  return !text.empty() && text.size() <= 253 &&
         std::ranges::all_of(
             text, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; }) &&
         text.front() != '.' && text.front() != '-' && text.find("..") == std::string_view::npos;
}

Result<std::string> object_name(const Fields& fields, std::string_view key) {
  HOOKD_TRY(std::string name, fields.needed(key));
  if (!is_object_name(name))
    return fail(Errc::kConfig, "{}: \"{}\" is no name of an object", fields.place(key), name.substr(0, 80));
  return name;
}

// A Go duration; below or equal 0 is the default, as upstream. Errors: kConfig.
Result<Duration> read_timeout(const Fields& fields) {
  std::string text;
  HOOKD_CHECK(fields.text("timeout", text));
  if (text.empty() || text.starts_with('-')) return kDefaultTimeout;
  auto timeout = parse_duration(text);
  if (!timeout) return fail(Errc::kConfig, "{}: {}", fields.place("timeout"), timeout.error().what);
  if (*timeout > kMaxTimeout)
    return fail(Errc::kConfig, "{}: {} is more than {}", fields.place("timeout"), text, format_duration(kMaxTimeout));
  return *timeout == Duration::zero() ? kDefaultTimeout : *timeout;
}

// secretRef or configMapRef {name, namespace, key}.
Result<ObjectKey> read_ref(const Fields& ref, std::string_view default_key) {
  ObjectKey key;
  HOOKD_TRY(key.name, object_name(ref, "name"));
  HOOKD_TRY(key.ns, object_name(ref, "namespace"));
  key.key = default_key;
  HOOKD_CHECK(ref.text("key", key.key));
  if (key.key.empty()) return fail(Errc::kConfig, "{}: is missing", ref.place("key"));
  return key;
}

Result<void> read_ca(const Fields& fields, ConnectionAuth& auth) {
  HOOKD_TRY(const auto bundle, fields.map("caBundle"));
  if (!bundle) return {};
  HOOKD_CHECK(bundle->text("inline", auth.ca_inline));
  HOOKD_TRY(const auto secret, bundle->map("secretRef"));
  if (secret) {
    HOOKD_TRY(auth.ca_secret, read_ref(*secret, "ca.crt"));
  }
  HOOKD_TRY(const auto config_map, bundle->map("configMapRef"));
  if (config_map) {
    HOOKD_TRY(auth.ca_config_map, read_ref(*config_map, "ca.crt"));
  }
  if (int{!auth.ca_inline.empty()} + int{secret.has_value()} + int{config_map.has_value()} != 1)
    return fail(Errc::kConfig, "{}: expected exactly one of inline, secretRef and configMapRef", bundle->where());
  return {};
}

Result<ConnectionAuth> read_auth(const Fields& fields) {
  ConnectionAuth auth;
  HOOKD_CHECK(read_ca(fields, auth));
  HOOKD_TRY(const auto tls, fields.map("clientTLS"));
  if (tls) {
    HOOKD_TRY(const auto ref, tls->map("secretRef"));
    if (!ref) return fail(Errc::kConfig, "{}: is missing", tls->place("secretRef"));
    HOOKD_TRY(auth.client_tls.name, object_name(*ref, "name"));
    HOOKD_TRY(auth.client_tls.ns, object_name(*ref, "namespace"));
    HOOKD_CHECK(tls->text("certKey", auth.client_tls.certificate_key));
    HOOKD_CHECK(tls->text("privateKeyKey", auth.client_tls.private_key_key));
  }
  HOOKD_TRY(const auto authorization, fields.map("authorization"));
  if (authorization) {
    HOOKD_CHECK(authorization->text("type", auth.authorization_type));
    if (auth.authorization_type.empty()) auth.authorization_type = "Bearer";
    if (lower(auth.authorization_type) == "basic")
      return fail(Errc::kConfig, "{}: Basic is not taken here; use basicAuth", authorization->place("type"));
    if (!kube::is_header_value(auth.authorization_type) || auth.authorization_type.find(' ') != std::string::npos)
      return fail(Errc::kConfig, "{}: expected one word such as Bearer", authorization->place("type"));
    HOOKD_TRY(const auto ref, authorization->map("secretRef"));
    if (!ref) return fail(Errc::kConfig, "{}: is missing", authorization->place("secretRef"));
    HOOKD_TRY(auth.authorization, read_ref(*ref, "token"));
  }
  HOOKD_TRY(const auto basic, fields.map("basicAuth"));
  if (basic) {
    HOOKD_TRY(const auto ref, basic->map("secretRef"));
    if (!ref) return fail(Errc::kConfig, "{}: is missing", basic->place("secretRef"));
    HOOKD_TRY(auth.basic.name, object_name(*ref, "name"));
    HOOKD_TRY(auth.basic.ns, object_name(*ref, "namespace"));
    HOOKD_CHECK(basic->text("usernameKey", auth.basic.username_key));
    HOOKD_CHECK(basic->text("passwordKey", auth.basic.password_key));
  }
  if (authorization && basic)
    return fail(Errc::kConfig, "{}: authorization and basicAuth cannot stand together", fields.where());
  return auth;
}

Result<std::string> service_url(const Fields& webhook, const Fields& service) {
  HOOKD_TRY(const std::string name, object_name(service, "name"));
  HOOKD_TRY(const std::string ns, object_name(service, "namespace"));
  int64_t port = 80;
  HOOKD_CHECK(service.integer("port", port, 1, 65535));
  std::string protocol = "http", path;
  HOOKD_CHECK(service.text("protocol", protocol));
  if (protocol != "http" && protocol != "https")
    return fail(Errc::kConfig, "{}: expected http or https", service.place("protocol"));
  HOOKD_CHECK(webhook.text("path", path));
  if (!path.empty() && !path.starts_with('/')) path.insert(0, "/");
  return fmt::format("{}://{}.{}:{}{}", protocol, name, ns, port, path);
}

Result<Webhook> read_webhook(const Fields& fields, const std::vector<EndpointConfig>& endpoints,
                             std::vector<std::string>& warnings) {
  Webhook webhook;
  HOOKD_CHECK(fields.text("url", webhook.url));
  HOOKD_TRY(const auto service, fields.map("service"));
  if (webhook.url.empty()) {
    if (!service) return fail(Errc::kConfig, "{}: expected url or service", fields.where());
    HOOKD_TRY(webhook.url, service_url(fields, *service));
  } else if (service) {
    warnings.push_back(fields.where() + ": has url and service; url counts");
  }
  if (!webhook.url.starts_with("http://") && !webhook.url.starts_with("https://"))
    return fail(Errc::kConfig, "{}: expected a URL with http:// or https://", fields.place("url"));
  if (!kube::is_header_value(webhook.url) || webhook.url.find(' ') != std::string::npos)
    return fail(Errc::kConfig, "{}: a URL has no blanks or control characters", fields.place("url"));
  HOOKD_TRY(webhook.timeout, read_timeout(fields));
  HOOKD_TRY(const auto etag, fields.map("etag"));
  if (etag) {
    HOOKD_CHECK(etag->boolean("enabled", webhook.etag));
    int64_t seconds = 0, unused = 0;
    HOOKD_CHECK(etag->integer("cacheTimeoutSeconds", seconds, 0, 1'000'000'000));
    HOOKD_CHECK(etag->integer("cacheCleanupSeconds", unused, 0, 1'000'000'000));
    webhook.etag_timeout = std::chrono::seconds(seconds);
  }
  HOOKD_TRY(webhook.auth, read_auth(fields));
  if (webhook.auth.empty())
    for (const EndpointConfig& endpoint : endpoints) {
      if (!endpoint_fits(endpoint.host, webhook.url)) continue;
      webhook.auth = endpoint.auth;
      break;
    }
  return webhook;
}

// The program of exec or worker, absolute. Errors: kConfig: not below the folder that the daemon allows.
Result<std::string> program(const Fields& fields, const std::string& given, const SpecReaderOptions& options) {
  const std::string where = fields.place("command");
  if (options.exec_folder.empty())
    return fail(Errc::kConfig,
                "{}: programs of controllers are not run here; the daemon's config has to name a folder for them "
                "(metacontroller.execFolder)",
                where);
  std::error_code error;
  const fs::path folder = fs::canonical(options.exec_folder, error);
  if (error)
    return fail(Errc::kConfig, "{}: metacontroller.execFolder {}: {}", where, options.exec_folder, error.message());
  const fs::path path = fs::canonical(folder / given, error);
  if (error) return fail(Errc::kConfig, "{}: {}: {}", where, (folder / given).string(), error.message());
  const fs::path inside = path.lexically_relative(folder);
  if (inside.empty() || inside == "." || *inside.begin() == "..")
    return fail(Errc::kConfig, "{}: {} lies outside {}, the folder that metacontroller.execFolder allows", where, given,
                folder.string());
  if (!fs::is_regular_file(path, error)) return fail(Errc::kConfig, "{}: {} is no file", where, path.string());
  return path.string();
}

Result<hook::Run> read_command(const Fields& fields, bool worker, const SpecReaderOptions& options) {
  hook::Run run;
  run.mode = worker ? hook::Run::Mode::kWorker : hook::Run::Mode::kOnce;
  HOOKD_TRY(run.command, fields.texts("command"));
  if (run.command.empty())
    return fail(Errc::kConfig, "{}: is missing: a program and its arguments", fields.place("command"));
  HOOKD_TRY(run.command[0], program(fields, run.command[0], options));
  run.directory = fs::path(run.command[0]).parent_path().string();
  HOOKD_TRY(run.timeout, read_timeout(fields));
  if (!worker) return run;
  int64_t workers = 1, at_once = 8;
  HOOKD_CHECK(fields.integer("workers", workers, 1, 64));
  HOOKD_CHECK(fields.integer("callsAtOnce", at_once, 1, 1000));
  HOOKD_CHECK(fields.integer("maxCalls", run.worker.max_calls, 0, 1'000'000'000));
  run.worker.processes = static_cast<int>(workers);
  run.worker.calls_at_once = static_cast<int>(at_once);
  std::string ready;
  HOOKD_CHECK(fields.text("ready", ready));
  if (!ready.empty() && ready != "line") return fields.wrong("ready", "line");
  run.worker.says_ready = !ready.empty();
  return run;
}

Result<std::optional<HookSpec>> read_hook(const Fields& hooks, std::string_view name, const SpecReaderOptions& options,
                                          ControllerSpec& spec) {
  HOOKD_TRY(const auto fields, hooks.map(name));
  if (!fields) return std::nullopt;
  HookSpec hook;
  std::string text = "v1";
  HOOKD_CHECK(fields->text("version", text));
  if (text != "v1" && text != "v2" && !text.empty()) return fields->wrong("version", "v1 or v2");
  hook.version = text == "v2" ? HookVersion::kV2 : HookVersion::kV1;
  hook.unmarshal = hook.version == HookVersion::kV2 ? Unmarshal::kStrict : Unmarshal::kLoose;
  HOOKD_TRY(const auto webhook, fields->map("webhook"));
  HOOKD_TRY(const auto exec, fields->map("exec"));
  HOOKD_TRY(const auto worker, fields->map("worker"));
  const int kinds = int{webhook.has_value()} + int{exec.has_value()} + int{worker.has_value()};
  if (kinds == 0) {
    spec.warnings.push_back(fields->where() + ": has no webhook, exec or worker; it is as if it were not there");
    return std::nullopt;
  }
  if (kinds > 1) return fail(Errc::kConfig, "{}: expected one of webhook, exec and worker", fields->where());
  // It stands in `webhook` upstream; beside it is taken too, for commands.
  text.clear();
  HOOKD_CHECK(fields->text("responseUnMarshallMode", text));
  if (webhook) HOOKD_CHECK(webhook->text("responseUnMarshallMode", text));
  if (text == "strict")
    hook.unmarshal = Unmarshal::kStrict;
  else if (text == "loose")
    hook.unmarshal = Unmarshal::kLoose;
  else if (!text.empty())
    return (webhook ? *webhook : *fields).wrong("responseUnMarshallMode", "loose or strict");
  if (webhook) {
    HOOKD_TRY(hook.webhook, read_webhook(*webhook, spec.endpoints, spec.warnings));
  } else {
    HOOKD_TRY(hook.command, read_command(exec ? *exec : *worker, worker.has_value(), options));
  }
  return hook;
}

// "HTTPS://Hooks.Shop:443/x" -> "hooks.shop"; "hooks.shop:8443" stays.
std::string bare_host(std::string_view text) {
  std::string host = lower(text);
  if (const size_t scheme = host.find("://"); scheme != std::string::npos) host.erase(0, scheme + 3);
  host.resize(std::min(host.find_first_of("/?#"), host.size()));
  if (const size_t at = host.rfind('@'); at != std::string::npos) host.erase(0, at + 1);
  for (const std::string_view port : {":80", ":443"})
    if (host.ends_with(port)) {
      host.resize(host.size() - port.size());
      break;
    }
  return host;
}

}  // namespace

bool endpoint_fits(std::string_view host, std::string_view url) { return bare_host(host) == bare_host(url); }

Result<void> read_hooks(const Fields& fields, const SpecReaderOptions& options, ControllerSpec& spec) {
  HOOKD_TRY(const auto endpoints, fields.maps("endpointConfigs"));
  for (const Fields& endpoint : endpoints) {
    EndpointConfig config;
    HOOKD_TRY(config.host, endpoint.needed("host"));
    HOOKD_TRY(config.auth, read_auth(endpoint));
    spec.endpoints.push_back(std::move(config));
  }
  HOOKD_TRY(const auto hooks, fields.map("hooks"));
  if (!hooks) return fail(Errc::kConfig, "{}: is missing; at least a sync hook is needed", fields.place("hooks"));
  HOOKD_TRY(spec.sync, read_hook(*hooks, "sync", options, spec));
  HOOKD_TRY(spec.finalize, read_hook(*hooks, "finalize", options, spec));
  HOOKD_TRY(spec.customize, read_hook(*hooks, "customize", options, spec));
  for (const std::string_view name : {"preUpdateChild", "postUpdateChild"})
    if (hooks->has(name)) spec.warnings.push_back(hooks->place(name) + ": is never called, by Metacontroller neither");
  if (!spec.sync) spec.warnings.push_back(hooks->place("sync") + ": is missing; every sync will fail");
  return {};
}

}  // namespace hookd::metacontroller
