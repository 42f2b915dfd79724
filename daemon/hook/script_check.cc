#include "hook/script_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "base/fd.h"
#include "hook/content_hash.h"
#include "process/program.h"

namespace hookd::hook {
namespace {

bool runnable_file(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  text.remove_prefix(word.size());
  return word;
}

// The kernel runs what the #! line names; a name that is not there gives "no such file" about the script itself.
Result<void> check_interpreter(const std::string& path, std::string_view head, const std::string& directory,
                               std::string_view search_path) {
  std::string_view line = head.substr(2, head.find('\n') - 2);
  if (line.ends_with('\r'))
    return fail(Errc::kConfig,
                "{} has Windows line ends (CRLF), so its #! line names no program; convert it: sed -i 's/\\r$//' {}",
                path, path);
  const std::string interpreter(next_word(line));
  if (interpreter.empty()) return fail(Errc::kConfig, "{} has an empty #! line; write one such as #!/bin/sh", path);
  if (!runnable_file(interpreter))
    return fail(Errc::kConfig, "{} has the line #!{}, but there is no program {}; install it or correct the line", path,
                interpreter, interpreter);
  if (!interpreter.ends_with("/env")) return {};
  std::string_view program = next_word(line);
  if (program == "-S") program = next_word(line);
  if (program.empty() || program.starts_with('-') || program.find('=') != std::string_view::npos) return {};
  if (!process::find_program(std::string(program), directory, search_path))
    return fail(Errc::kConfig, "{} is run by {}, which is not in PATH ({}); install it or correct the #! line", path,
                program, search_path);
  return {};
}

Result<void> check_content(const std::string& path, const std::string& directory, std::string_view search_path) {
  // A program without read permission can still be run: then its content is its own business.
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return {};
  std::array<char, 256> buffer{};  // BINPRM_BUF_SIZE of Linux
  const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
  if (count < 0) return {};
  const std::string_view head(buffer.data(), static_cast<size_t>(count));
  if (head.empty()) return fail(Errc::kConfig, "{} is empty", path);
  if (head.starts_with("#!")) return check_interpreter(path, head, directory, search_path);
  const bool is_text = std::ranges::all_of(
      head, [](char c) { return static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t' || c == '\r'; });
  if (is_text)
    return fail(Errc::kConfig,
                "{} has no #! line, so nothing tells what runs it; begin it with a line such as #!/bin/sh", path);
  return {};
}

}  // namespace

Result<Executable> check_executable(const std::string& command, const std::string& directory,
                                    std::string_view search_path) {
  Executable found{command, 0};
  if (command.find('/') == std::string::npos) {
    const auto program = process::find_program(command, directory, search_path);
    if (!program)
      return fail(Errc::kConfig, "there is no program {} in PATH ({}); a script beside the hook file is written ./{}",
                  command, search_path, command);
    found.path = *program;
  }
  const std::string& path = found.path;
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return fail(Errc::kConfig, "there is no file {}", path);
    return fail(Errc::kConfig, "{} cannot be read: {}", path, std::generic_category().message(errno));
  }
  if (S_ISDIR(status.st_mode)) return fail(Errc::kConfig, "{} is a folder, not a program", path);
  if (!S_ISREG(status.st_mode)) return fail(Errc::kConfig, "{} is not a regular file", path);
  if ((status.st_mode & 0111) == 0)
    return fail(Errc::kConfig, "{} has no run bit: chmod +x {} (in a ConfigMap volume: defaultMode: 0755)", path, path);
  if (::access(path.c_str(), X_OK) != 0)
    return fail(Errc::kConfig,
                "{} may not be run by user {} (mode {:04o}, owner {}), or its file system is mounted noexec", path,
                ::geteuid(), status.st_mode & 07777, status.st_uid);
  HOOKD_CHECK(check_content(path, directory, search_path));
  const std::string identity = fmt::format("{}\n{}\n{}.{}\n{}", path, status.st_size, status.st_mtim.tv_sec,
                                           status.st_mtim.tv_nsec, status.st_ino);
  found.identity = content_hash(identity);
  return found;
}

}  // namespace hookd::hook
