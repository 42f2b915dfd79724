// Loads hook.yaml, NAME.hook.yaml (and .yml) into the model of hook/model.h. A broken hook is reported with
// FILE:LINE:COLUMN and stops no other. Source: product.md section 1; config/hook.schema.json tells the same to
// editors (tests/unit/hook/native_schema_test.cc holds them together). Thread: any.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/problem.h"
#include "hook/model.h"

namespace hookd::hook {

using LoadError = config::Problem;  // {file, line, column, message}; text() = "FILE:LINE:COLUMN: message"

struct LoadResult {
  std::vector<std::shared_ptr<const Hook>> hooks;  // in the order of their files' paths
  std::vector<LoadError> errors;
};

// Checks a cron expression and a time zone ("" = UTC); trigger/cron provides it. Errors: kConfig.
using CronCheck = std::function<Result<void>(std::string_view cron, std::string_view zone)>;

struct LoadOptions {
  CronCheck cron_check;     // empty = not checked
  bool check_files = true;  // that the command exists and can be run; off for texts without a folder (fuzzing)
  std::string path;         // where commands without a slash are looked up; "" = PATH of the daemon
  config::Problems* record = nullptr;  // takes the known keys, for the test against the schema
};

// Walks each folder recursively in the order of names. Symbolic links are followed, each folder and file is visited
// once however many links lead to it, names that begin with ".." are left out (ConfigMap mounts keep their twins
// there). Every second hook of one name is an error. Bounds: 10,000 hook files, 64 levels, 1 MiB a file.
LoadResult load_hooks(const std::vector<std::string>& directories, const LoadOptions& options = {});

// Why the hook must not run beside those others: it would take off a finalizer that another one put on, or delete what
// another one makes. "" = it may.
std::string clash(const std::vector<const Hook*>& others, const Hook& hook);

// One file's text; `file` is its absolute path. Several documents are several hooks. Appends to `result`, does not
// look for doubled names.
void load_hook_text(std::string_view text, const std::string& file, const LoadOptions& options, LoadResult& result);

}  // namespace hookd::hook
