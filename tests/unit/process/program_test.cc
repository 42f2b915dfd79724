#include "process/program.h"

#include <cerrno>

#include "run_child.h"

namespace hookd::process {
namespace {

TEST(Program, PathIsSearchedInOrder) {
  const test::ScratchFolder folder;
  std::filesystem::create_directory(folder.path() + "/a");
  std::filesystem::create_directory(folder.path() + "/b");
  std::filesystem::create_directory(folder.path() + "/a/x");  // a folder is no program
  folder.script("b/x", "");
  folder.file("a/y", "");  // without run bit: the next one counts
  folder.script("b/y", "");
  folder.file("a/z", "");
  const std::string path = folder.path() + "/a:" + folder.path() + "/b";
  EXPECT_EQ(find_program("x", "", path).value(), folder.path() + "/b/x");
  EXPECT_EQ(find_program("y", "", path).value(), folder.path() + "/b/y");
  EXPECT_THAT(find_program("z", "", path).error().what,
              testing::StartsWith(folder.path() + "/a/z: permission denied: it has no run bit"));
  EXPECT_EQ(find_program("nope", "", "/a:/b").error().what, "nope: not found in PATH (/a:/b)");
  EXPECT_EQ(find_program("nope", "", "").error().what, "nope: not found in PATH ()");
}

TEST(Program, RelativeEntriesOfPathAreOfTheChildsDirectory) {
  const test::ScratchFolder folder;
  std::filesystem::create_directory(folder.path() + "/bin");
  folder.script("bin/x", "");
  folder.script("y", "");
  EXPECT_EQ(find_program("x", folder.path(), "/none:bin").value(), "bin/x");
  EXPECT_EQ(find_program("y", folder.path(), "/none::bin").value(), "./y");
  EXPECT_FALSE(find_program("x", "", "bin"));
}

TEST(Program, APathIsTakenAsItIs) {
  const test::ScratchFolder folder;
  folder.script("x", "");
  EXPECT_EQ(find_program("./x", folder.path(), "").value(), "./x");
  EXPECT_EQ(find_program("./x", "/", "").error().what, "./x: no such file");
  EXPECT_EQ(find_program("/bin/sh", folder.path(), "").value(), "/bin/sh");
}

TEST(Program, ExplainsWhatTheKernelMeans) {
  const test::ScratchFolder folder;
  const std::string elf = folder.script("elf",
                                        "\x7f"
                                        "ELF...");
  EXPECT_EQ(explain_exec_error(elf, "", ENOENT),
            elf + ": its dynamic loader is missing (was it built for another system, such as Alpine?)");
  folder.script("empty.sh", "#!  \n");
  EXPECT_EQ(explain_exec_error("./empty.sh", folder.path(), ENOENT),
            "./empty.sh: its first line '#!' names no interpreter");
  EXPECT_EQ(explain_exec_error("x", "", EAGAIN),
            "x: too many processes (limit of the user, the container's pids, or `limits.processes`)");
  EXPECT_EQ(explain_exec_error("x", "", ENFILE),
            "x: too many open files in hookd (raise its limit, or lower concurrency)");
  EXPECT_EQ(explain_exec_error("x", "", ETXTBSY), "x: the file is open for writing");
  EXPECT_EQ(explain_exec_error("x", "", ENOMEM), "x: Cannot allocate memory");
}

TEST(Program, FindsThePathOfAnEnvironment) {
  std::string entries[] = {"XPATH=/x", "PATH=/a:/b", "PATH=/c"};
  char* environment[] = {entries[0].data(), entries[1].data(), entries[2].data(), nullptr};
  EXPECT_EQ(search_path(environment), "/a:/b");
  char* none[] = {entries[0].data(), nullptr};
  EXPECT_EQ(search_path(none), kDefaultPath);
  EXPECT_EQ(search_path(nullptr), kDefaultPath);
}

TEST(ChildExit, DescribesItself) {
  using Kind = ChildExit::Kind;
  ChildExit exit;
  exit.code = 3;
  EXPECT_EQ(exit.describe(), "exit code 3");
  exit.kind = Kind::kSignalled;
  exit.signal = 9;
  EXPECT_EQ(exit.describe(), "killed by SIGKILL");
  exit.core = true;
  exit.signal = 11;
  EXPECT_EQ(exit.describe(), "killed by SIGSEGV (core dumped)");
  exit.core = false;
  exit.signal = 40;
  EXPECT_EQ(exit.describe(), "killed by signal 40");
  exit.kind = Kind::kTimedOut;
  exit.timeout = std::chrono::seconds(90);
  EXPECT_EQ(exit.describe(), "timed out after 1m30s");
  exit.problem = "why";
  EXPECT_EQ(exit.describe(), "why");
}

}  // namespace
}  // namespace hookd::process
