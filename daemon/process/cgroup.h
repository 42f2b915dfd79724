// cgroup v2 where hookd may write one: a group for each child, so that nothing it starts escapes its end or its limits.
// Thread: loop only. Source: Documentation/admin-guide/cgroup-v2.rst (delegation, no internal processes, cgroup.kill),
// systemd CGROUP_DELEGATION.md.
//
//   hookd's own cgroup (or the folder told)     memory and pids for those below
//     hookd-daemon                              hookd itself: a group with controllers below it may hold no process
//     hook-NAME                                 one child: memory.max, pids.max; the shim moves itself in before exec
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "process/launcher.h"
#include "process/leftovers.h"

namespace hookd::process {

struct CgroupPlaces {  // of the kernel; tests have others
  std::string self = "/proc/self/cgroup";
  std::string mounts = "/proc/self/mountinfo";
};

class Cgroups {
 public:
  // `setting`: "off", "auto" (hookd's own cgroup, if it is delegated to us), or a folder. Null with "off", and with
  // "auto" where there is none: `why_not` says why. Errors: kConfig: the folder told cannot be used.
  static Result<std::shared_ptr<Cgroups>> open(const std::string& setting, std::string& why_not,
                                               const CgroupPlaces& places = {});
  ~Cgroups();  // removes what is empty
  Cgroups(const Cgroups&) = delete;
  Cgroups& operator=(const Cgroups&) = delete;

  const std::string& path() const { return path_; }
  bool limits_memory() const { return memory_; }
  bool limits_processes() const { return pids_; }

  // A group can be removed when its killed processes are reaped. `dying` is called when one could not be at once: then
  // remove_dying() is to be called a little later, until it returns true.
  void on_dying(std::function<void()> dying) { on_dying_ = std::move(dying); }
  bool remove_dying();
  size_t dying() const { return dying_.size(); }

 private:
  friend class Cgroup;
  explicit Cgroups(std::string path) : path_(std::move(path)) {}
  void enable_controllers();
  void remove(std::string path);

  std::string path_;
  bool memory_ = false;
  bool pids_ = false;
  std::vector<std::string> dying_;
  std::function<void()> on_dying_;
};

class Cgroup {
 public:
  // Errors: kHookFailed.
  static Result<std::unique_ptr<Cgroup>> make(std::shared_ptr<Cgroups> owner, const std::string& name,
                                              const Limits& limits);
  ~Cgroup();  // kills what is left
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;

  const std::string& path() const { return path_; }
  std::string procs_file() const { return path_ + "/cgroup.procs"; }
  // SIGKILL to everything in it. Returns what was there outside of the process group `group`.
  std::vector<Leftover> kill(int group);
  bool out_of_memory() const;    // the kernel killed something in it for memory.max
  uint64_t peak_memory() const;  // bytes, of all its processes together; 0 = unknown

 private:
  Cgroup(std::shared_ptr<Cgroups> owner, std::string path) : owner_(std::move(owner)), path_(std::move(path)) {}
  std::shared_ptr<Cgroups> owner_;
  std::string path_;
};

}  // namespace hookd::process
