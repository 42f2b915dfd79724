#include "hook/answer_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <random>

#include "base/fd.h"
#include "base/log.h"

namespace hookd::hook {

AnswerFile::AnswerFile(const std::string& runtime_dir, const std::string& call_id, bool other_user)
    : path_(runtime_dir + "/answer-" + call_id) {
  if (!other_user) return;
  const std::string folder = runtime_dir + "/answers";
  if (::mkdir(folder.c_str(), 0733) == 0 && ::chmod(folder.c_str(), 01733) != 0)
    log::warn("hooks of other users cannot write an answer file", {{"folder", folder}});
  std::random_device secret;
  path_ = fmt::format("{}/{:08x}{:08x}{:08x}{:08x}", folder, secret(), secret(), secret(), secret());
}

Result<std::string> AnswerFile::take(size_t limit_bytes) const {
  auto content = read_regular_file(path_, limit_bytes);
  ::unlink(path_.c_str());
  return content;
}

}  // namespace hookd::hook
