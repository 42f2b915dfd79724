// The step `post`: a request as an outside service would send it to a source with `http`, signed as the source checks
// it. Thread: any.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "config/reader.h"
#include "hook/model.h"
#include "hook/native_loader.h"
#include "net/http_transport.h"

namespace hookd::rehearsal {

//   - post: {path: /github, headers: {X-GitHub-Event: push}, body: {…}, signed: false, status: 401}
struct Post {
  std::string path;                            // with its slash, without the query
  std::string query;                           // "" = none
  std::map<std::string, std::string> headers;  // names as written
  std::string body;
  bool json = false;            // is `body` a JSON value?
  bool sign = true;             // with the secret of the source
  std::optional<int> status;    // what the source must answer; unset: 202, with `reply: handled` 200
  std::string display() const;  // "POST /github {…}"
};

// `folder`: of the file, where a body in a file is looked up.
void read_post(config::Reader& reader, Post& out, const std::string& folder);

// `base`: "http://127.0.0.1:1234". `secret` is not used by a source that checks nothing.
net::HttpRequest request_of(const Post& post, const hook::SourceBinding& source, const std::string& base,
                            std::string_view secret, WallTime now);

// The hooks, each source with `http` whose secret's file is not there led to `file` instead: the secrets of production
// are not where hooks are rehearsed.
hook::LoadResult with_secrets_for_rehearsal(hook::LoadResult hooks, const std::string& file);
constexpr std::string_view kRehearsalSecret = "rehearsal";  // what `file` has to hold

}  // namespace hookd::rehearsal
