#include "compat/metacontroller/connection.h"

#include "base/json_read.h"
#include "base/log.h"
#include "kube/base64.h"
#include "kube/pem.h"
#include "kube/token_file.h"

namespace hookd::metacontroller {

std::string Connection::Source::path() const {
  return fmt::format("/api/v1/namespaces/{}/{}/{}", ns, secret ? "secrets" : "configmaps", name);
}

std::string Connection::Source::display() const {
  return fmt::format("the {} {}/{}", secret ? "Secret" : "ConfigMap", ns, name);
}

Connection::Connection(const ConnectionAuth& auth, Scheduler& scheduler, kube::Api* api)
    : auth_(auth), scheduler_(scheduler), api_(api), material_(fail(Errc::kConfig, "not read yet")) {
  const auto needs = [&](bool secret, const std::string& ns, const std::string& name) {
    if (!name.empty()) documents_[{secret, ns, name}] = std::nullopt;
  };
  needs(true, auth_.ca_secret.ns, auth_.ca_secret.name);
  needs(false, auth_.ca_config_map.ns, auth_.ca_config_map.name);
  needs(true, auth_.client_tls.ns, auth_.client_tls.name);
  needs(true, auth_.authorization.ns, auth_.authorization.name);
  needs(true, auth_.basic.ns, auth_.basic.name);
  if (documents_.empty()) material_ = build();
}

void Connection::get(Ready ready) {
  const bool fresh = documents_.empty() || (fetched_at_ && scheduler_.now() - *fetched_at_ < kRefresh);
  // What is not there may come every moment: asked again, but not by each call.
  const bool asked = fetched_at_ && scheduler_.now() - *fetched_at_ < kLeast;
  if ((fresh && (material_ || asked || documents_.empty())) || !api_) {
    scheduler_.post([this, alive = std::weak_ptr(alive_), ready = std::move(ready)] {
      if (!alive.lock()) return;
      if (!api_ && !documents_.empty())
        return ready(fail(Errc::kConfig, "Secrets and ConfigMaps can only be read where there is an API server"));
      ready(material_);
    });
    return;
  }
  waiting_.push_back(std::move(ready));
  if (calls_.empty()) fetch();
}

bool Connection::doubt() {
  if (documents_.empty() || !fetched_at_ || scheduler_.now() - *fetched_at_ < kLeast) return false;
  fetched_at_.reset();
  return true;
}

void Connection::fetch() {
  for (const auto& [source, unused] : documents_) {
    kube::ApiRequest request;
    request.path = source.path();
    request.total_timeout = kLeast;  // calls wait for it; what was read before is used when it fails
    request.retry = false;
    calls_[source] = api_->request(std::move(request), [this, source](Result<kube::ApiResponse> response) {
      const auto done = std::move(calls_[source]);
      calls_.erase(source);
      fetched(source, std::move(response));
    });
  }
}

void Connection::fetched(const Source& source, Result<kube::ApiResponse> response) {
  errors_.erase(source);
  if (response) {
    documents_[source] = std::move(response->body);
  } else {
    errors_[source] = response.error().with(source.display());
    // Taken away: nobody is to be shown it any more.
    if (response.error().code == Errc::kNotFound) documents_[source].reset();
  }
  if (calls_.empty()) all_fetched();
}

void Connection::all_fetched() {
  fetched_at_ = scheduler_.now();
  auto built = build();
  if (!built && material_ && built.error().code != Errc::kNotFound)
    log::warn("a changed Secret or ConfigMap of a webhook is not good, the former content stays in use",
              {{"error", built.error().what}});
  else
    material_ = std::move(built);
  for (auto& ready : std::exchange(waiting_, {})) {
    scheduler_.post([this, alive = std::weak_ptr(alive_), ready = std::move(ready)] {
      if (alive.lock()) ready(material_);
    });
  }
}

// Without white space around it is for the caller to say: PEM keeps it.
Result<std::string> Connection::value(const Source& source, const std::string& key) const {
  const auto& document = documents_.at(source);
  if (!document) {
    if (const auto error = errors_.find(source); error != errors_.end()) return fail(error->second);
    return fail(Errc::kUnavailable, "{} was not read yet", source.display());
  }
  std::optional<std::string> text = json_string_at(*document, {"data", key});
  if (text && source.secret) text = kube::base64_decode(*text);
  if (!text || kube::trim(*text).empty())
    return fail(Errc::kConfig, "{}: the key {} is missing or empty", source.display(), key);
  return *std::move(text);
}

Result<std::shared_ptr<const Connection::Material>> Connection::build() const {
  auto material = std::make_shared<Material>();
  auto tls = std::make_shared<net::TlsOptions>();
  std::string ca = auth_.ca_inline, from = "caBundle.inline";
  for (const bool secret : {true, false}) {
    const ObjectKey& key = secret ? auth_.ca_secret : auth_.ca_config_map;
    if (!key.set()) continue;
    const Source source{secret, key.ns, key.name};
    HOOKD_TRY(ca, value(source, key.key));
    from = fmt::format("{}: the key {}", source.display(), key.key);
  }
  if (!ca.empty()) {
    auto certificates = kube::read_certificates(ca);
    if (!certificates) return fail(certificates.error().with(from));
    tls->ca_pem = std::move(certificates->pem);
  }
  if (!auth_.client_tls.name.empty()) {
    const Source source{true, auth_.client_tls.ns, auth_.client_tls.name};
    HOOKD_TRY(tls->certificate_pem, value(source, auth_.client_tls.certificate_key));
    HOOKD_TRY(tls->key_pem, value(source, auth_.client_tls.private_key_key));
    if (auto pair = kube::check_key_pair(tls->certificate_pem, tls->key_pem); !pair)
      return fail(pair.error().with(source.display()));
  }
  material->tls = std::move(tls);
  const auto word = [&](const Source& source, const std::string& key) -> Result<std::string> {
    HOOKD_TRY(const std::string raw, value(source, key));
    std::string text(kube::trim(raw));
    if (!kube::is_header_value(text))
      return fail(Errc::kConfig, "{}: the key {} has control characters", source.display(), key);
    return text;
  };
  if (auth_.authorization.set()) {
    HOOKD_TRY(const std::string token,
              word({true, auth_.authorization.ns, auth_.authorization.name}, auth_.authorization.key));
    material->authorization = auth_.authorization_type + " " + token;
    material->secrets.push_back(token);
  } else if (!auth_.basic.name.empty()) {
    const Source source{true, auth_.basic.ns, auth_.basic.name};
    HOOKD_TRY(const std::string user, word(source, auth_.basic.username_key));
    HOOKD_TRY(const std::string password, word(source, auth_.basic.password_key));
    if (user.find(':') != std::string::npos)
      return fail(Errc::kConfig, "{}: the key {}: a user name has no ':'", source.display(), auth_.basic.username_key);
    const std::string coded = kube::base64_encode(user + ":" + password);
    material->authorization = "Basic " + coded;
    material->secrets = {password, coded};
  }
  return material;
}

}  // namespace hookd::metacontroller
