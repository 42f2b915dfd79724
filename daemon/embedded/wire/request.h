// A request and its answer as values, whatever carried them: a socket or the in-process transport. Thread: loop only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "embedded/wire/status.h"

namespace hookd::embedded {

struct User {
  std::string name = "admin";  // as in the kubeconfig
  std::vector<std::string> groups{"system:masters", "system:authenticated"};
  std::string uid{};  // of a service account; "" = none
};

struct Request {
  std::string method;
  std::string path;                                          // "/api/v1/pods", percent-encoded as sent
  std::vector<std::pair<std::string, std::string>> query;    // decoded, in order
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  User user;
  std::string_view header(std::string_view lower_name) const;  // "" if none
  std::string_view parameter(std::string_view name) const;     // first of that name, "" if none
  bool has_parameter(std::string_view name) const;
};

// "a=b&c" decoded, in order; what cannot be decoded is left out, as Go's net/url does.
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query);
// nullopt = a '%' without two hex digits.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space = false);

struct ReplyHead {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers{};
};

// Takes the answer. Exactly one of: whole(), or begin() then write()* then end() or cut().
class ReplySink {
 public:
  virtual ~ReplySink() = default;
  virtual void whole(ReplyHead head, std::string body) = 0;
  virtual void begin(ReplyHead head) = 0;
  virtual void write(std::string bytes) = 0;
  virtual void end() = 0;
  virtual void cut() = 0;  // the connection breaks
};

// A request under way (a watch, a delayed answer); destroying it ends it, and nothing is told to its sink any more.
class Exchange {
 public:
  virtual ~Exchange() = default;
};

}  // namespace hookd::embedded
