#include "process/posix_launcher.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "run_child.h"

namespace hookd::process {
namespace {

using namespace std::chrono_literals;
using Kind = ChildExit::Kind;

size_t open_descriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

class PosixLauncherTest : public ChildTest {};

TEST_F(PosixLauncherTest, GivesInputAndTakesOutputWhole) {
  std::string text;
  for (int line = 0; text.size() < 200'000; ++line) text += "line " + std::to_string(line) + "\n";
  const Ran ran = run(shell("cat"), once(text));
  EXPECT_EQ(ran.exit.describe(), "exit code 0");
  EXPECT_EQ(ran.out, text);
  EXPECT_EQ(ran.err, "");
  EXPECT_FALSE(ran.exit.stdin_closed_early);
}

TEST_F(PosixLauncherTest, NoInputIsAnEndedInput) { EXPECT_EQ(run(shell("cat; echo end")).out, "end\n"); }

// product.md 2: a call larger than memory should hold is streamed as the hook reads.
TEST_F(PosixLauncherTest, HoldsLittleOfALargeInputAtATime) {
  constexpr size_t kTotal = 64u << 20;
  size_t pulled = 0, received = 0, most_between = 0;
  uint64_t sum_in = 0, sum_out = 0;
  bool ended = false;
  ChildHandlers handlers;
  handlers.input = [&]() -> std::string {
    if (pulled == kTotal) return {};
    std::string piece(64u << 10, '\0');
    for (size_t at = 0; at < piece.size(); at += 512) piece[at] = static_cast<char>('a' + (pulled + at) / 512 % 26);
    for (const char c : piece) sum_in = sum_in * 31 + static_cast<unsigned char>(c);
    pulled += piece.size();
    most_between = std::max(most_between, pulled - received);
    return piece;
  };
  handlers.on_stdout = [&](std::string_view piece) {
    received += piece.size();
    for (const char c : piece) sum_out = sum_out * 31 + static_cast<unsigned char>(c);
  };
  handlers.on_exit = [&](ChildExit exit) {
    EXPECT_EQ(exit.describe(), "exit code 0");
    ended = true;
  };
  ChildSpec spec = shell("exec cat");
  spec.stdout_limit_bytes = kTotal;
  auto child = launcher_.start(std::move(spec), std::move(handlers));
  ASSERT_TRUE(child);
  ASSERT_TRUE(run_until([&] { return ended; }));
  EXPECT_EQ(received, kTotal);
  EXPECT_EQ(sum_in, sum_out);
  EXPECT_LT(most_between, 1u << 20);
}

TEST_F(PosixLauncherTest, DoesNotPullInputThatNobodyReads) {
  size_t pulled = 0;
  ChildSpec spec = shell("exec sleep 1000");
  spec.timeout = 300ms;
  const Ran ran = run(std::move(spec), [&] {
    pulled += 64u << 10;
    return std::string(64u << 10, 'x');
  });
  EXPECT_EQ(ran.exit.kind, Kind::kTimedOut);
  EXPECT_TRUE(ran.exit.stdin_closed_early);
  EXPECT_LE(pulled, 256u << 10);
}

TEST_F(PosixLauncherTest, AsksTheSourceUntilItsEndAlsoInOddPieces) {
  int call = 0;
  const Ran ran = run(shell("wc -c"), [&]() -> std::string {
    ++call;
    return call > 5 ? std::string() : std::string(call % 2 ? 1u : 100'001u, 'x');
  });
  EXPECT_EQ(ran.out, "200005\n");
  EXPECT_EQ(call, 6);
}

TEST_F(PosixLauncherTest, TellsExitCodes) {
  for (const int code : {0, 1, 3, 9, 65, 75, 255}) {
    const Ran ran = run(shell("exit " + std::to_string(code)));
    EXPECT_EQ(ran.exit.kind, Kind::kExited);
    EXPECT_EQ(ran.exit.code, code);
    EXPECT_EQ(ran.exit.signal, 0);
  }
}

TEST_F(PosixLauncherTest, TellsSignals) {
  for (const int signal : {SIGKILL, SIGTERM, SIGHUP, SIGUSR1}) {
    const Ran ran = run(shell("kill -" + std::to_string(signal) + " $$"));
    EXPECT_EQ(ran.exit.kind, Kind::kSignalled);
    EXPECT_EQ(ran.exit.signal, signal);
  }
  EXPECT_EQ(run(shell("ulimit -c 0; kill -SEGV $$")).exit.describe(), "killed by SIGSEGV");
}

TEST_F(PosixLauncherTest, MeasuresWhatAChildUsed) {
  ChildSpec spec = shell(
      "head -c 30000000 /dev/zero | tail -n 1 | tail -c 1 | wc -c; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");
  const Ran ran = run(std::move(spec));
  EXPECT_EQ(ran.exit.describe(), "exit code 0");
  EXPECT_GT(ran.exit.cpu, 1ms);
  EXPECT_GT(ran.exit.wall, 1ms);
}

TEST_F(PosixLauncherTest, TellsThePeakMemoryOnlyAboveItsOwn) {
  EXPECT_EQ(run(shell("exit 0")).exit.max_rss_bytes, 0u);  // Linux would say hookd's own
  rusage own{};
  ::getrusage(RUSAGE_SELF, &own);
  const uint64_t bytes = (static_cast<uint64_t>(own.ru_maxrss) << 10) + (50u << 20);
  // tail keeps a line without end whole
  const Ran ran = run(shell("head -c " + std::to_string(bytes) + " /dev/zero | tail -n 1 >/dev/null"));
  EXPECT_GT(ran.exit.max_rss_bytes, bytes);
  EXPECT_LT(ran.exit.max_rss_bytes, bytes * 3);
}

TEST_F(PosixLauncherTest, TimeoutTerminatesTheWholeGroup) {
  ChildSpec spec = shell("sleep 1000 & echo $!; wait");
  spec.timeout = 1s;
  const Ran ran = run(std::move(spec));
  EXPECT_EQ(ran.exit.kind, Kind::kTimedOut);
  EXPECT_EQ(ran.exit.signal, SIGTERM);
  EXPECT_EQ(ran.exit.describe(), "timed out after 1s");
  EXPECT_LT(ran.exit.wall, 5s) << "grace is 5 s";
  const int sleeper = std::stoi(ran.out);
  EXPECT_TRUE(run_until([&] { return is_dead(sleeper); }));
}

TEST_F(PosixLauncherTest, KillsAfterGraceWhatIgnoresSigterm) {
  ChildSpec spec = shell("trap '' TERM; echo ready; while :; do sleep 0.05; done");
  spec.timeout = 1s;
  spec.grace = 200ms;
  const Ran ran = run(std::move(spec));
  EXPECT_EQ(ran.out, "ready\n");
  EXPECT_EQ(ran.exit.kind, Kind::kTimedOut);
  EXPECT_EQ(ran.exit.signal, SIGKILL);
  EXPECT_GE(ran.exit.wall, 1200ms);
}

TEST_F(PosixLauncherTest, TimeoutAlsoEndsAStoppedChild) {
  ChildSpec spec = shell("kill -STOP $$");
  spec.timeout = 100ms;
  EXPECT_EQ(run(std::move(spec)).exit.signal, SIGTERM);
}

TEST_F(PosixLauncherTest, AChildThatEndsGracefullyAfterTheTimeoutHasTimedOutStill) {
  ChildSpec spec = shell("trap 'echo bye; exit 7' TERM; echo hi; while :; do sleep 0.02; done");
  spec.timeout = 1s;
  const Ran ran = run(std::move(spec));
  EXPECT_EQ(ran.exit.kind, Kind::kTimedOut);
  EXPECT_EQ(ran.exit.code, 7);
  EXPECT_EQ(ran.out, "hi\nbye\n");
}

TEST_F(PosixLauncherTest, LeavingWhileADescendantHoldsStdoutEndsAfterGrace) {
  ChildSpec spec = shell("sleep 1000 & echo $!; exit 3");
  spec.grace = 200ms;
  const auto begin = std::chrono::steady_clock::now();
  const Ran ran = run(std::move(spec));
  EXPECT_EQ(ran.exit.describe(), "exit code 3");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 200ms);
  EXPECT_TRUE(run_until([&] { return is_dead(std::stoi(ran.out)); }));
}

TEST_F(PosixLauncherTest, ADescendantMayFinishItsOutputWithinGrace) {
  const Ran ran = run(shell("(sleep 0.1; echo late) & exit 0"));
  EXPECT_EQ(ran.out, "late\n");
}

TEST_F(PosixLauncherTest, WhoStaysInTheGroupWithoutOutputsIsEndedAtOnce) {
  ChildSpec spec = shell("sleep 1000 </dev/null >/dev/null 2>&1 & echo $!");
  spec.grace = 10min;
  const Ran ran = run(std::move(spec));
  EXPECT_EQ(ran.exit.describe(), "exit code 0");
  EXPECT_TRUE(run_until([&] { return is_dead(std::stoi(ran.out)); }));
}

TEST_F(PosixLauncherTest, WhoLeftTheGroupAndHoldsTheOutputsIsGivenUp) {
  ChildSpec spec = shell("setsid sh -c 'echo $$; exec sleep 1000' & exit 0");
  spec.grace = 1s;
  const Ran ran = run(std::move(spec));
  EXPECT_EQ(ran.exit.describe(), "exit code 0");
  ASSERT_FALSE(ran.out.empty());
  const int sleeper = std::stoi(ran.out);
  EXPECT_FALSE(is_dead(sleeper));
  ::kill(sleeper, SIGKILL);
}

TEST_F(PosixLauncherTest, ClosingStdinEarlyIsNoError) {
  const Ran ran = run(shell("head -c 5; exec 0<&-; exit 0"), [] { return std::string(10'000, 'x'); });
  EXPECT_EQ(ran.exit.describe(), "exit code 0");
  EXPECT_EQ(ran.out, "xxxxx");
  EXPECT_TRUE(ran.exit.stdin_closed_early);
}

TEST_F(PosixLauncherTest, GoesOnAfterTheChildClosedItsStdin) {
  bool told = false;
  const Ran ran = run(shell("exec 0<&-; sleep 0.1; echo still here"), [&]() -> std::string {
    told = true;
    return std::string(1 << 20, 'x');
  });
  EXPECT_TRUE(told);
  EXPECT_EQ(ran.out, "still here\n");
  EXPECT_TRUE(ran.exit.stdin_closed_early);
}

TEST_F(PosixLauncherTest, KillsWhatWritesTooMuch) {
  ChildSpec spec = shell("head -c 100000000 /dev/zero; sleep 1000");
  spec.stdout_limit_bytes = 1u << 20;
  const Ran ran = run(std::move(spec));
  EXPECT_EQ(ran.exit.kind, Kind::kTooMuchOutput);
  EXPECT_EQ(ran.out.size(), 1u << 20);
  EXPECT_EQ(ran.exit.describe(), "killed: more than 1048576 bytes on stdout");
}

TEST_F(PosixLauncherTest, JustTheLimitIsNotTooMuch) {
  ChildSpec spec = shell("head -c 100000 /dev/zero");
  spec.stdout_limit_bytes = 100'000;
  EXPECT_EQ(run(spec).exit.describe(), "exit code 0");
  spec.stdout_limit_bytes = 99'999;
  EXPECT_EQ(run(spec).exit.kind, Kind::kTooMuchOutput);
}

TEST_F(PosixLauncherTest, ADescendantThatFloodsAfterTheEndIsKilledToo) {
  ChildSpec spec = shell("(sleep 0.05; exec cat /dev/zero) & exit 0");
  spec.stdout_limit_bytes = 1u << 20;
  spec.grace = 10min;
  EXPECT_EQ(run(std::move(spec)).exit.kind, Kind::kTooMuchOutput);
}

TEST_F(PosixLauncherTest, TakesAFloodOnStderrWhole) {
  size_t bytes = 0;
  bool ended = false;
  ChildHandlers handlers;
  handlers.on_stderr = [&](std::string_view piece) { bytes += piece.size(); };
  handlers.on_exit = [&](ChildExit exit) {
    EXPECT_EQ(exit.describe(), "exit code 0");
    ended = true;
  };
  auto child = launcher_.start(shell("head -c 50000000 /dev/zero >&2"), std::move(handlers));
  ASSERT_TRUE(child);
  ASSERT_TRUE(run_until([&] { return ended; }));
  EXPECT_EQ(bytes, 50'000'000u);
}

TEST_F(PosixLauncherTest, WorksWithoutHandlers) {
  auto child = launcher_.start(shell("cat; echo out; echo err >&2"), {});
  ASSERT_TRUE(child);
  EXPECT_TRUE(run_until([&] { return launcher_.running() == 0; }));
}

TEST_F(PosixLauncherTest, RunsInItsDirectory) {
  folder_.script("x.sh", "#!/bin/sh\npwd\n");
  ChildSpec spec = shell("pwd");
  spec.directory = folder_.path();
  EXPECT_EQ(run(spec).out, folder_.path() + "\n");
  spec.command = {"./x.sh"};
  EXPECT_EQ(run(spec).out, folder_.path() + "\n");
}

TEST_F(PosixLauncherTest, GivesTheEnvironmentExactly) {
  ::setenv("HOOKD_TEST_OWN", "must not be seen", 1);
  ChildSpec spec;
  spec.command = {"/usr/bin/env"};
  spec.environment = {"B=x y", "A=", "EMPTY_VALUE_AND_=EQUALS=1"};
  EXPECT_EQ(run(spec).out, "B=x y\nA=\nEMPTY_VALUE_AND_=EQUALS=1\n");
  spec.environment = {};
  EXPECT_EQ(run(spec).out, "");
}

TEST_F(PosixLauncherTest, LooksABareCommandUpInThePathOfTheSpec) {
  folder_.script("greet", "#!/bin/sh\necho \"$0 $1\"\n");
  ChildSpec spec;
  spec.command = {"greet", "you"};
  spec.environment = {"PATH=/nonexistent:" + folder_.path()};
  EXPECT_EQ(run(spec).out, folder_.path() + "/greet you\n");
}

TEST_F(PosixLauncherTest, GivesNoOtherDescriptor) {
  const Fd leaked(::fcntl(2, F_DUPFD, 57));  // without close-on-exec
  EXPECT_EQ(run(shell(kShowDescriptors)).out, "0 1 2 ");
}

TEST_F(PosixLauncherTest, GivesACleanSignalState) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  ::signal(SIGUSR2, SIG_IGN);
  ChildSpec spec;
  spec.command = {"/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"};
  const Ran ran = run(std::move(spec));
  ::signal(SIGUSR2, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  // 32 and 33 are glibc's own, which every posix_spawn ignores until the new program sets them up.
  EXPECT_THAT(ran.out, testing::AnyOf("SigBlk:\t0000000000000000\nSigIgn:\t0000000180000000\n",
                                      "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"));
}

TEST_F(PosixLauncherTest, LeadsAGroupOfItsOwn) {
  auto child = launcher_.start(shell("exec sleep 1000"), {});
  ASSERT_TRUE(child);
  EXPECT_EQ(::getpgid((*child)->pid()), (*child)->pid());
  child->reset();
  EXPECT_TRUE(run_until([&] { return launcher_.running() == 0; }));
}

TEST_F(PosixLauncherTest, SaysWhyItCouldNotStart) {
  ChildSpec spec;
  spec.directory = folder_.path();
  const auto error_of = [&](const std::string& command) {
    spec.command = {command};
    return start_error(spec);
  };
  EXPECT_EQ(error_of("./x.sh"), "./x.sh: no such file");
  EXPECT_EQ(error_of("jqq"), "jqq: not found in PATH (/usr/local/bin:/usr/bin:/bin)");
  EXPECT_EQ(error_of("/tmp"), "/tmp: not a file");
  EXPECT_EQ(error_of(""), "the command is empty");
  EXPECT_EQ(error_of(std::string("a\0b", 3)), "the command holds a zero byte, which no process can be given");
  const std::string no_bit = folder_.file("no-bit.sh", "#!/bin/sh\n");
  EXPECT_EQ(error_of(no_bit), no_bit + ": permission denied: it has no run bit (chmod +x " + no_bit +
                                  "; in a ConfigMap volume: defaultMode: 0755)");
  folder_.script("nope.sh", "#! /nope -x\n");
  EXPECT_EQ(error_of("./nope.sh"), "./nope.sh: #!/nope: no such file");
  folder_.script("windows.sh", "#!/bin/sh\r\nexit 0\r\n");
  EXPECT_EQ(
      error_of("./windows.sh"),
      "./windows.sh: #!/bin/sh: no such file: the line ends with a carriage return (Windows line ends; use dos2unix)");
  folder_.script("closed.sh", "#!" + no_bit + "\n");
  EXPECT_THAT(error_of("./closed.sh"),
              testing::StartsWith("./closed.sh: #!" + no_bit + ": permission denied: it has no run bit"));
  folder_.script("text", "echo hello\n");
  EXPECT_THAT(error_of("./text"),
              testing::StartsWith("./text: not a program: a script needs a first line such as '#!/bin/sh'"));
  spec.directory = "/nonexistent";
  EXPECT_EQ(error_of("/bin/true"), "working directory /nonexistent: No such file or directory");
  spec.directory = no_bit;
  EXPECT_EQ(error_of("/bin/true"), "working directory " + no_bit + ": Not a directory");
}

TEST_F(PosixLauncherTest, ArgumentsTooLongForTheKernelAreAStartError) {
  ChildSpec spec = shell("exit 0");
  spec.command.push_back(std::string(4u << 20, 'x'));
  EXPECT_EQ(start_error(spec), "/bin/sh: arguments and environment are too long for the kernel");
}

TEST_F(PosixLauncherTest, TooManyOpenFilesIsAStartErrorAndLeaksNothing) {
  // UBSan looks at a type with a pipe of its own when it meets it first: no descriptor would be left for that below.
  ChildSpec missing;
  missing.command = {"/no/such/program"};
  EXPECT_FALSE(launcher_.start(missing, {}));
  const size_t before = open_descriptors();
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  // From none to enough: whichever descriptor is the one too many, it is an error and all is given back.
  bool started = false;
  for (rlim_t room = 0; room < 20 && !started; ++room) {
    const rlimit tight{before - 1 + room, old.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
    auto child = launcher_.start(shell("exit 0"), {});
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
    started = child.has_value();
    if (!started) {
      EXPECT_EQ(child.error().what, "/bin/sh: too many open files in hookd (raise its limit, or lower concurrency)");
      EXPECT_EQ(open_descriptors(), before);
    }
  }
  EXPECT_TRUE(started);
  EXPECT_TRUE(run_until([&] { return launcher_.running() == 0; }));
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(PosixLauncherTest, DestroyingTheChildKillsReapsAndCallsNothing) {
  bool called = false;
  ChildHandlers handlers;
  std::string out;
  handlers.on_stdout = [&](std::string_view piece) { out += piece; };
  handlers.on_exit = [&](ChildExit) { called = true; };
  auto child = launcher_.start(shell("trap '' TERM; sleep 1000 & echo $!; wait"), std::move(handlers));
  ASSERT_TRUE(child);
  ASSERT_TRUE(run_until([&] { return out.ends_with('\n'); }));
  const int pid = (*child)->pid();
  child->reset();
  EXPECT_TRUE(run_until([&] { return launcher_.running() == 0; }));
  EXPECT_EQ(::kill(pid, 0), -1) << "not even a zombie";
  EXPECT_TRUE(run_until([&] { return is_dead(std::stoi(out)); }));
  EXPECT_FALSE(called);
}

TEST_F(PosixLauncherTest, EveryHandlerMayDestroyTheChild) {
  for (const std::string which : {"input", "stdout", "stderr", "exit"}) {
    std::unique_ptr<Child> child;
    auto token = std::make_shared<int>(1);
    int calls = 0;
    const auto drop = [&, token] {
      ++calls;
      child.reset();
    };
    ChildHandlers handlers;
    if (which == "input") handlers.input = [drop] { return drop(), std::string("x"); };
    if (which == "stdout") handlers.on_stdout = [drop](std::string_view) { drop(); };
    if (which == "stderr") handlers.on_stderr = [drop](std::string_view) { drop(); };
    handlers.on_exit = [drop](ChildExit) { drop(); };
    auto started = launcher_.start(shell("while :; do echo out; echo err >&2; test " + which + " = exit && exit; done"),
                                   std::move(handlers));
    ASSERT_TRUE(started);
    child = *std::move(started);
    EXPECT_TRUE(run_until([&] { return launcher_.running() == 0 && !child; })) << which;
    EXPECT_EQ(calls, 1) << which;
    EXPECT_EQ(token.use_count(), 2) << which << ": handlers are freed";
  }
}

TEST_F(PosixLauncherTest, DestroyingTheChildDuringGraceReaps) {
  std::string out;
  bool called = false;
  ChildHandlers handlers;
  handlers.on_stdout = [&](std::string_view piece) { out += piece; };
  handlers.on_exit = [&](ChildExit) { called = true; };
  ChildSpec spec = shell("sleep 1000 & echo $!; exit 0");
  spec.grace = 10min;
  auto child = launcher_.start(std::move(spec), std::move(handlers));
  ASSERT_TRUE(child);
  const int pid = (*child)->pid();
  ASSERT_TRUE(run_until([&] { return out.ends_with('\n') && is_dead(pid); }));
  context_.poll();
  EXPECT_EQ(::kill(pid, 0), 0) << "a zombie for the time of grace, which keeps the number of the group";
  child->reset();
  EXPECT_TRUE(run_until([&] { return launcher_.running() == 0 && is_dead(std::stoi(out)); }));
  EXPECT_FALSE(called);
}

TEST_F(PosixLauncherTest, AnEndedLoopLeavesNoProcess) {
  int pid = 0;
  {
    boost::asio::io_context context;
    AsioScheduler scheduler(context);
    PosixLauncher launcher(scheduler);
    auto child = launcher.start(shell("exec sleep 1000"), {});
    ASSERT_TRUE(child);
    pid = (*child)->pid();
  }
  EXPECT_TRUE(run_until([&] { return is_dead(pid); }));
  ::waitpid(pid, nullptr, 0);
}

TEST_F(PosixLauncherTest, TerminateIsAnOrderedEnd) {
  std::string out;
  std::optional<ChildExit> ended;
  ChildHandlers handlers;
  handlers.on_stdout = [&](std::string_view piece) { out += piece; };
  handlers.on_exit = [&](ChildExit exit) { ended = exit; };
  auto child = launcher_.start(shell("trap 'echo bye; exit 4' TERM; echo hi; while :; do sleep 0.02; done"),
                               std::move(handlers));
  ASSERT_TRUE(child);
  ASSERT_TRUE(run_until([&] { return out == "hi\n"; }));
  (*child)->terminate();
  (*child)->terminate();
  ASSERT_TRUE(run_until([&] { return ended.has_value(); }));
  EXPECT_EQ(ended->describe(), "exit code 4");
  EXPECT_EQ(out, "hi\nbye\n");
  (*child)->terminate();  // ended: nothing
}

TEST_F(PosixLauncherTest, ThousandRunsLeakNoDescriptor) {
  ChildSpec spec;
  spec.command = {"/bin/true"};
  run(spec);
  const size_t before = open_descriptors();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(run(spec).exit.code, 0);
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(PosixLauncherTest, ManyAtOnceKeepTheirOutputsApart) {
  constexpr int kChildren = 50;
  std::vector<std::string> outs(kChildren);
  std::vector<std::unique_ptr<Child>> children;
  int ended = 0;
  for (int i = 0; i < kChildren; ++i) {
    ChildHandlers handlers;
    handlers.input = once(std::string(100'000, static_cast<char>('a' + i % 26)));
    handlers.on_stdout = [&outs, i](std::string_view piece) { outs[static_cast<size_t>(i)] += piece; };
    handlers.on_exit = [&ended](ChildExit) { ++ended; };
    auto child = launcher_.start(shell("cat"), std::move(handlers));
    ASSERT_TRUE(child);
    children.push_back(*std::move(child));
  }
  EXPECT_EQ(launcher_.running(), static_cast<size_t>(kChildren));
  ASSERT_TRUE(run_until([&] { return ended == kChildren; }));
  for (int i = 0; i < kChildren; ++i)
    EXPECT_EQ(outs[static_cast<size_t>(i)], std::string(100'000, static_cast<char>('a' + i % 26)));
}

TEST_F(PosixLauncherTest, LeavesOtherPeoplesChildrenAlone) {
  const int other = ::fork();  // in a test, with one thread
  if (other == 0) ::_exit(42);
  run(shell("exit 0"));
  int status = 0;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

TEST_F(PosixLauncherTest, AnExitStatusThatOthersTookIsAProblemNotASuccess) {
  std::optional<ChildExit> ended;
  ChildHandlers handlers;
  handlers.on_exit = [&](ChildExit exit) { ended = exit; };
  auto child = launcher_.start(shell("exit 0"), std::move(handlers));
  ASSERT_TRUE(child);
  ASSERT_EQ(::waitpid((*child)->pid(), nullptr, 0), (*child)->pid());
  ASSERT_TRUE(run_until([&] { return ended.has_value(); }));
  EXPECT_NE(ended->code, 0);
  EXPECT_THAT(ended->describe(), testing::StartsWith("exit status lost"));
  EXPECT_EQ(launcher_.running(), 0u);
}

TEST_F(PosixLauncherTest, WorksThoughItWasStartedWithIgnoredSigchldAndClosedStdin) {
  ::signal(SIGCHLD, SIG_IGN);
  const Fd saved(::fcntl(0, F_DUPFD_CLOEXEC, 100));
  ::close(0);
  PosixLauncher launcher(scheduler_);
  std::optional<ChildExit> ended;
  std::string out;
  ChildHandlers handlers;
  handlers.input = once("through");
  handlers.on_stdout = [&](std::string_view piece) { out += piece; };
  handlers.on_exit = [&](ChildExit exit) { ended = exit; };
  auto child = launcher.start(shell("cat; exit 5"), std::move(handlers));
  const bool done = child && run_until([&] { return ended.has_value(); });
  if (saved) ::dup2(saved.get(), 0);  // not before: the lowest free number went to one of the launcher's own
  ASSERT_TRUE(done);
  EXPECT_EQ(ended->describe(), "exit code 5");
  EXPECT_EQ(out, "through");
}

}  // namespace
}  // namespace hookd::process
