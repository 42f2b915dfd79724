// What a child is enclosed in, from before its start to after its end: its temporary folder, its cgroup, and the mark
// in its environment by which what it leaves running is found. Thread: loop only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "process/cgroup.h"
#include "process/launcher.h"
#include "process/temp_folder.h"

namespace hookd::process {

// What spawn() and the shim have to know beside the spec.
struct ShimExtras {
  std::string own_folder;          // to be given to the spec's user, "" = none
  std::string cgroup_procs;        // cgroup.procs to enter, "" = none
  bool memory_limited = false;     // by the cgroup: then not by RLIMIT_AS too, which counts what is only reserved
  bool processes_limited = false;  // likewise, and RLIMIT_NPROC counts the user's processes everywhere
};

class Enclosure {
 public:
  // Changes `spec`: TMPDIR and HOOKD_CHILD_ID in its environment. `cgroups` may be null. Errors: kHookFailed.
  static Result<std::shared_ptr<Enclosure>> make(ChildSpec& spec, const std::shared_ptr<Cgroups>& cgroups,
                                                 const std::shared_ptr<TempRemover>& remover);

  const ShimExtras& extras() const { return extras_; }

  // The child has ended, and its process group (of this number) got SIGKILL: ends whatever is left, says so in the log,
  // and adds to `exit` what the cgroup knows. The first time only.
  void end(int group, const std::function<bool(int pid)>& is_ours, ChildExit* exit);

 private:
  std::string hook_, call_;  // for the log
  std::string mark_;
  ShimExtras extras_;
  std::unique_ptr<TempFolder> folder_;  // goes after the cgroup: nobody writes to it any more then
  std::unique_ptr<Cgroup> cgroup_;
  bool ended_ = false;
};

}  // namespace hookd::process
