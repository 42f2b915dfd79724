#include "hook/url_answer.h"

#include <time.h>

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "base/json_read.h"
#include "base/time.h"
#include "kube/token_file.h"

namespace hookd::hook {
namespace {

constexpr size_t kExcerptBytes = 200;

struct ContentType {
  std::string type;     // "application/json", "" = none given
  std::string charset;  // lower case, "" = none given
};

ContentType read_content_type(std::string_view header) {
  const std::string text = lower(header);
  ContentType result;
  result.type = kube::trim(std::string_view(text).substr(0, text.find(';')));
  if (const size_t at = text.find("charset="); at != std::string::npos) {
    std::string_view charset = std::string_view(text).substr(at + 8);
    charset = kube::trim(charset.substr(0, charset.find(';')));
    if (charset.size() >= 2 && charset.front() == '"') charset = charset.substr(1, charset.size() - 2);
    result.charset = charset;
  }
  return result;
}

bool is_html(const ContentType& content, std::string_view body) {
  if (content.type == "text/html" || content.type == "application/xhtml+xml") return true;
  const std::string begin = lower(kube::trim(body.substr(0, 200)));
  return begin.starts_with("<!doctype html") || begin.starts_with("<html");
}

bool may_hold_documents(std::string_view type) {
  static constexpr std::string_view kTypes[] = {"",
                                                "application/json",
                                                "application/yaml",
                                                "application/x-yaml",
                                                "text/yaml",
                                                "text/x-yaml",
                                                "text/json",
                                                "text/plain",
                                                "text/vnd.yaml",
                                                "application/x-ndjson",
                                                "application/jsonl",
                                                "application/octet-stream"};
  return std::ranges::find(kTypes, type) != std::end(kTypes) || type.ends_with("+json") || type.ends_with("+yaml");
}

std::string masked(std::string text, const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) {
    if (secret.empty()) continue;
    for (size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at + 3))
      text.replace(at, secret.size(), "***");
  }
  return text;
}

// One line, short, without control characters.
std::string excerpt(std::string text, const std::vector<std::string>& secrets) {
  text = masked(std::move(text), secrets);
  const std::string_view whole = kube::trim(text);
  std::string line(whole.substr(0, std::min(whole.find_first_of("\r\n"), kExcerptBytes)));
  std::erase_if(line, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  return line;
}

// What the endpoint says of its own error. Of a document nothing but its message gets into the log: it can be a Secret.
std::string words_of(const UrlAnswer& answer, const ContentType& content, const std::vector<std::string>& secrets) {
  if (is_html(content, answer.body)) {
    const std::string text = lower(answer.body.substr(0, 4096));
    const size_t begin = text.find("<title>");
    const size_t end = begin == std::string::npos ? begin : text.find("</title>", begin);
    return end == std::string::npos
               ? "an HTML page"
               : fmt::format("an HTML page, \"{}\"", excerpt(answer.body.substr(begin + 7, end - begin - 7), secrets));
  }
  const std::string_view body = kube::trim(answer.body);
  if (body.starts_with('{')) {
    for (const char* key : {"error", "message", "detail"})
      if (const auto text = json_string_at(body, {key})) return excerpt(*text, secrets);
    return {};
  }
  if (content.type.empty() || content.type == "text/plain") return excerpt(answer.body, secrets);
  return {};
}

Reply failed(std::string why) {
  Reply reply;
  reply.why = std::move(why);
  return reply;
}

Reply success(UrlAnswer answer, std::string_view url) {
  const ContentType content = read_content_type(answer.head.header("content-type"));
  const std::string encoding = lower(answer.head.header("content-encoding"));
  if (!encoding.empty() && encoding != "identity")
    return failed(
        fmt::format("{} answered in the encoding \"{}\", though none was asked for", url, encoding.substr(0, 40)));
  if (is_html(content, answer.body))
    return failed(
        fmt::format("{} answered with {}, not with an answer to a call: does run.url lead to the hook, or to a login "
                    "page or a proxy?",
                    url, words_of(answer, content, {})));
  if (!kube::trim(answer.body).empty()) {
    if (!may_hold_documents(content.type))
      return failed(fmt::format("{} answered with the type {}; expected application/json or application/yaml", url,
                                content.type.substr(0, 100)));
    if (!content.charset.empty() && content.charset != "utf-8" && content.charset != "utf8" &&
        content.charset != "us-ascii")
      return failed(
          fmt::format("{} answered in the character set {}; expected utf-8", url, content.charset.substr(0, 40)));
  }
  Reply reply;
  reply.kind = Reply::Kind::kAnswered;
  reply.text = std::move(answer.body);
  return reply;
}

}  // namespace

