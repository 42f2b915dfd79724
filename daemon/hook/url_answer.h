// What an HTTP answer to a call means. Pure. Thread: any. Source: RFC 9110 (status codes, Retry-After).
//
//   200 to 204                    the answer: JSON or YAML documents as a script would print; empty = nothing to do
//   3xx                           failed: a call and its secrets are never carried elsewhere
//   401, 403, 404                 failed, to be retried: most often the configuration is mended soon
//   408, 425, 429, 5xx            failed, to be retried; with Retry-After: later, and not before
//   other 4xx                     refused for good
//   HTML, or a type that no answer has, in a 2xx     failed: something else than the hook answered
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hook/caller.h"
#include "net/http_transport.h"

namespace hookd::hook {

struct UrlAnswer {
  net::HttpHead head;
  std::string body;  // whole
};

// `url` names the endpoint in texts; `secrets` are masked where the answer repeats them.
Reply reply_to(UrlAnswer answer, std::string_view url, const std::vector<std::string>& secrets, WallTime now);

// What the endpoint says of its own error, in one short line, "" = nothing that may get into a log: of a document only
// its message, since it can be a Secret.
std::string error_words(const UrlAnswer& answer, const std::vector<std::string>& secrets);
std::string status_text(int status);  // "404 Not Found"

// Does it look as if the thing behind the endpoint were down (and not only this call not to its liking)?
bool endpoint_down(int status);       // 5xx but 501 and 505
bool never_reached_hook(int status);  // 502, 503, 504: said by what stands before it

// "120" or an HTTP date; nullopt = neither. At most kMaxRetryAfter; a date that is past is 0.
std::optional<Duration> parse_retry_after(std::string_view text, WallTime now);

// Without user name, password, query and fragment: those may hold secrets.
std::string url_for_log(std::string_view url);

inline constexpr Duration kMaxRetryAfter = std::chrono::hours(1);

}  // namespace hookd::hook
