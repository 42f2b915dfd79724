#include "process/program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/fd.h"

namespace hookd::process {
namespace {

std::string errno_text(int error) { return std::generic_category().message(error); }

std::string inside(const std::string& directory, const std::string& path) {
  return directory.empty() || path.starts_with('/') ? path : directory + "/" + path;
}

// 0 if `path` is a regular file that this process may run, else an errno; EISDIR for whatever is not a file.
int cannot_run(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EISDIR;
  return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

std::string refusal(const std::string& name, const std::string& path, int error) {
  switch (error) {
    case ENOENT:
      return fmt::format("{}: no such file", name);
    case EISDIR:
      return fmt::format("{}: not a file", name);
    case EACCES: {
      struct stat status{};
      if (::stat(path.c_str(), &status) == 0 && (status.st_mode & 0111) == 0)
        return fmt::format(
            "{0}: permission denied: it has no run bit (chmod +x {0}; in a ConfigMap volume: defaultMode: 0755)", name);
      return fmt::format("{}: permission denied (not for this user, a folder above it is closed, or mounted noexec?)",
                         name);
    }
    default:
      return fmt::format("{}: {}", name, errno_text(error));
  }
}

std::string first_line(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return {};
  char buffer[256];
  const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
  if (got <= 0) return {};
  const std::string_view text(buffer, static_cast<size_t>(got));
  return std::string(text.substr(0, text.find('\n')));
}

// exec says ENOENT (or EACCES) for the interpreter's sake too; the file itself has been looked at before.
std::string explain_interpreter(const std::string& program, const std::string& path, int error) {
  std::string line = first_line(path);
  if (!line.starts_with("#!")) {
    if (error == ENOENT && line.starts_with("\x7f"
                                            "ELF"))
      return fmt::format("{}: its dynamic loader is missing (was it built for another system, such as Alpine?)",
                         program);
    return {};
  }
  const bool carriage_return = line.ends_with('\r');
  if (carriage_return) line.pop_back();
  const size_t begin = line.find_first_not_of(" \t", 2);
  if (begin == std::string::npos) return fmt::format("{}: its first line '#!' names no interpreter", program);
  const std::string interpreter = line.substr(begin, line.find_first_of(" \t", begin) - begin);
  if (carriage_return)
    return fmt::format("{}: #!{}: no such file: the line ends with a carriage return (Windows line ends; use dos2unix)",
                       program, interpreter);
  return fmt::format("{}: {}", program, refusal("#!" + interpreter, interpreter, error));
}

}  // namespace

std::string_view search_path(char* const* environment) {
  for (; environment && *environment; ++environment) {
    const std::string_view entry = *environment;
    if (entry.starts_with("PATH=")) return entry.substr(5);
  }
  return kDefaultPath;
}

Result<std::string> find_program(const std::string& command, const std::string& directory, std::string_view path) {
  if (command.empty()) return fail(Errc::kHookFailed, "the command is empty");
  if (command.contains('/')) {
    const std::string file = inside(directory, command);
    if (const int error = cannot_run(file)) return fail(Errc::kHookFailed, "{}", refusal(command, file, error));
    return command;
  }
  std::string denied;  // a file of that name without the run bit is likely what was meant
  for (std::string_view rest = path;;) {
    const size_t colon = rest.find(':');
    const std::string_view entry = rest.substr(0, colon);
    std::string candidate = entry.empty() ? "./" + command : fmt::format("{}/{}", entry, command);
    const std::string file = inside(directory, candidate);
    const int error = cannot_run(file);
    if (error == 0) return candidate;
    if (error == EACCES && denied.empty() && ::access(file.c_str(), F_OK) == 0)
      denied = refusal(candidate, file, error);
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (!denied.empty()) return fail(Errc::kHookFailed, "{}", denied);
  return fail(Errc::kHookFailed, "{}: not found in PATH ({})", command, path);
}

std::string explain_exec_error(const std::string& program, const std::string& directory, int error) {
  const std::string path = inside(directory, program);
  switch (error) {
    case ENOENT:
    case EACCES:
    case ENOTDIR:
    case ELOOP: {
      if (const int own = cannot_run(path)) return refusal(program, path, own);
      if (std::string text = explain_interpreter(program, path, error); !text.empty()) return text;
      return refusal(program, path, error);
    }
    case ENOEXEC:
      return fmt::format(
          "{}: not a program: a script needs a first line such as '#!/bin/sh', a binary must be of this "
          "machine's kind",
          program);
    case EAGAIN:
      return fmt::format("{}: too many processes (limit of the user, the container's pids, or `limits.processes`)",
                         program);
    case EMFILE:
    case ENFILE:
      return fmt::format("{}: too many open files in hookd (raise its limit, or lower concurrency)", program);
    case E2BIG:
      return fmt::format("{}: arguments and environment are too long for the kernel", program);
    case ETXTBSY:
      return fmt::format("{}: the file is open for writing", program);
    default:
      return fmt::format("{}: {}", program, errno_text(error));
  }
}

}  // namespace hookd::process
