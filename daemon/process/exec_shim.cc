#include "process/exec_shim.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <utility>

#include "process/program.h"

namespace hookd::process {
namespace {

constexpr int kCannotRun = 126;
constexpr int kNotFound = 127;

std::string errno_text(int error) { return std::generic_category().message(error); }

template <class Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Identity {
  std::optional<uid_t> uid;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  std::string home = "/";
};

// The number -1 means "leave as it is" to setresuid and setresgid: as an id it would keep the rights of root.
template <class Id>
std::optional<Id> id_number(std::string_view text) {
  const auto id = number<Id>(text);
  return id && *id == static_cast<Id>(-1) ? std::nullopt : id;
}

Result<gid_t> find_group(const std::string& name) {
  if (const auto gid = id_number<gid_t>(name)) return *gid;
  errno = 0;
  if (const group* entry = ::getgrnam(name.c_str())) return entry->gr_gid;
  return fail(Errc::kHookFailed, "no such group: {}", name);
}

Result<Identity> find_identity(const std::string& user) {
  const size_t colon = user.find(':');
  const std::string name = user.substr(0, colon);
  Identity identity;
  std::string known_as;  // for the supplementary groups
  if (!name.empty()) {
    const auto uid = id_number<uid_t>(name);
    const passwd* entry = uid ? ::getpwuid(*uid) : ::getpwnam(name.c_str());
    if (!entry && !uid) return fail(Errc::kHookFailed, "no such user");
    identity.uid = entry ? entry->pw_uid : *uid;
    identity.gid = entry ? entry->pw_gid : *uid;
    if (entry) {
      known_as = entry->pw_name;
      identity.home = entry->pw_dir;
    }
  }
  if (colon != std::string::npos) {
    HOOKD_TRY(identity.gid, find_group(user.substr(colon + 1)));
    identity.groups = {identity.gid};
  } else if (!known_as.empty()) {
    int count = NGROUPS_MAX;
    identity.groups.resize(static_cast<size_t>(count));
    ::getgrouplist(known_as.c_str(), identity.gid, identity.groups.data(), &count);
    identity.groups.resize(static_cast<size_t>(std::max(count, 0)));
  } else {
    identity.groups = {identity.gid};
  }
  return identity;
}

// 0 or an errno.
int become(const Identity& identity) {
  const uid_t uid = identity.uid.value_or(::geteuid());
  const bool is_it =
      ::getuid() == uid && ::geteuid() == uid && ::getgid() == identity.gid && ::getegid() == identity.gid;
  if (is_it && uid != 0) return 0;
  if (::setgroups(identity.groups.size(), identity.groups.data()) != 0)
    return is_it ? 0 : errno;  // root without CAP_SETGID
  if (::setresgid(identity.gid, identity.gid, identity.gid) != 0) return errno;
  if (::setresuid(uid, uid, uid) != 0) return errno;
  // The kernel takes capabilities away only from who was root: those that a service manager gave to a hookd of another
  // user (AmbientCapabilities=CAP_SETUID) would let the command become root. Source: capabilities(7).
  if (uid != 0) ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  return 0;
}

struct Limit {
  std::string_view option;
  const char* name;
  decltype(RLIMIT_AS) resource;
  std::optional<rlim_t> value;
};

// Lowers only: a limit is "at most", and raising would need root. 0 or an errno.
int apply(const Limit& limit) {
  rlimit now{};
  if (::getrlimit(limit.resource, &now) != 0) return errno;
  rlim_t soft = std::min(*limit.value, now.rlim_max);
  rlim_t hard = soft;
  // SIGXCPU first, which names the reason, and SIGKILL a second later for whoever ignores it.
  if (limit.resource == RLIMIT_CPU) hard = std::min(soft + 1, now.rlim_max);
  const rlimit wanted{soft, hard};
  return ::setrlimit(limit.resource, &wanted) == 0 ? 0 : errno;
}

struct Request {
  std::string user;
  std::string own_folder;
  std::string cgroup_procs;
  std::array<Limit, 3> limits{{{"--cpu", "cpu seconds", RLIMIT_CPU, {}},
                               {"--files", "open files", RLIMIT_NOFILE, {}},
                               {"--processes", "processes", RLIMIT_NPROC, {}}}};
  Limit memory{"--memory", "memory", RLIMIT_AS, {}};
  int status_fd = -1;
  char** command = nullptr;
};

// Fills `request` as far as it gets: the status descriptor is needed to tell of the rest.
Result<void> parse(int argc, char** argv, Request& request) {
  int at = 2;
  for (; at < argc && std::string_view(argv[at]) != "--"; at += 2) {
    const std::string_view option = argv[at];
    const std::string_view value = at + 1 < argc ? argv[at + 1] : "";
    if (option == "--user" || option == "--own" || option == "--cgroup") {
      (option == "--user" ? request.user : option == "--own" ? request.own_folder : request.cgroup_procs) = value;
      continue;
    }
    const auto amount = number<rlim_t>(value);
    const auto limit = std::ranges::find(request.limits, option, &Limit::option);
    if (amount && option == "--status-fd" && *amount <= INT_MAX) {
      request.status_fd = static_cast<int>(*amount);
      ::fcntl(request.status_fd, F_SETFD, FD_CLOEXEC);
    } else if (amount && option == request.memory.option) {
      request.memory.value = amount;
    } else if (amount && limit != request.limits.end()) {
      limit->value = amount;
    } else {
      return fail(Errc::kInvalid, "{}: wrong argument of {}: \"{}\"", kShimCommand, option, value);
    }
  }
  if (at + 1 >= argc) return fail(Errc::kInvalid, "{}: no command after --", kShimCommand);
  request.command = argv + at + 1;
  return {};
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return;
    text.remove_prefix(static_cast<size_t>(put));
  }
}

}  // namespace