std::string status_text(int status) {
  static constexpr std::pair<int, std::string_view> kNames[] = {{400, "Bad Request"},
                                                                {401, "Unauthorized"},
                                                                {403, "Forbidden"},
                                                                {404, "Not Found"},
                                                                {405, "Method Not Allowed"},
                                                                {408, "Request Timeout"},
                                                                {409, "Conflict"},
                                                                {410, "Gone"},
                                                                {411, "Length Required"},
                                                                {413, "Content Too Large"},
                                                                {415, "Unsupported Media Type"},
                                                                {422, "Unprocessable Content"},
                                                                {425, "Too Early"},
                                                                {429, "Too Many Requests"},
                                                                {500, "Internal Server Error"},
                                                                {501, "Not Implemented"},
                                                                {502, "Bad Gateway"},
                                                                {503, "Service Unavailable"},
                                                                {504, "Gateway Timeout"}};
  for (const auto& [code, name] : kNames)
    if (code == status) return fmt::format("{} {}", status, name);
  return std::to_string(status);
}

std::string error_words(const UrlAnswer& answer, const std::vector<std::string>& secrets) {
  return words_of(answer, read_content_type(answer.head.header("content-type")), secrets);
}

bool endpoint_down(int status) { return status >= 500 && status != 501 && status != 505; }
bool never_reached_hook(int status) { return status >= 502 && status <= 504; }

std::optional<Duration> parse_retry_after(std::string_view text, WallTime now) {
  text = kube::trim(text);
  if (text.empty()) return std::nullopt;
  if (std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) {
    int64_t seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc() || seconds > kMaxRetryAfter / std::chrono::seconds(1)) return kMaxRetryAfter;
    return std::chrono::seconds(seconds);
  }
  // The three forms of RFC 9110 5.6.7; their month and day names are English, and hookd never sets a locale.
  const std::string date(text);
  for (const char* format : {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"}) {
    struct tm parts{};
    const char* end = ::strptime(date.c_str(), format, &parts);
    if (end == nullptr || *end != '\0') continue;
    const WallTime due{std::chrono::seconds(::timegm(&parts))};
    return std::clamp<Duration>(due - now, Duration::zero(), kMaxRetryAfter);
  }
  return std::nullopt;
}

std::string url_for_log(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return std::string(url);
  const size_t host = scheme + 3;
  const size_t path = std::min(url.find('/', host), url.size());
  const size_t at = url.substr(0, path).rfind('@');
  if (at == std::string_view::npos || at < host) return std::string(url);
  return std::string(url.substr(0, host)) + std::string(url.substr(at + 1));
}

Reply reply_to(UrlAnswer answer, std::string_view url, const std::vector<std::string>& secrets, WallTime now) {
  const int status = answer.head.status;
  if (status >= 200 && status <= 204) return success(std::move(answer), url);
  const ContentType content = read_content_type(answer.head.header("content-type"));
  std::string said = words_of(answer, content, secrets);
  if (!said.empty()) said = "; it says: " + said;
  const std::string answered = fmt::format("{} answered {}", url, status_text(status));

  if (status >= 300 && status < 400) {
    const std::string location = excerpt(url_for_log(answer.head.header("location")), secrets);
    return failed(fmt::format(
        "{}{}: redirects are not followed, since the call and its secrets would go elsewhere; put the right address "
        "into run.url",
        answered, location.empty() ? std::string(" without saying where to") : " to " + location));
  }
  if (status == 401)
    return failed(
        fmt::format("{}: the endpoint does not know us; look at run.auth, run.tls.certificate and what it "
                    "expects{}",
                    answered, said));
  if (status == 403)
    return failed(
        fmt::format("{}: the endpoint knows us and does not let us; look at its rights, run.auth and the key "
                    "of run.auth.hmac{}",
                    answered, said));
  if (status == 404)
    return failed(fmt::format("{}: nothing is there; look at the path of run.url, and whether the hook is deployed{}",
                              answered, said));
  if (status >= 400 && status < 500 && status != 408 && status != 425 && status != 429) {
    Reply reply = failed(fmt::format("{}: the endpoint refuses this event for good{}", answered, said));
    reply.kind = Reply::Kind::kRefused;
    reply.result = "refused";
    return reply;
  }
  if (status < 400) return failed(fmt::format("{}: no answer to a call has this status{}", answered, said));
  Reply reply = failed(answered + said);
  const auto wait = parse_retry_after(answer.head.header("retry-after"), now);
  if (wait) {
    reply.at_least = *wait;
    reply.why += fmt::format(" (Retry-After: {})", format_duration(*wait));
    if (status == 429 || status == 503) {
      reply.kind = Reply::Kind::kLater;
      reply.result = "later";
    }
  }
  return reply;
}

}  // namespace hookd::hook
