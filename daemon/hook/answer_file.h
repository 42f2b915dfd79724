// The file named by HOOKD_ANSWER, into which a hook that prints much else may write its answer. Thread: loop only.
// Source: product.md section 3.
#pragma once

#include <string>

#include "base/result.h"

namespace hookd::hook {

class AnswerFile {
 public:
  // `runtime_dir` is private to the daemon. A hook that runs as another user cannot write there: it gets a folder where
  // anybody may make a file, but nobody may look what is there. The name is the secret then, so it is not the call's
  // id, which stands in the log.
  AnswerFile(const std::string& runtime_dir, const std::string& call_id, bool other_user);

  const std::string& path() const { return path_; }
  // What the hook wrote; the file is gone then. Errors: kNotFound where it wrote none; as read_regular_file: what lies
  // there may be a trap: a link, a pipe.
  Result<std::string> take(size_t limit_bytes) const;

 private:
  std::string path_;
};

}  // namespace hookd::hook
