#include "process/enclosure.h"

#include <algorithm>
#include <random>

#include "base/log.h"

namespace hookd::process {
namespace {

std::string variable(const ChildSpec& spec, std::string_view name_with_equals) {
  for (const std::string& entry : spec.environment)
    if (entry.starts_with(name_with_equals)) return entry.substr(name_with_equals.size());
  return {};
}

void set_variable(ChildSpec& spec, std::string_view name_with_equals, const std::string& value) {
  std::erase_if(spec.environment, [&](const std::string& entry) { return entry.starts_with(name_with_equals); });
  spec.environment.push_back(std::string(name_with_equals) + value);
}

}  // namespace

Result<std::shared_ptr<Enclosure>> Enclosure::make(ChildSpec& spec, const std::shared_ptr<Cgroups>& cgroups,
                                                   const std::shared_ptr<TempRemover>& remover) {
  auto enclosure = std::make_shared<Enclosure>();
  enclosure->hook_ = variable(spec, "HOOKD_HOOK=");
  enclosure->call_ = variable(spec, "HOOKD_CALL_ID=");
  if (spec.temp_parent.empty()) return enclosure;
  static std::random_device random;  // opening one costs more than asking it
  const std::string id = fmt::format("{:08x}{:08x}", random(), random());
  enclosure->mark_ = child_mark(spec.temp_parent, id);
  set_variable(spec, kChildMark, enclosure->mark_.substr(kChildMark.size()));
  HOOKD_TRY(enclosure->folder_, TempFolder::make(spec.temp_parent, remover));
  if (!spec.keep_tmpdir) set_variable(spec, "TMPDIR=", enclosure->folder_->path());
  if (!spec.user.empty()) enclosure->extras_.own_folder = enclosure->folder_->path();
  if (cgroups) {
    HOOKD_TRY(enclosure->cgroup_, Cgroup::make(cgroups, id, spec.limits));
    enclosure->extras_.cgroup_procs = enclosure->cgroup_->procs_file();
    enclosure->extras_.memory_limited = cgroups->limits_memory();
    enclosure->extras_.processes_limited = cgroups->limits_processes();
  }
  return enclosure;
}

void Enclosure::end(int group, const std::function<bool(int pid)>& is_ours, ChildExit* exit) {
  if (std::exchange(ended_, true)) return;
  std::vector<Leftover> left;
  if (cgroup_) {
    if (exit) {
      exit->out_of_memory = cgroup_->out_of_memory();
      if (const uint64_t peak = cgroup_->peak_memory()) exit->max_rss_bytes = peak;
    }
    left = cgroup_->kill(group);
  } else if (!mark_.empty()) {
    left = kill_leftovers(mark_, is_ours);
  }
  if (!left.empty())
    log::warn("the hook left processes running, they were killed",
              {{"hook", hook_}, {"call", call_}, {"processes", describe(left)}});
  cgroup_.reset();
  folder_.reset();
}

}  // namespace hookd::process
