#include "control/client.h"

#include <curl/curl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/json_read.h"
#include "kube/rest_client.h"

namespace hookd::control {
namespace {

struct Sink {
  CURL* easy;
  const std::function<bool(std::string_view)>& on_data;
  std::string refusal;  // body of an answer other than 200
};

size_t take(char* data, size_t, size_t size, void* user) noexcept {
  auto& sink = *static_cast<Sink*>(user);
  long status = 0;
  curl_easy_getinfo(sink.easy, CURLINFO_RESPONSE_CODE, &status);
  if (status == 200) return sink.on_data({data, size}) ? size : 0;
  sink.refusal.append(data, size);
  return size;
}

Errc code_of(long status) {
  switch (status) {
    case 400:
    case 405:
      return Errc::kInvalid;
    case 403:
      return Errc::kForbidden;
    case 404:
      return Errc::kNotFound;
    case 409:
      return Errc::kConflict;
    default:
      return Errc::kInternal;
  }
}

Failure no_connection(const std::string& socket) {
  struct stat status{};
  if (::stat(socket.c_str(), &status) != 0) {
    if (errno == EACCES)
      return fail(Errc::kForbidden,
                  "{}: permission denied: a folder above it is closed to you; only root and the user that hookd runs "
                  "as may ask it",
                  socket);
    return fail(Errc::kTransport, "no hookd runs here: {}: {}", socket, std::generic_category().message(errno));
  }
  if (!S_ISSOCK(status.st_mode)) return fail(Errc::kTransport, "{} is no socket", socket);
  if (::access(socket.c_str(), W_OK) != 0)
    return fail(Errc::kForbidden,
                "{}: permission denied: only root and the user that hookd runs as (uid {}) may ask it", socket,
                status.st_uid);
  return fail(Errc::kTransport, "no hookd runs here: nobody listens at {}", socket);
}

}  // namespace

Result<void> Client::run(const std::string& path, const Parameters& parameters, bool post, bool wait_for_ever,
                         const std::function<bool(std::string_view)>& on_data) const {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy(curl_easy_init(), curl_easy_cleanup);
  std::string url = "http://hookd" + path;
  char separator = '?';
  for (const auto& [name, value] : parameters) {
    if (value.empty()) continue;
    url += fmt::format("{}{}={}", std::exchange(separator, '&'), name, kube::percent_encode(value));
  }
  Sink sink{easy.get(), on_data, {}};
  curl_easy_setopt(easy.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_UNIX_SOCKET_PATH, socket_.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_PROXY, "");
  curl_easy_setopt(easy.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_CONNECTTIMEOUT, std::min(10L, timeout_seconds_));
  if (!wait_for_ever) curl_easy_setopt(easy.get(), CURLOPT_TIMEOUT, timeout_seconds_);
  if (post) curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDS, "");
  curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, take);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEDATA, &sink);
  const CURLcode code = curl_easy_perform(easy.get());
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  if (code == CURLE_COULDNT_CONNECT) return no_connection(socket_);
  if (status != 200 && status != 0)
    return fail(code_of(status), "{}", json_string_at(sink.refusal, {"error"}).value_or(sink.refusal));
  if (code == CURLE_WRITE_ERROR) return {};  // it was wished
  if (code == CURLE_OPERATION_TIMEDOUT)
    return fail(Errc::kTimeout, "hookd at {} gave no answer within {} s", socket_, timeout_seconds_);
  if (code != CURLE_OK) return fail(Errc::kTransport, "hookd at {} went away: {}", socket_, curl_easy_strerror(code));
  return {};
}

Result<std::string> Client::get(const std::string& path, const Parameters& parameters) const {
  std::string body;
  HOOKD_CHECK(run(path, parameters, false, false, [&](std::string_view data) { return body += data, true; }));
  return body;
}

Result<std::string> Client::post(const std::string& path, const Parameters& parameters) const {
  std::string body;
  HOOKD_CHECK(run(path, parameters, true, false, [&](std::string_view data) { return body += data, true; }));
  return body;
}

Result<void> Client::lines(const std::string& path, const Parameters& parameters,
                           const std::function<bool(std::string_view)>& on_line) const {
  bool more = true;
  std::string pending;
  return run(path, parameters, false, true, [&](std::string_view data) {
    pending += data;
    size_t begin = 0;
    for (size_t end; more && (end = pending.find('\n', begin)) != std::string::npos; begin = end + 1)
      more = on_line(std::string_view(pending).substr(begin, end - begin));
    pending.erase(0, begin);
    return more;
  });
}

}  // namespace hookd::control
