// The steps of which tests and scenarios are made, as they stand in the YAML. Plain values. Thread: any.
//
//   - apply: pod.yaml                       file, inline manifest, or a list of both: server-side apply, status too
//   - create: {apiVersion: v1, kind: Pod, …}
//   - patch: {kind: Node, name: n1, merge: {spec: {unschedulable: true}}}    merge | strategic | json; subresource
//   - delete: {kind: Pod, namespace: default, name: web-0, gracePeriodSeconds: 0}
//   - run: [kubectl, label, node, n1, a=b]  a command with KUBECONFIG, in the file's folder; must exit with 0
//   - wait: 5s | {object: {…}} | {absent: {…}} | {called: HOOK} | {idle: true}, with timeout: 30s
//   - fail: {hook: h, exit: 1, times: 2} | {api: {code: 409, …}} | {watch: cut}
//   - source: {hook: h, binding: bus, data: {…}, old: {…}}     an event as if it came from outside; of a file also
//                                                              content: text, or exists: false
//   - post: {path: /github, body: {…}}      to a source with http, signed: post.h
//   - restart: true                         hookd is started anew, the server stays
//   - say: text
// and in tests only
//   - advance: 29s                          time goes on
//   - expect: {…}                           expectation.h
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apply/operation.h"
#include "config/reader.h"
#include "rehearsal/post.h"

namespace hookd::rehearsal {

// Which object is meant: a kind, and a subset of the object. `name` and `namespace` stand for those in metadata.
struct Wanted {
  config::Position at;
  std::string api_version, kind;
  boost::json::object subset;   // without apiVersion and kind
  std::string display() const;  // for messages: `Pod default/web-0 {"spec":…}`
};
std::optional<Wanted> read_wanted(const config::Node& node, const std::string& path, config::Problems& problems);

// A list in the file; each element with its place.
struct Listed {
  config::Position at;
  boost::json::value value;
};

struct Expectation {
  config::Position at;       // of the key `expect`
  std::optional<int> calls;  // how many
  std::optional<std::vector<Listed>> call_list;
  std::optional<std::vector<Listed>> operations;
  std::vector<Wanted> objects, absent;
  std::vector<Listed> events;
  std::vector<Listed> log;  // texts
  bool only = false;        // nothing but the calls and operations that are listed
  config::Position calls_at, operations_at;
};

struct WaitFor {
  enum class What { kTime, kObject, kAbsent, kCalled, kIdle } what = What::kTime;
  Duration time{0};  // kTime
  std::optional<Wanted> object;
  std::string hook;  // kCalled
  int times = 1;     // kCalled: calls since the start of the scenario or test
  Duration timeout = std::chrono::seconds(30);
};

struct Failing {
  enum class What { kHook, kApi, kWatch } what = What::kHook;
  std::string hook;
  int exit = 1;
  int times = 1;
  // kApi
  int code = 0;
  int retry_after_seconds = 0;
  std::string method, path, verb, resource, ns, name;
  bool lost_answer = false;  // the write happens, its answer is lost
  // kWatch
  bool silent = false;  // instead of cut
};

struct SourceEvent {
  std::string hook, binding;
  std::string data;                    // JSON text; "" = made of `content`, for a source that is a file
  std::optional<std::string> old;      // JSON text
  std::optional<std::string> content;  // unset: the file is not there
};

struct Step {
  enum class Kind { kObjects, kSource, kAdvance, kWait, kExpect, kFail, kRestart, kRun, kPost, kSay } kind = Kind::kSay;
  config::Position at;                       // of its key
  std::string name;                          // its key: "apply"
  std::string text;                          // kSay
  std::vector<apply::Operation> operations;  // kObjects
  std::vector<std::string> files;            // from which they came
  Duration time{0};                          // kAdvance
  WaitFor wait;
  Expectation expect;
  Failing fail;
  SourceEvent source;
  Post post;
  std::vector<std::string> command;  // kRun
  std::string describe() const;      // one line for people: "delete Pod default/web-0"
};

struct StepRules {
  bool test = false;    // advance and expect are allowed
  bool update = false;  // an empty `expect` is no error: it will be filled
  std::string folder;   // of the file: where files named in it are looked up
};

// The list under `key`; what is wrong goes to the reader's problems.
std::vector<Step> read_steps(config::Reader& top, std::string_view key, const StepRules& rules);
// A list of files and inline manifests, or one of them, under `key`.
std::vector<apply::Operation> read_manifests(config::Reader& reader, std::string_view key, apply::Verb verb,
                                             const std::string& folder);
// `files`, if given, takes the files that were read.
std::vector<apply::Operation> manifests_of(const config::Node& node, std::string_view path, apply::Verb verb,
                                           const std::string& folder, config::Problems& problems,
                                           std::vector<std::string>* files = nullptr);
// expectation_reader.cc
void read_expectation(config::Reader& reader, Expectation& out, bool may_be_empty);
std::optional<boost::json::value> json_of(const config::Node& node, std::string_view path, config::Problems& problems);

}  // namespace hookd::rehearsal
