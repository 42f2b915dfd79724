#include "process/cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/fd.h"
#include "process/proc.h"

namespace hookd::process {
namespace {

constexpr char kOwnGroup[] = "hookd-daemon";

std::string errno_text(int error) { return std::generic_category().message(error); }

// 0 or an errno. In a cgroup no file can be created (EACCES); in the folder of a test it can.
int write_text(const std::string& path, std::string_view text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!file) return errno;
  return ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : errno;
}

std::vector<std::string> words(std::string_view line, char separator = ' ') {
  std::vector<std::string> all;
  while (!line.empty()) {
    const size_t end = std::min(line.find(separator), line.size());
    if (end > 0) all.emplace_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return all;
}

std::vector<std::string> lines_of(const std::string& path) {
  const auto text = read_file(path, 4u << 20);
  return text ? words(*text, '\n') : std::vector<std::string>{};
}

bool has_word(const std::string& path, std::string_view word) {
  return std::ranges::any_of(lines_of(path), [&](const std::string& line) {
    const auto all = words(line);
    return std::ranges::find(all, word) != all.end();
  });
}

// The folder of the cgroup v2 that this process is in; "" = there is none, or it is outside of what is mounted.
std::string own_cgroup(const CgroupPlaces& places) {
  std::optional<std::string> own;
  for (const std::string& line : lines_of(places.self))
    if (line.starts_with("0::")) own = line.substr(3);
  if (!own) return {};
  // 36 35 0:30 ROOT MOUNTPOINT options… - cgroup2 …
  for (const std::string& line : lines_of(places.mounts)) {
    const auto fields = words(line);
    const auto dash = std::ranges::find(fields, "-");
    if (fields.size() < 6 || dash == fields.end() || dash + 1 == fields.end() || *(dash + 1) != "cgroup2") continue;
    const std::string& root = fields[3];
    const std::string inside = root == "/" ? *own : own->starts_with(root) ? own->substr(root.size()) : "../";
    if (inside.starts_with("..") || inside.starts_with("/..")) continue;
    return fields[4] + (inside == "/" ? "" : inside);
  }
  return {};
}

bool is_delegated(const std::string& path) {
  char value[8];
  for (const char* name : {"user.delegate", "trusted.delegate"}) {
    const ssize_t size = ::getxattr(path.c_str(), name, value, sizeof value);
    if (size == 1 && value[0] == '1') return true;
  }
  return false;
}

// Why hookd's own cgroup cannot be used, "" = it can.
std::string refusal(const std::string& path) {
  if (path.empty()) return "no cgroup v2 is mounted";
  if (::access((path + "/cgroup.type").c_str(), F_OK) != 0) return "hookd is in the root cgroup, which is nobody's own";
  if (::access(path.c_str(), W_OK) != 0 || ::access((path + "/cgroup.procs").c_str(), W_OK) != 0)
    return fmt::format("{} cannot be written", path);
  if (path.ends_with(".service") && !is_delegated(path))
    return fmt::format("{} is systemd's; Delegate=yes in the unit leaves it to hookd", path);
  return {};
}

}  // namespace

Result<std::shared_ptr<Cgroups>> Cgroups::open(const std::string& setting, std::string& why_not,
                                               const CgroupPlaces& places) {
  why_not.clear();
  if (setting == "off") {
    why_not = "cgroup: off";
    return nullptr;
  }
  const bool automatic = setting == "auto";
  std::string path = automatic ? own_cgroup(places) : setting;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (automatic) {
    why_not = refusal(path);
    if (!why_not.empty()) return nullptr;
    const std::string own = path + "/" + kOwnGroup;
    int error = ::mkdir(own.c_str(), 0755) == 0 || errno == EEXIST ? 0 : errno;
    if (error == 0) error = write_text(own + "/cgroup.procs", "0");
    if (error != 0) {
      why_not = fmt::format("{}: {}", own, errno_text(error));
      ::rmdir(own.c_str());
      return nullptr;
    }
  } else if (::access((path + "/cgroup.procs").c_str(), W_OK) != 0) {
    return fail(Errc::kConfig, "cgroup: {}: {}; expected the folder of a cgroup v2 that hookd may write", path,
                errno_text(errno));
  }
  std::shared_ptr<Cgroups> cgroups(new Cgroups(std::move(path)));
  cgroups->enable_controllers();
  return cgroups;
}

// One by one: where one is missing (it may belong to a cgroup v1) the other is still of use.
void Cgroups::enable_controllers() {
  const std::string control = path_ + "/cgroup.subtree_control";
  for (const auto& [name, flag] : {std::pair{"memory", &memory_}, std::pair{"pids", &pids_}}) {
    if (!has_word(path_ + "/cgroup.controllers", name)) continue;
    *flag = has_word(control, name) || write_text(control, fmt::format("+{}", name)) == 0;
  }
  // Left by a hookd that was killed.
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path_, error))
    if (entry.path().filename().string().starts_with("hook-")) {
      write_text(entry.path().string() + "/cgroup.kill", "1");
      remove(entry.path().string());
    }
}

