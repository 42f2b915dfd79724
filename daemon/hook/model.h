// A hook as the pipeline sees it, whichever front-end loaded it. Plain values. Thread: any once loaded.
// Source: product.md section 1; every field's meaning and default stands in config/README.md.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apply/allow.h"
#include "base/scheduler.h"
#include "cache/label_selector.h"
#include "config/guard.h"
#include "filter/filter.h"
#include "hook/namespaces.h"
#include "hook/reconcile_model.h"
#include "process/launcher.h"

namespace hookd::hook {

class ReconcilerMaker;  // hook/reconciler.h

// `run.mode: worker`: processes that stay (hook/worker_pool.h).
struct Worker {
  int processes = 1;        // `workers`
  int calls_at_once = 8;    // open in one process
  bool says_ready = false;  // `ready: line`: no call before it wrote {"ready":true}
  Duration ready_timeout = std::chrono::seconds(30);
  int64_t max_calls = 0;          // replaced by a fresh process after so many, 0 = never
  uint64_t max_memory_bytes = 0;  // replaced when its resident memory is above, 0 = never
};

// `run.url`: calls are POSTed (hook/url_caller.h). Files are read anew when they change.
struct UrlTarget {
  std::string url;  // http or https; "" = the hook has a command
  std::map<std::string, std::string> headers;
  std::string ca_file, certificate_file, key_file;  // PEM; "" = the system's roots, no client certificate
  std::string server_name;                          // "" = the URL's host
  bool insecure = false;
  std::string bearer_file;                              // its trimmed content goes into Authorization: Bearer
  std::string hmac_file;                                // the key of X-Hub-Signature-256 (as GitHub signs)
  Duration connect_timeout = std::chrono::seconds(10);  // within run.timeout
};

struct Run {
  enum class Mode { kOnce, kWorker, kUrl } mode = Mode::kOnce;
  Worker worker;
  UrlTarget url;
  std::vector<std::string> command;  // command[0] made absolute against the hook's folder if it has a slash
  std::string directory;             // the hook file's folder; the working directory
  Duration timeout = std::chrono::seconds(30);
  Duration grace = std::chrono::seconds(5);
  std::map<std::string, std::string> env;
  bool inherit_all = true;                // inheritEnv absent or true
  std::vector<std::string> inherit_only;  // with inherit_all false: these names (and PATH, HOME, LANG, TZ)
  std::string user;
  process::Limits limits;
};

struct Retry {
  Duration initial = std::chrono::seconds(1);
  Duration max = std::chrono::minutes(5);
  int attempts = 0;  // 0 = for ever
  enum class GiveUp { kPark, kDrop } on_give_up = GiveUp::kPark;
};

struct Batch {  // events in one call; events of one object stay in order
  int max = 1;
  Duration window{0};  // how long the first may wait for others
};

using Guard = config::Guard;  // a fuse: past it the hook is paused and a person decides (hook/guard.h)

// One JSON value that an answer leaves for the next call (hook/call_state.h).
struct StateOptions {
  enum class Per { kHook, kObject } per = Per::kHook;
  uint64_t limit_bytes = 64u << 10;
};

struct WatchBinding {
  std::string name;         // unique in the hook; default: the kind in lower case
  std::string api_version;  // "" = whatever the server prefers
  std::string kind;         // Kind, plural or short name
  Namespaces namespaces;
  std::vector<std::string> names;  // metadata.name, empty = any
  std::optional<cache::LabelSelector> label_selector;
  std::string field_selector;                          // as the server takes it
  bool added = true, modified = true, deleted = true;  // events; all false = snapshot only
  enum class Existing { kAdded, kSync, kNone } existing = Existing::kAdded;
  bool metadata_only = false;
  std::shared_ptr<const filter::Filter> when;   // null = always
  Duration hold_for{0};                         // `for`
  std::shared_ptr<const filter::Filter> since;  // null = first seen
  std::shared_ptr<const filter::Filter> value;  // null = the whole object counts as changed
  enum class Keep { kObject, kValue, kNone } keep = Keep::kObject;
  bool ignore_own_writes = false;
  bool coalesce = true;  // latest | none
  std::vector<std::string> include;
  int line = 0;  // where it stands, for messages
  bool snapshot_only() const { return !added && !modified && !deleted; }
};

struct ScheduleBinding {
  std::string name;
  std::optional<Duration> every;
  std::string cron;       // with `every` unset; checked by the loader
  std::string time_zone;  // IANA name, "" = UTC
  Duration jitter{0};
  enum class Overlap { kSkip, kQueue } overlap = Overlap::kSkip;
  enum class Missed { kRunOnce, kSkip } missed = Missed::kRunOnce;
  std::vector<std::string> include;
};

// Events from outside Kubernetes (trigger/source_trigger.h). Exactly one of command, file and http is set.
struct SourceBinding {
  std::string name;
  std::vector<std::string> command;                  // each line of its stdout is an event; command[0] as in Run
  uint64_t max_line_bytes = 1u << 20;                // command: a longer line is skipped
  std::string file;                                  // a file or folder, absolute
  Duration settle = std::chrono::milliseconds(500);  // file: quiet this long before the event
  uint64_t max_file_bytes = 1u << 20;                // file: of a larger one only size and hash are told
  bool existing = true;                              // file: an event at the start with what is there
  std::string http;                                  // path under the daemon's address, with its slash
  enum class Check { kHmac, kBearer, kNone } check = Check::kHmac;  // http
  struct SecretFrom {
    std::string file;           // absolute, or
    std::string ns, name, key;  // of a Kubernetes Secret
    bool set() const { return !file.empty() || !name.empty(); }
  } secret_from;
  std::string header;            // http, lower case: carries signature or token; "" = the usual one
  std::string timestamp_header;  // http, lower case: the signature is over its value, "." and the body; "" = the body
  uint64_t max_body_bytes = 1u << 20;                // http
  Duration replay_window = std::chrono::minutes(5);  // http: a delivery seen within it is refused; 0 = none is
  bool reply_handled = false;                        // http: the POST is answered when its call succeeded
  Duration reply_within = std::chrono::seconds(25);  // http: at the latest
  std::shared_ptr<const filter::Filter> when;        // of the data; null = always
  std::shared_ptr<const filter::Filter> key;         // events of different keys may run at once; null = one key
  int buffer = 1024;                                 // events waiting before the source is slowed
  std::vector<std::string> include;
  int line = 0;
};

struct Startup {
  int order = 0;  // ascending over all hooks, then by hook name
  std::vector<std::string> include;
};

struct Hook {
  std::string name;  // unique in the daemon: DNS label style, at most 100 characters
  std::string path;  // of the file that declares it
  int line = 0;      // of its name in there, for messages
  int column = 0;
  uint64_t content_hash =
      0;  // of the declaring file and the executable's identity: a reload restarts only what changed
  Run run;
  int concurrency = 1;
  Retry retry;
  Batch batch;
  Guard guard;
  std::optional<StateOptions> state;
  std::vector<WatchBinding> watches;
  std::vector<ScheduleBinding> schedules;
  std::vector<SourceBinding> sources;
  std::optional<Startup> startup;
  // With it there are no watches, schedules and start-up; sources call its keys. The queue's defaults are others:
  // concurrency 5, back-off 5 ms doubling to 1000 s.
  std::optional<Reconcile> reconcile;
  std::vector<HeldKind> holds;  // what it puts finalizers on
  // Set by a front-end of compat/ that brings a reconciler of its own; null = the native one.
  std::shared_ptr<const ReconcilerMaker> reconciler;
  std::optional<std::vector<apply::AllowRule>> allow;  // unset = everything the daemon may
  bool reconciles() const { return reconcile || reconciler; }
  const WatchBinding* find_watch(std::string_view binding) const;
};

}  // namespace hookd::hook