std::vector<std::string> shim_arguments(const ChildSpec& spec, const ShimExtras& extras) {
  std::vector<std::string> arguments{"hookd", std::string(kShimCommand), "--status-fd", std::to_string(kShimStatusFd)};
  const auto add = [&](const char* option, std::string value) {
    arguments.emplace_back(option);
    arguments.push_back(std::move(value));
  };
  if (!extras.cgroup_procs.empty()) add("--cgroup", extras.cgroup_procs);
  if (!extras.own_folder.empty()) add("--own", extras.own_folder);
  if (!spec.user.empty()) add("--user", spec.user);
  if (spec.limits.memory_bytes && !extras.memory_limited) add("--memory", std::to_string(*spec.limits.memory_bytes));
  if (spec.limits.cpu) add("--cpu", std::to_string(std::chrono::ceil<std::chrono::seconds>(*spec.limits.cpu).count()));
  if (spec.limits.open_files) add("--files", std::to_string(*spec.limits.open_files));
  if (spec.limits.processes && !extras.processes_limited) add("--processes", std::to_string(*spec.limits.processes));
  arguments.emplace_back("--");
  arguments.insert(arguments.end(), spec.command.begin(), spec.command.end());
  return arguments;
}

int run_exec_shim(int argc, char** argv) {
  Request request;
  const auto give_up = [&](int code, const std::string& text) {
    for (const std::string_view part : {std::string_view("hookd: "), std::string_view(text), std::string_view("\n")})
      write_all(2, part);
    if (request.status_fd >= 0) write_all(request.status_fd, text);
    return code;
  };
  if (auto parsed = parse(argc, argv, request); !parsed) return give_up(kCannotRun, parsed.error().what);
  const auto limited = [&](const Limit& limit) {
    const int error = limit.value ? apply(limit) : 0;
    if (error)
      give_up(kCannotRun, fmt::format("cannot limit {} to {}: {}", limit.name, *limit.value, errno_text(error)));
    return error == 0;
  };
  const auto cannot_become = [&](const std::string& why) {
    return give_up(kCannotRun, fmt::format("cannot become user \"{}\": {}", request.user, why));
  };

  // First: it needs hookd's rights, and what follows is to count there.
  if (!request.cgroup_procs.empty()) {
    const int file = ::open(request.cgroup_procs.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0 || ::write(file, "0", 1) != 1)
      return give_up(kCannotRun,
                     fmt::format("cannot enter the cgroup {}: {}", request.cgroup_procs, errno_text(errno)));
    ::close(file);
  }
  Identity identity;
  if (!request.user.empty()) {
    auto found = find_identity(request.user);
    if (!found) return cannot_become(found.error().what);
    identity = *std::move(found);
  }
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  for (const Limit& limit : request.limits)
    if (!limited(limit)) return kCannotRun;
  // Only hookd writes where it lies, so the name means what was made. A hookd that may not give it away runs as that
  // user.
  if (!request.own_folder.empty() && ::geteuid() == 0 &&
      ::lchown(request.own_folder.c_str(), identity.uid.value_or(static_cast<uid_t>(-1)), identity.gid) != 0)
    return give_up(kCannotRun, fmt::format("cannot give {} to user \"{}\": {} (hookd needs CAP_CHOWN for it)",
                                           request.own_folder, request.user, errno_text(errno)));
  if (!request.user.empty()) {
    if (const int error = become(identity))
      return cannot_become(errno_text(error) + (::geteuid() == 0
                                                    ? " (hookd needs CAP_SETUID and CAP_SETGID for it)"
                                                    : " (only a hookd that runs as root can change the user)"));
    if (identity.uid) ::setenv("HOME", identity.home.c_str(), 0);
  }
  // Looked up as the new user, who may see other folders than hookd.
  auto program = find_program(request.command[0], {}, search_path(environ));
  if (!program) return give_up(kNotFound, program.error().what);
  // Under the limit there may be no memory left for us, who need more than the command may be given: it comes last, and
  // what could be said after it is written before.
  std::vector<std::pair<int, std::string>> prepared;
  if (request.memory.value)
    for (const int error : {ENOENT, EACCES, ENOEXEC, EAGAIN, ENOMEM})
      prepared.emplace_back(error, explain_exec_error(*program, {}, error));
  if (!limited(request.memory)) return kCannotRun;
  ::execve(program->c_str(), request.command, environ);
  const int error = errno;
  const int code = error == ENOENT ? kNotFound : kCannotRun;
  const auto text = std::ranges::find(prepared, error, &std::pair<int, std::string>::first);
  return give_up(code, text == prepared.end() ? explain_exec_error(*program, {}, error) : text->second);
}

}  // namespace hookd::process