Cgroups::~Cgroups() { remove_dying(); }

void Cgroups::remove(std::string path) {
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return;
  dying_.push_back(std::move(path));
  if (on_dying_) on_dying_();
}

bool Cgroups::remove_dying() {
  std::erase_if(dying_, [](const std::string& path) { return ::rmdir(path.c_str()) == 0 || errno == ENOENT; });
  return dying_.empty();
}

Result<std::unique_ptr<Cgroup>> Cgroup::make(std::shared_ptr<Cgroups> owner, const std::string& name,
                                             const Limits& limits) {
  const Cgroups& all = *owner;
  const std::string path = all.path_ + "/hook-" + name;
  if (::mkdir(path.c_str(), 0755) != 0)
    return fail(Errc::kHookFailed, "no cgroup can be made: {}: {}", path, errno_text(errno));
  std::unique_ptr<Cgroup> group(new Cgroup(std::move(owner), path));
  const auto limit = [&](const char* file, const std::string& value) -> Result<void> {
    if (const int error = write_text(path + "/" + file, value))
      return fail(Errc::kHookFailed, "the cgroup cannot be limited: {}/{}: {}", path, file, errno_text(error));
    return {};
  };
  if (all.memory_ && limits.memory_bytes) {
    HOOKD_CHECK(limit("memory.max", std::to_string(*limits.memory_bytes)));
    write_text(path + "/memory.swap.max", "0");   // else the limit only makes it slow; absent without swap accounting
    write_text(path + "/memory.oom.group", "1");  // half a pipeline would go on with half of its input
  }
  if (all.pids_ && limits.processes) HOOKD_CHECK(limit("pids.max", std::to_string(*limits.processes)));
  return group;
}

Cgroup::~Cgroup() {
  kill(0);
  owner_->remove(path_);
}

std::vector<Leftover> Cgroup::kill(int group) {
  std::vector<Leftover> others;
  const auto pids = [&] {
    std::vector<int> all;
    for (const std::string& line : lines_of(procs_file())) {
      int pid = 0;
      std::from_chars(line.data(), line.data() + line.size(), pid);
      if (pid > 0) all.push_back(pid);
    }
    return all;
  };
  for (const int pid : pids())
    if (::getpgid(pid) != group) others.push_back({pid, name_of(pid)});
  if (write_text(path_ + "/cgroup.kill", "1") == 0) return others;
  // Before Linux 5.14 one by one, until nobody forks any more.
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    const auto left = pids();
    if (left.empty()) break;
    for (const int pid : left) ::kill(pid, SIGKILL);
  }
  return others;
}

bool Cgroup::out_of_memory() const {
  for (const std::string& line : lines_of(path_ + "/memory.events")) {
    const auto fields = words(line);
    if (fields.size() == 2 && fields[0] == "oom_kill" && fields[1] != "0") return true;
  }
  return false;
}

uint64_t Cgroup::peak_memory() const {
  uint64_t bytes = 0;
  for (const std::string& line : lines_of(path_ + "/memory.peak"))
    std::from_chars(line.data(), line.data() + line.size(), bytes);
  return bytes;
}

}  // namespace hookd::process
