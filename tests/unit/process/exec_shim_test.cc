#include "process/exec_shim.h"

#include <signal.h>
#include <unistd.h>

#include "run_child.h"

namespace hookd::process {
namespace {

// The launcher starts /proc/self/exe as the shim, which here is this test program: as hookd's main does it, before
// main.
__attribute__((constructor)) void be_the_shim(int argc, char** argv) {
  if (argc > 1 && argv[1] == kShimCommand) ::_exit(run_exec_shim(argc, argv));
}

using namespace std::chrono_literals;

class ExecShimTest : public ChildTest {
 protected:
  static ChildSpec as(const std::string& user, std::string script) {
    ChildSpec spec = shell(std::move(script));
    spec.user = user;
    return spec;
  }
};

class ExecShimAsRootTest : public ExecShimTest {
  void SetUp() override { ASSERT_EQ(::geteuid(), 0u) << "changing the user needs root: run these tests as root"; }
};

TEST_F(ExecShimTest, WritesTheArgumentsOfASpec) {
  ChildSpec spec;
  spec.command = {"./x.sh", "--", "--user"};
  spec.user = "nobody:nogroup";
  spec.limits = {256u << 20, 1500ms, 64, 32};
  EXPECT_THAT(
      shim_arguments(spec),
      testing::ElementsAre("hookd", "__exec", "--status-fd", "3", "--user", "nobody:nogroup", "--memory", "268435456",
                           "--cpu", "2", "--files", "64", "--processes", "32", "--", "./x.sh", "--", "--user"));
}

TEST_F(ExecShimTest, SetsTheLimits) {
  ChildSpec spec = shell("ulimit -n; ulimit -t; ulimit -v; ulimit -p; " + std::string(kShowDescriptors));
  spec.limits = {512u << 20, 7s, 32, 500};
  EXPECT_EQ(run(std::move(spec)).out, "32\n7\n524288\n500\n0 1 2 ");
}

TEST_F(ExecShimTest, KeepsDirectoryEnvironmentInputAndExit) {
  folder_.script("x.sh", "#!/bin/sh\npwd; echo \"$A $1\"; cat; exit 9\n");
  ChildSpec spec;
  spec.command = {"./x.sh", "two words"};
  spec.directory = folder_.path();
  spec.environment = {"A=1"};
  spec.limits.open_files = 64;
  const Ran ran = run(std::move(spec), once("input"));
  EXPECT_EQ(ran.out, folder_.path() + "\n1 two words\ninput");
  EXPECT_EQ(ran.exit.describe(), "exit code 9");
}

TEST_F(ExecShimTest, ALimitAboveOursStaysAtOurs) {
  ChildSpec spec = shell("ulimit -H -n");
  const std::string ours = run(spec).out;
  spec.limits.open_files = 1u << 30;
  EXPECT_EQ(run(spec).out, ours);
}

TEST_F(ExecShimTest, OverTheMemoryLimitFails) {
  ChildSpec spec = shell("head -c 300000000 /dev/zero | tail -n 1 | wc -c");  // tail keeps the line
  EXPECT_EQ(run(spec).out, "300000000\n");
  spec.limits.memory_bytes = 100u << 20;
  const Ran ran = run(spec);
  EXPECT_EQ(ran.out, "0\n");
  EXPECT_THAT(ran.err, testing::HasSubstr("memory exhausted"));
}

TEST_F(ExecShimTest, OverTheCpuLimitIsKilled) {
  ChildSpec spec = shell("while :; do :; done");
  spec.limits.cpu = 500ms;  // rounded up to 1 s
  spec.timeout = 30s;
  const Ran ran = run(std::move(spec));
  EXPECT_EQ(ran.exit.describe(), "killed by SIGXCPU");
  EXPECT_GE(ran.exit.cpu, 300ms);  // counted by ticks on a busy machine
}

TEST_F(ExecShimTest, OverTheFilesLimitFails) {
  ChildSpec spec = shell("exec 3</dev/null; cat /dev/null && echo read");  // cat opens its libraries
  spec.limits.open_files = 5;
  EXPECT_EQ(run(spec).out, "read\n");
  spec.limits.open_files = 4;
  EXPECT_EQ(run(spec).out, "");
}

TEST_F(ExecShimTest, TheTimeoutHoldsToo) {
  ChildSpec spec = shell("sleep 1000");
  spec.limits.open_files = 64;
  spec.timeout = 300ms;
  EXPECT_EQ(run(std::move(spec)).exit.describe(), "timed out after 300ms");
}

TEST_F(ExecShimTest, GivesNoNewPrivileges) {
  ChildSpec spec = shell("grep NoNewPrivs /proc/self/status");
  spec.limits.open_files = 64;
  EXPECT_EQ(run(std::move(spec)).out, "NoNewPrivs:\t1\n");
}

TEST_F(ExecShimTest, AnUnknownUserIsToldByTheExit) {
  const Ran ran = run(as("nosuchuser", "echo ran"));
  EXPECT_EQ(ran.exit.code, 126);
  EXPECT_EQ(ran.exit.describe(), "not started: cannot become user \"nosuchuser\": no such user");
  EXPECT_EQ(ran.err, "hookd: cannot become user \"nosuchuser\": no such user\n");
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(run(as("0:nosuchgroup", "echo ran")).exit.problem,
            "not started: cannot become user \"0:nosuchgroup\": no such group: nosuchgroup");
}

TEST_F(ExecShimTest, MinusOneIsNoUser) {
  // setresuid(-1) changes nothing: the command would run as root.
  for (const char* user : {"4294967295:daemon", "4294967295", "-1", "nobody:4294967295", ":-1"}) {
    const Ran ran = run(as(user, "echo ran"));
    EXPECT_EQ(ran.exit.code, 126) << user;
    EXPECT_EQ(ran.out, "") << user;
  }
}

TEST_F(ExecShimTest, ACommandOfItsOwnWithTheSameExitIsNoProblem) {
  ChildSpec spec = shell("echo 'hookd: cannot become user' >&2; exit 126");
  spec.limits.open_files = 64;
  EXPECT_EQ(run(std::move(spec)).exit.describe(), "exit code 126");
}

TEST_F(ExecShimTest, ABadInterpreterIsToldByTheExitAlsoWithLittleMemory) {
  ChildSpec spec;
  spec.command = {folder_.script("x.sh", "#!/nope\n")};
  spec.limits.memory_bytes = 1u << 20;
  const Ran ran = run(spec);
  EXPECT_EQ(ran.exit.code, 127);
  EXPECT_EQ(ran.exit.describe(), "not started: " + spec.command[0] + ": #!/nope: no such file");
}

TEST_F(ExecShimTest, AMissingFileIsAStartErrorAsEver) {
  ChildSpec spec;
  spec.command = {"./nope"};
  spec.limits.open_files = 64;
  EXPECT_EQ(start_error(spec), "./nope: no such file");
}

TEST_F(ExecShimTest, RefusesWrongArguments) {
  ChildSpec spec;
  const auto error_of = [&](std::vector<std::string> arguments) {
    spec.command = {"/proc/self/exe", "__exec"};
    spec.command.insert(spec.command.end(), arguments.begin(), arguments.end());
    const Ran ran = run(spec);
    EXPECT_EQ(ran.exit.code, 126);
    return ran.err;
  };
  // The program is this one: it becomes the shim by its constructor.
  spec.limits = {};
  EXPECT_EQ(error_of({"--memory", "12x", "--", "/bin/true"}), "hookd: __exec: wrong argument of --memory: \"12x\"\n");
  EXPECT_EQ(error_of({"--nope", "1", "--", "/bin/true"}), "hookd: __exec: wrong argument of --nope: \"1\"\n");
  EXPECT_EQ(error_of({"--files", "-3", "--", "/bin/true"}), "hookd: __exec: wrong argument of --files: \"-3\"\n");
  EXPECT_EQ(error_of({"--files", "3"}), "hookd: __exec: no command after --\n");
  EXPECT_EQ(error_of({"--"}), "hookd: __exec: no command after --\n");
}

TEST_F(ExecShimAsRootTest, BecomesTheUserWithItsGroups) {
  const std::string show = "id -u; id -g; id -G; grep -E '^(Uid|Gid)' /proc/self/status";
  EXPECT_EQ(run(as("nobody", show)).out,
            "65534\n65534\n65534\nUid:\t65534\t65534\t65534\t65534\nGid:\t65534\t65534\t65534\t65534\n");
}

TEST_F(ExecShimAsRootTest, TakesNumbersAndGroups) {
  const std::string show = "id -u; id -g; id -G";
  EXPECT_EQ(run(as("65534", show)).out, "65534\n65534\n65534\n");
  EXPECT_EQ(run(as("12345", show)).out, "12345\n12345\n12345\n");  // in no list: never hookd's own group
  EXPECT_EQ(run(as("nobody:daemon", show)).out, "65534\n1\n1\n");
  EXPECT_EQ(run(as("12345:6789", show)).out, "12345\n6789\n6789\n");
  EXPECT_EQ(run(as(":6789", show)).out, "0\n6789\n6789\n");
  EXPECT_EQ(run(as("root", "id -u")).out, "0\n");
}

TEST_F(ExecShimAsRootTest, SetsTheHomeOfTheUserUnlessThereIsOne) {
  const auto home = [&](const std::string& user, std::vector<std::string> environment) {
    ChildSpec spec = as(user, "echo \"$HOME\"");
    spec.environment = std::move(environment);
    return run(std::move(spec)).out;
  };
  EXPECT_EQ(home("daemon", {}), "/usr/sbin\n");  // as Debian's /etc/passwd has it
  EXPECT_EQ(home("daemon", {"HOME=/srv"}), "/srv\n");
  EXPECT_EQ(home("4321:4321", {}), "/\n");  // nobody by that number
  EXPECT_EQ(home(":4321", {}), "\n");
}

TEST_F(ExecShimAsRootTest, ChangesUserUnderLimitsToo) {
  ChildSpec spec = as("nobody", "id -u; ulimit -n");
  spec.limits = {256u << 20, 5s, 16, 100};
  EXPECT_EQ(run(std::move(spec)).out, "65534\n16\n");
}

TEST_F(ExecShimAsRootTest, WithoutRootTheUserCannotBeChanged) {
  ChildSpec spec;
  spec.user = "nobody";
  spec.command = {"/proc/self/exe", "__exec", "--user", "root", "--", "/bin/sh", "-c", "echo ran"};
  const Ran ran = run(spec);
  EXPECT_EQ(ran.exit.code, 126);
  EXPECT_EQ(ran.err,
            "hookd: cannot become user \"root\": Operation not permitted (only a hookd that runs as root can change "
            "the user)\n");
  EXPECT_EQ(ran.out, "");
  spec.command[3] = "nobody";  // what it is already
  EXPECT_EQ(run(spec).out, "ran\n");
}

TEST_F(ExecShimAsRootTest, AnotherUserHasNoCapabilitiesOfHookd) {
  char self[4096]{};
  ASSERT_GT(::readlink("/proc/self/exe", self, sizeof self - 1), 0);
  ChildSpec spec;  // a hookd that systemd started with User= and AmbientCapabilities=
  spec.command = {"setpriv",
                  "--reuid",
                  "65533",
                  "--regid",
                  "65533",
                  "--inh-caps",
                  "+setuid,+setgid",
                  "--ambient-caps",
                  "+setuid,+setgid",
                  "--clear-groups",
                  self,
                  "__exec",
                  "--user",
                  "nobody",
                  "--",
                  "/bin/sh",
                  "-c",
                  "id -u; grep -E '^Cap(Prm|Eff|Amb)' /proc/self/status"};
  const Ran ran = run(spec);
  EXPECT_EQ(ran.out, "65534\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapAmb:\t0000000000000000\n")
      << ran.err;
}

TEST_F(ExecShimAsRootTest, AFileThatTheUserMayNotRunIsToldByTheExit) {
  ChildSpec spec;
  spec.command = {folder_.file("x.sh", "#!/bin/sh\necho ran\n", 0700)};
  spec.user = "nobody";
  const Ran ran = run(spec);
  EXPECT_EQ(ran.exit.describe(),
            "not started: " + spec.command[0] +
                ": permission denied (not for this user, a folder above it is closed, or mounted noexec?)");
  EXPECT_EQ(ran.out, "");
}

}  // namespace
}  // namespace hookd::process
