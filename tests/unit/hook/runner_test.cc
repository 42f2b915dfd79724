#include "hook/runner.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "base/json_read.h"
#include "kube/discovery.h"
#include "state/memory_store.h"
#include "unit/support/hook_world.h"
#include "unit/support/log_tap.h"

namespace hookd::hook {
namespace {

using namespace std::chrono_literals;
using test::make_object;
using test::object_json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Verdict = Queue::Verdict;
using ExitKind = process::ChildExit::Kind;

class RunnerTest : public testing::Test, protected test::HookWorld {
 protected:
  RunnerTest() {
    options.default_namespace = "a";
    options.environment = {"PATH=/bin"};
    for (const auto& type : {test::pods(), test::nodes(), test::deployments()}) cluster.serve(type);
    hook->name = "h";
    hook->run.command = {"/hooks/h.sh", "x"};
    hook->run.directory = "/hooks";
    WatchBinding pods;
    pods.name = "pods";
    pods.kind = "Pod";
    pods.include = {"nodes"};
    WatchBinding nodes;
    nodes.name = "nodes";
    nodes.kind = "Node";
    hook->watches = {pods, nodes};
    ScheduleBinding sweep;
    sweep.name = "sweep";
    sweep.include = {"pods", "nodes"};
    hook->schedules = {sweep};
    snapshots["nodes"].type = std::make_shared<const kube::ResourceType>(test::nodes());
    snapshots["pods"].type = std::make_shared<const kube::ResourceType>(test::pods());
    make();
  }

  void make() {
    runner = std::make_unique<Runner>(hook, RunnerServices{scheduler, random, launcher, applier, metrics, options},
                                      [this](const std::string& binding) {
                                        gathered.push_back(binding);
                                        return snapshots.at(binding);
                                      });
  }

  Event pod_event(const std::string& name, const std::string& uid, Event::Type type = Event::Type::kAdded,
                  const std::string& version = "1") const {
    Event event;
    event.type = type;
    event.binding = "pods";
    event.resource = std::make_shared<const kube::ResourceType>(test::pods());
    event.object = make_object("a", name, uid, version, object_json(test::pods(), "a", name, uid));
    return event;
  }
  static Queue::Item item_of(std::vector<Event> events) {
    Queue::Item item;
    item.key = "pods./a/x";
    item.events = std::move(events);
    item.fresh_events = true;
    return item;
  }
  // In the cluster, and in the snapshot of its binding.
  void make_pod(const std::string& name, const std::string& uid) {
    cluster.put(test::pods(), object_json(test::pods(), "a", name, uid));
    snapshots["pods"].entries.push_back({make_object("a", name, uid, "1"), nullptr});
  }

  struct Ended {
    Queue::Item item;
    Verdict verdict = Verdict::kDone;
    Duration at_least{};
    std::optional<Duration> requeue;
  };
  void run(Queue::Item item) {
    ended.reset();
    runner->run({std::move(item)},
                [this](Queue::Batch done, Verdict verdict, Duration at_least, std::optional<Duration> requeue) {
                  ASSERT_FALSE(ended);
                  ASSERT_EQ(done.size(), 1u);
                  ended = Ended{std::move(done.front()), verdict, at_least, requeue};
                });
    EXPECT_FALSE(ended) << "the verdict must not come from inside run()";
  }
  void run(const Event& event) { run(item_of({event})); }
  // The call that waits: prints, exits, and whatever follows from it.
  Ended answer(std::string_view output, int code = 0) {
    launcher.last().print(output);
    launcher.last().exit(code);
    return settle();
  }
  Ended settle(Duration time = 5s) {
    scheduler.advance(time);
    EXPECT_TRUE(ended);
    EXPECT_EQ(runner->running(), 0u);
    return ended ? *ended : Ended{};
  }
  // The queue would do it like this.
  Queue::Item again(Ended ended_item, std::vector<Event> news = {}) {
    Queue::Item item = std::move(ended_item.item);
    ++item.attempt;
    item.fresh_events = !news.empty();
    for (Event& event : news) merge(item.events, std::move(event));
    return item;
  }
  // The next request with that method and path fails so, and is let through afterwards.
  void fail_next(std::string method_and_path, Error error) {
    failures[std::move(method_and_path)].push_back(std::move(error));
    cluster.intercept = [this](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
      auto& waiting = failures[request.method + " " + request.path];
      if (waiting.empty()) return std::nullopt;
      const Error next = waiting.front();
      waiting.pop_front();
      return fail(next);
    };
  }
  static Error unavailable() { return {Errc::kUnavailable, "etcd has no leader", 503, "ServiceUnavailable", 100ms}; }
  static Error invalid() { return {Errc::kInvalid, "spec is wrong", 422, "Invalid", {}}; }

  std::shared_ptr<Hook> hook = std::make_shared<Hook>();
  std::map<std::string, Snapshot> snapshots;
  std::vector<std::string> gathered;
  std::map<std::string, std::deque<Error>> failures;
  std::unique_ptr<Runner> runner;
  std::optional<Ended> ended;
  test::LogTap tap;
};

std::string delete_pod(std::string_view name, std::string_view more = "") {
  return fmt::format(R"({{"operation":"Delete","apiVersion":"v1","kind":"Pod","namespace":"a","name":"{}"{}}})", name,
                     more);
}
std::string label_pod(std::string_view name, std::string_view label, std::string_view more = "") {
  return fmt::format(
      R"({{"operation":"Label","apiVersion":"v1","kind":"Pod","namespace":"a","name":"{}","labels":{{"{}":"1"}}{}}})",
      name, label, more);
}

// ---------------------------------------------------------------- the call

TEST_F(RunnerTest, StartsTheHooksCommandAsItsFileSays) {
  hook->run.timeout = 7s;
  hook->run.grace = 2s;
  hook->run.user = "nobody";
  hook->run.limits.memory_bytes = 1000;
  hook->run.env = {{"LOG", "info"}};
  options.answer_limit_bytes = 1234;
  options.kubeconfig = "/k";
  make();
  Queue::Item item = item_of({pod_event("x", "u1")});
  item.attempt = 3;
  run(std::move(item));
  const auto& spec = launcher.last().spec;
  EXPECT_THAT(spec.command, ElementsAre("/hooks/h.sh", "x"));
  EXPECT_EQ(spec.directory, "/hooks");
  EXPECT_EQ(spec.timeout, Duration(7s));
  EXPECT_EQ(spec.grace, Duration(2s));
  EXPECT_EQ(spec.user, "nobody");
  EXPECT_EQ(spec.limits.memory_bytes, 1000u);
  EXPECT_EQ(spec.stdout_limit_bytes, 1234u);
  EXPECT_EQ(launcher.last().environment("LOG"), "info");
  EXPECT_EQ(launcher.last().environment("PATH"), "/bin");
  EXPECT_EQ(launcher.last().environment("KUBECONFIG"), "/k");
  EXPECT_EQ(launcher.last().environment("HOOKD_HOOK"), "h");
  EXPECT_EQ(launcher.last().environment("HOOKD_BINDING"), "pods");
  EXPECT_EQ(launcher.last().environment("HOOKD_ATTEMPT"), "3");
}

TEST_F(RunnerTest, HandsOverTheEventAndTheSnapshotsOfOneMoment) {
  snapshots["nodes"].entries.push_back({make_object("", "n1", "n-1", "1"), nullptr});
  run(pod_event("x", "u1"));
  snapshots["nodes"].entries.clear();  // later changes are not of that moment
  const std::string input = launcher.last().read_input();
  EXPECT_EQ(json_string_at(input, {"hook"}), "h");
  EXPECT_EQ(json_string_at(input, {"id"}), launcher.last().environment("HOOKD_CALL_ID"));
  EXPECT_EQ(json_string_at(input, {"reason"}), "watch");
  EXPECT_EQ(json_raw_at(input, {"attempt"}), "1");
  EXPECT_THAT(*json_raw_at(input, {"objects"}),
              AllOf(HasSubstr("\"nodes\":[{"), HasSubstr("n-1"), Not(HasSubstr("pods"))));
  EXPECT_THAT(*json_raw_at(input, {"events"}), HasSubstr(R"("type":"Added","object":{"apiVersion":"v1","kind":"Pod")"));
}

TEST_F(RunnerTest, ASyncGathersItsOwnBindingAndWhatItIncludes) {
  Event sync;
  sync.type = Event::Type::kSync;
  sync.binding = "pods";
  run(sync);
  EXPECT_THAT(gathered, ElementsAre("pods", "nodes"));
  EXPECT_THAT(launcher.last().read_input(),
              HasSubstr(R"("events":[{"binding":"pods","type":"Sync","objects":[]}],"objects":{"nodes":[]}})"));
}

TEST_F(RunnerTest, AScheduleCallListsEverySnapshotAlsoEmptyOnes) {
  Event tick;
  tick.type = Event::Type::kSchedule;
  tick.binding = "sweep";
  run(tick);
  const std::string input = launcher.last().read_input();
  EXPECT_EQ(json_string_at(input, {"reason"}), "schedule");
  EXPECT_EQ(json_raw_at(input, {"objects"}), R"({"nodes":[],"pods":[]})");
}

TEST_F(RunnerTest, ACallAskedForAgainSaysSo) {
  Event event = pod_event("x", "u1");
  event.again = true;
  run(event);
  EXPECT_EQ(json_string_at(launcher.last().read_input(), {"reason"}), "requeue");
}

// ---------------------------------------------------------------- exits

struct ExitCase {
  const char* name;
  process::ChildExit exit;
  Verdict verdict;
  const char* result;
  const char* said;
};
process::ChildExit exited(int code) {
  process::ChildExit exit;
  exit.code = code;
  return exit;
}
process::ChildExit ended_by(ExitKind kind, int signal = 0) {
  process::ChildExit exit;
  exit.kind = kind;
  exit.signal = signal;
  exit.timeout = 30s;
  exit.stdout_limit_bytes = 100;
  return exit;
}

// The table of product.md section 3: nothing is applied but for exit 0.
TEST_F(RunnerTest, ExitsMeanWhatTheContractSays) {
  const ExitCase cases[] = {
      {"ok", exited(0), Verdict::kDone, "ok", ""},
      {"later", exited(75), Verdict::kLater, "later", "later (exit code 75)"},
      {"data", exited(65), Verdict::kGiveUp, "refused", "for good"},
      {"config", exited(78), Verdict::kGiveUp, "refused", "for good"},
      {"one", exited(1), Verdict::kRetry, "failed", "exit code 1"},
      {"not found", exited(127), Verdict::kRetry, "failed", "exit code 127"},
      {"signal", ended_by(ExitKind::kSignalled, 9), Verdict::kRetry, "failed", "SIGKILL"},
      {"timeout", ended_by(ExitKind::kTimedOut, 15), Verdict::kRetry, "timeout", "timed out after 30s"},
      {"flood", ended_by(ExitKind::kTooMuchOutput), Verdict::kRetry, "failed", "100"},
  };
  make_pod("x", "u1");
  for (const ExitCase& one : cases) {
    SCOPED_TRACE(one.name);
    tap.records.clear();
    const size_t before = cluster.written.size();
    run(pod_event("x", "u1"));
    launcher.last().print(label_pod("x", one.exit.code == 0 && one.exit.kind == ExitKind::kExited ? "done" : "never"));
    launcher.last().finish(one.exit);
    EXPECT_EQ(settle().verdict, one.verdict);
    EXPECT_EQ(cluster.written.size() - before, one.verdict == Verdict::kDone ? 1u : 0u);
    EXPECT_EQ(tap.count(fmt::format("result={}", one.result)), 1u);
    EXPECT_GE(tap.count(one.said), 1u);
    if (one.verdict == Verdict::kGiveUp) {
      EXPECT_EQ(tap.first("result=refused").level, log::Level::kError);  // said loudly
    }
    EXPECT_THAT(ended->item.carry.last_error, HasSubstr(one.said));
  }
  EXPECT_THAT(metrics.text(), AllOf(HasSubstr(R"(hookd_calls_total{hook="h",result="refused"} 2)"),
                                    HasSubstr(R"(hookd_calls_total{hook="h",result="failed"} 4)"),
                                    HasSubstr(R"(hookd_calls_total{hook="h",result="timeout"} 1)"),
                                    HasSubstr(R"(hookd_calls_total{hook="h",result="later"} 1)")));
}

TEST_F(RunnerTest, AHookThatCannotBeStartedIsTriedAgain) {
  launcher.refusal = Error{Errc::kHookFailed, "./h.sh: permission denied (is the run bit set?)", 0, {}, {}};
  run(pod_event("x", "u1"));
  EXPECT_EQ(settle().verdict, Verdict::kRetry);
  EXPECT_EQ(tap.count("is the run bit set?"), 1u);
}

TEST_F(RunnerTest, TheLastWordsOfAFailingHookAreInTheError) {
  run(pod_event("x", "u1"));
  launcher.last().complain("first\nno such cluster\n\n");
  EXPECT_THAT(answer("{", 3).item.carry.last_error, HasSubstr("exit code 3; its last words: no such cluster"));
  run(pod_event("x", "u1"));
  EXPECT_THAT(answer("one\nTraceback: boom\n", 1).item.carry.last_error,
              HasSubstr("its last words: Traceback: boom"));  // only stdout
  run(pod_event("x", "u1"));
  EXPECT_THAT(answer("", 1).item.carry.last_error, Not(HasSubstr("last words")));
  for (const std::string secret :
       {"{\"kind\":\"Secret\",\n\"password\":\"hunter2\"}\n", "kind: Secret\ndata:\n  password: hunter2\n"}) {
    run(pod_event("x", "u1"));
    EXPECT_THAT(answer(secret, 1).item.carry.last_error, Not(HasSubstr("hunter2")));
  }
}

// ---------------------------------------------------------------- answers

TEST_F(RunnerTest, HalfAnAnswerAppliesNothing) {
  make_pod("x", "u1");
  for (const std::string& output : {delete_pod("x") + "\n{\"operation\":\"Del",
                                    delete_pod("x") + "\n{\"status\":{}}\n{\"odd\":1}", delete_pod("x") + "}"}) {
    run(pod_event("x", "u1"));
    const Ended result = answer(output);
    EXPECT_EQ(result.verdict, Verdict::kRetry);
    EXPECT_THAT(result.item.carry.last_error, HasSubstr("nothing was applied"));
  }
  EXPECT_THAT(cluster.written, IsEmpty());
}

TEST_F(RunnerTest, OutputThatComesInPiecesIsOneAnswer) {
  make_pod("x", "u1");
  run(pod_event("x", "u1"));
  for (const char c : label_pod("x", "a")) launcher.last().print({&c, 1});
  EXPECT_EQ(answer("").verdict, Verdict::kDone);
  EXPECT_EQ(cluster.written.size(), 1u);
}

TEST_F(RunnerTest, AnAnswerFileTakesThePlaceOfStdout) {
  make_pod("x", "u1");
  run(pod_event("x", "u1"));
  const std::string path = launcher.last().environment("HOOKD_ANSWER");
  ASSERT_TRUE(write_file(path, label_pod("x", "from-file")));
  EXPECT_EQ(answer("{ chatty\n" + delete_pod("x")).verdict, Verdict::kDone);  // stdout is all log
  EXPECT_THAT(cluster.writes(), ElementsAre("PATCH /api/v1/namespaces/a/pods/x"));
  EXPECT_EQ(tap.count("{ chatty"), 1u);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(RunnerTest, AnEmptyAnswerFileIsAnEmptyAnswer) {
  run(pod_event("x", "u1"));
  ASSERT_TRUE(write_file(launcher.last().environment("HOOKD_ANSWER"), ""));
  EXPECT_EQ(answer("pod {x} deleted\n{ not json\n").verdict, Verdict::kDone);
}

TEST_F(RunnerTest, AnAnswerFileThatCannotBeReadIsAFailureNotAnEmptyAnswer) {
  options.answer_limit_bytes = 100;
  make();
  run(pod_event("x", "u1"));
  ASSERT_TRUE(write_file(launcher.last().environment("HOOKD_ANSWER"), std::string(101, ' ')));
  EXPECT_THAT(answer("").item.carry.last_error,
              AllOf(HasSubstr("answer file cannot be read"), HasSubstr("over 100 bytes")));
  EXPECT_EQ(ended->verdict, Verdict::kRetry);
  run(pod_event("x", "u1"));
  ASSERT_EQ(::symlink("/etc/passwd", launcher.last().environment("HOOKD_ANSWER").c_str()), 0);
  EXPECT_THAT(answer("").item.carry.last_error, HasSubstr("symbolic link"));
  run(pod_event("x", "u1"));
  ASSERT_EQ(::mkfifo(launcher.last().environment("HOOKD_ANSWER").c_str(), 0600), 0);
  EXPECT_THAT(answer("").item.carry.last_error, HasSubstr("not a regular file"));  // and it did not block
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(runtime.path()), {}), 0);
}

TEST_F(RunnerTest, AnAnswerFileOfAHookThatFailedIsThrownAway) {
  run(pod_event("x", "u1"));
  const std::string path = launcher.last().environment("HOOKD_ANSWER");
  ASSERT_TRUE(write_file(path, delete_pod("x")));
  EXPECT_EQ(answer("", 1).verdict, Verdict::kRetry);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_THAT(cluster.written, IsEmpty());
}

// A hook with `user` cannot write into the daemon's private folder.
TEST_F(RunnerTest, AHookThatRunsAsAnotherUserHasAPlaceForItsAnswerFile) {
  hook->run.user = "nobody";
  run(pod_event("x", "u1"));
  const std::string path = launcher.last().environment("HOOKD_ANSWER");
  struct stat status{};
  ASSERT_EQ(::stat(std::filesystem::path(path).parent_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 01733u);  // anybody may make a file, nobody may look
  EXPECT_THAT(path, Not(HasSubstr(launcher.last().environment("HOOKD_CALL_ID"))));
  ASSERT_TRUE(write_file(path, R"({"message":"from the file"})"));
  EXPECT_EQ(answer("").verdict, Verdict::kDone);
  EXPECT_EQ(tap.count("from the file"), 1u);
}

TEST_F(RunnerTest, TextOnStdoutIsLoggedWithAHintOnce) {
  for (int i = 0; i < 3; ++i) {
    run(pod_event("x", "u1"));
    EXPECT_EQ(answer("pod \"y\" deleted\n{\"message\":\"hello\"}\n").verdict, Verdict::kDone);
  }
  EXPECT_EQ(tap.count("pod \"y\" deleted hook=h"), 3u);
  EXPECT_EQ(tap.count("HOOKD_ANSWER"), 1u);
  EXPECT_EQ(tap.count("hello"), 3u);
}

TEST_F(RunnerTest, AFloodOfTextIsBounded) {
  run(pod_event("x", "u1"));
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "line\n";
  EXPECT_EQ(answer(text).verdict, Verdict::kDone);
  EXPECT_EQ(tap.count("line hook=h"), 1000u);
  EXPECT_EQ(tap.count("lines=5000"), 1u);
}

TEST_F(RunnerTest, StderrGoesToTheLogWithItsLevels) {
  run(pod_event("x", "u1"));
  launcher.last().complain("plain\n{\"level\":\"err");
  launcher.last().complain("or\",\"msg\":\"bad\"}\nno end");
  answer("");
  const std::string id = launcher.last().environment("HOOKD_CALL_ID");
  EXPECT_EQ(tap.first("plain hook=h binding=pods call=" + id).level, log::Level::kInfo);
  EXPECT_EQ(tap.first("bad hook=h binding=pods call=" + id).level, log::Level::kError);
  EXPECT_EQ(tap.count("no end hook=h"), 1u);
}

// Without its state the hook would do once more what it did already.
TEST_F(RunnerTest, WhileItsStateCannotBeReadTheHookIsNotCalled) {
  struct Unreadable final : state::MemoryStore {
    Result<std::optional<std::string>> read(std::string_view table, std::string_view key) const override {
      if (broken && table == "state") return fail(Errc::kConfig, "disk I/O error");
      return MemoryStore::read(table, key);
    }
    bool broken = false;
  } store;
  hook->state = StateOptions{StateOptions::Per::kHook, 100};
  runner = std::make_unique<Runner>(
      hook, RunnerServices{scheduler, random, launcher, applier, metrics, options, nullptr, &store},
      [this](const std::string& binding) { return snapshots.at(binding); });
  run(pod_event("x", "u1"));
  answer(R"({"state":7})");
  store.broken = true;
  run(pod_event("x", "u1"));
  const Ended unread = settle();
  EXPECT_EQ(unread.verdict, Verdict::kNotTried);
  EXPECT_THAT(unread.item.carry.last_error, HasSubstr("its state cannot be read: disk I/O error"));
  EXPECT_EQ(launcher.started.size(), 1u);
  store.broken = false;
  run(again(unread));
  EXPECT_EQ(json_raw_at(launcher.last().read_input(), {"state"}), "7");
  answer("");
}

// ---------------------------------------------------------------- what is applied, and again

TEST_F(RunnerTest, ARetryAfterAPartialFailureDoesOnlyWhatIsLeft) {
  make_pod("x", "u1");
  make_pod("y", "u2");
  fail_next("PATCH /api/v1/namespaces/a/pods/y", unavailable());
  run(pod_event("x", "u1"));
  const Ended first = answer(label_pod("x", "one") + label_pod("y", "two"));
  EXPECT_EQ(first.verdict, Verdict::kRetryTogether);
  EXPECT_EQ(first.at_least, Duration(100ms));  // the server's Retry-After
  EXPECT_EQ(cluster.written.size(), 2u);
  run(again(first));
  EXPECT_EQ(settle().verdict, Verdict::kDone);
  EXPECT_EQ(launcher.started.size(), 1u);  // no new call
  EXPECT_THAT(cluster.writes(), ElementsAre("PATCH /api/v1/namespaces/a/pods/x", "PATCH /api/v1/namespaces/a/pods/y",
                                            "PATCH /api/v1/namespaces/a/pods/y"));
}

TEST_F(RunnerTest, AnOldDecisionIsNotCarriedOutWithoutAskingAgain) {
  make_pod("x", "u1");
  fail_next("DELETE /api/v1/namespaces/a/pods/x", unavailable());
  run(pod_event("x", "u1"));
  const Ended first = answer(delete_pod("x"));
  EXPECT_EQ(first.verdict, Verdict::kRetryTogether);
  scheduler.advance(10min);  // the server was away, and the node has come back meanwhile
  run(again(first));
  ASSERT_EQ(launcher.started.size(), 2u);
  EXPECT_EQ(answer("").verdict, Verdict::kDone);
  EXPECT_THAT(cluster.writes(), ElementsAre("DELETE /api/v1/namespaces/a/pods/x"));
}

TEST_F(RunnerTest, NewsMeansANewCallThatDoesNotRepeatWhatSucceeded) {
  make_pod("x", "u1");
  make_pod("y", "u2");
  make_pod("z", "u3");
  fail_next("PATCH /api/v1/namespaces/a/pods/y", unavailable());
  const std::string create =
      R"({"operation":"Create","object":{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"new-","namespace":"a"}}})";
  run(pod_event("x", "u1"));
  const Ended first = answer(create + delete_pod("z") + label_pod("y", "two"));
  EXPECT_EQ(first.verdict, Verdict::kRetryTogether);
  run(again(first, {pod_event("x", "u1", Event::Type::kModified, "2")}));
  ASSERT_EQ(launcher.started.size(), 2u);
  EXPECT_EQ(answer(create + delete_pod("z") + label_pod("y", "two") + label_pod("x", "new")).verdict, Verdict::kDone);
  const auto writes = cluster.writes();
  EXPECT_EQ(std::ranges::count(writes, "POST /api/v1/namespaces/a/pods"), 1);
  EXPECT_EQ(std::ranges::count(writes, "DELETE /api/v1/namespaces/a/pods/z"), 1);
  EXPECT_EQ(std::ranges::count(writes, "PATCH /api/v1/namespaces/a/pods/y"), 2);
  EXPECT_EQ(std::ranges::count(writes, "PATCH /api/v1/namespaces/a/pods/x"), 1);
}

// What the first attempt made was taken away before the hook was called with news: it says again that it is to be
// there.
TEST_F(RunnerTest, WithNewsWhatWasMadeIsMadeAgainIfItWent) {
  make_pod("y", "u2");
  fail_next("PATCH /api/v1/namespaces/a/pods/y", unavailable());
  const std::string output =
      R"({"operation":"Create","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"new","namespace":"a"}}})" +
      label_pod("y", "two");
  cluster.keeps_writes = true;
  run(pod_event("x", "u1"));
  const Ended first = answer(output);
  ASSERT_TRUE(cluster.has(test::pods(), "a", "new"));
  cluster.remove(test::pods(), "a", "new");
  run(again(first, {pod_event("x", "u1", Event::Type::kModified, "2")}));
  EXPECT_EQ(answer(output).verdict, Verdict::kDone);
  EXPECT_TRUE(cluster.has(test::pods(), "a", "new"));
}

TEST_F(RunnerTest, RepeatTrueIsRepeated) {
  make_pod("x", "u1");
  make_pod("y", "u2");
  fail_next("PATCH /api/v1/namespaces/a/pods/y", unavailable());
  const std::string output = label_pod("x", "one", ",\"repeat\":true") + label_pod("y", "two");
  run(pod_event("q", "u9"));
  const Ended first = answer(output);
  run(again(first, {pod_event("q", "u9", Event::Type::kModified, "2")}));
  EXPECT_EQ(answer(output).verdict, Verdict::kDone);
  EXPECT_EQ(std::ranges::count(cluster.writes(), "PATCH /api/v1/namespaces/a/pods/x"), 2);
}

TEST_F(RunnerTest, TwoOperationsThatDifferOnlyInTheirContentAreTwo) {
  make_pod("x", "u1");
  make_pod("y", "u2");
  fail_next("PATCH /api/v1/namespaces/a/pods/y", unavailable());
  run(pod_event("q", "u9"));
  const Ended first = answer(label_pod("x", "one") + label_pod("y", "two"));
  run(again(first, {pod_event("q", "u9", Event::Type::kModified, "2")}));
  EXPECT_EQ(answer(label_pod("x", "other") + label_pod("y", "two")).verdict, Verdict::kDone);
  EXPECT_EQ(std::ranges::count(cluster.writes(), "PATCH /api/v1/namespaces/a/pods/x"), 2);
}

TEST_F(RunnerTest, TheSameCreateTwiceInOneAnswerIsTwoObjects) {
  make_pod("y", "u2");
  fail_next("PATCH /api/v1/namespaces/a/pods/y", unavailable());
  const std::string create =
      R"({"operation":"Create","object":{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"new-","namespace":"a"}}})";
  run(pod_event("q", "u9"));
  const Ended first = answer(create + label_pod("y", "two"));
  run(again(first, {pod_event("q", "u9", Event::Type::kModified, "2")}));
  EXPECT_EQ(answer(create + create + label_pod("y", "two")).verdict, Verdict::kDone);
  EXPECT_EQ(std::ranges::count(cluster.writes(), "POST /api/v1/namespaces/a/pods"), 2);
}

// While one operation keeps failing, somebody undoes what another one did: the hook sees that and says it again.
TEST_F(RunnerTest, WhatShouldBeIsSaidAgainWhenSomebodyChangedTheObjectSince) {
  make_pod("x", "u1");
  make_pod("y", "u2");
  fail_next("PATCH /api/v1/namespaces/a/pods/y", unavailable());
  fail_next("PATCH /api/v1/namespaces/a/pods/y", unavailable());
  const std::string output = label_pod("x", "one") + label_pod("y", "two");
  run(pod_event("x", "u1"));
  const Ended first = answer(output);
  const std::string version = cluster.version_of(test::pods(), "a", "x");
  // The event of our own write: nothing changed since.
  run(again(first, {pod_event("x", "u1", Event::Type::kModified, version)}));
  const Ended second = answer(output);
  EXPECT_EQ(std::ranges::count(cluster.writes(), "PATCH /api/v1/namespaces/a/pods/x"), 1);
  run(again(second, {pod_event("x", "u1", Event::Type::kModified, "999")}));
  EXPECT_EQ(answer(output).verdict, Verdict::kDone);
  EXPECT_EQ(std::ranges::count(cluster.writes(), "PATCH /api/v1/namespaces/a/pods/x"), 2);
}

TEST_F(RunnerTest, ARefusedOperationGivesUpOnceTheOthersAreThrough) {
  make_pod("x", "u1");
  make_pod("y", "u2");
  fail_next("PATCH /api/v1/namespaces/a/pods/x", invalid());
  fail_next("PATCH /api/v1/namespaces/a/pods/y", unavailable());
  run(pod_event("x", "u1"));
  const Ended first = answer(label_pod("x", "one") + label_pod("y", "two") + R"({"requeueAfter":"20s"})");
  EXPECT_EQ(first.verdict, Verdict::kRetryTogether);
  EXPECT_FALSE(first.requeue);
  run(again(first));
  const Ended second = settle();
  EXPECT_EQ(second.verdict, Verdict::kGiveUp);
  EXPECT_EQ(second.requeue, Duration(20s));  // the hook's wish to be called again still holds
  EXPECT_THAT(second.item.carry.last_error, HasSubstr("spec is wrong"));
  EXPECT_EQ(std::ranges::count(cluster.writes(), "PATCH /api/v1/namespaces/a/pods/x"), 1);
  EXPECT_EQ(std::ranges::count(cluster.writes(), "PATCH /api/v1/namespaces/a/pods/y"), 2);
}

TEST_F(RunnerTest, ARefusalOfAnOlderAnswerDoesNotCountAgainstANewOne) {
  make_pod("x", "u1");
  make_pod("y", "u2");
  fail_next("PATCH /api/v1/namespaces/a/pods/x", invalid());
  fail_next("PATCH /api/v1/namespaces/a/pods/y", unavailable());
  run(pod_event("x", "u1"));
  const Ended first = answer(label_pod("x", "one") + label_pod("y", "two") + R"({"requeueAfter":"20s"})");
  run(again(first, {pod_event("x", "u1", Event::Type::kModified, "2")}));
  const Ended second = answer(label_pod("y", "two"));
  EXPECT_EQ(second.verdict, Verdict::kDone);
  EXPECT_FALSE(second.requeue);
}

TEST_F(RunnerTest, WhatIsNotAllowedSendsNothingAndIsGivenUp) {
  hook->allow = {
      apply::AllowRule{.api_version = "v1", .kind = "Pod", .verbs = {"delete"}, .namespaces = {"a"}, .names = {}}};
  make_pod("x", "u1");
  run(pod_event("x", "u1"));
  const Ended result = answer(delete_pod("x") + label_pod("x", "one"));
  EXPECT_EQ(result.verdict, Verdict::kGiveUp);
  EXPECT_THAT(result.item.carry.last_error, AllOf(HasSubstr("nothing was sent"), HasSubstr("not allowed")));
  EXPECT_THAT(cluster.written, IsEmpty());
  run(pod_event("x", "u1"));
  EXPECT_EQ(answer(delete_pod("x")).verdict, Verdict::kDone);
}

TEST_F(RunnerTest, ADryRunChangesNothing) {
  options.dry_run = true;
  make_pod("x", "u1");
  run(pod_event("x", "u1"));
  EXPECT_EQ(answer(delete_pod("x")).verdict, Verdict::kDone);
  ASSERT_EQ(cluster.written.size(), 1u);
  EXPECT_THAT(cluster.written[0].body, HasSubstr(R"("dryRun":["All"])"));
  EXPECT_EQ(tap.count("dryRun=true"), 1u);
}

// ---------------------------------------------------------------- deletions mean the object that was shown

std::string body_uid(const kube::ApiRequest& request) {
  return json_string_at(request.body, {"preconditions", "uid"}).value_or("");
}

// product.md section 3: a namesake created since is never killed.
TEST_F(RunnerTest, ADeleteOfTheEventsObjectHasItsUid) {
  cluster.put(test::pods(), object_json(test::pods(), "a", "x", "u2"));  // a namesake is there by now
  run(pod_event("x", "u1"));
  EXPECT_EQ(answer(delete_pod("x", ",\"gracePeriodSeconds\":0")).verdict, Verdict::kDone);
  ASSERT_EQ(cluster.written.size(), 1u);
  EXPECT_EQ(body_uid(cluster.written[0]), "u1");
  EXPECT_TRUE(cluster.has(test::pods(), "a", "x"));
  EXPECT_EQ(tap.count("another object has this name now"), 1u);
}

TEST_F(RunnerTest, ADeleteOfASnapshotsObjectHasItsUidToo) {
  make_pod("x", "u1");
  cluster.put(test::pods(), object_json(test::pods(), "a", "x", "u2"));
  Event tick;
  tick.type = Event::Type::kSchedule;
  tick.binding = "sweep";
  run(tick);
  EXPECT_EQ(answer(delete_pod("x")).verdict, Verdict::kDone);
  EXPECT_EQ(body_uid(cluster.written.at(0)), "u1");
  EXPECT_TRUE(cluster.has(test::pods(), "a", "x"));
}

TEST_F(RunnerTest, ARetryMeansTheSameObjectThoughTheSnapshotChangedMeanwhile) {
  make_pod("x", "u1");
  fail_next("DELETE /api/v1/namespaces/a/pods/x", unavailable());
  Event tick;
  tick.type = Event::Type::kSchedule;
  tick.binding = "sweep";
  run(tick);
  const Ended first = answer(delete_pod("x"));
  ASSERT_EQ(first.verdict, Verdict::kRetryTogether);
  snapshots["pods"].entries = {{make_object("a", "x", "u2", "9"), nullptr}};
  cluster.put(test::pods(), object_json(test::pods(), "a", "x", "u2"));
  run(again(first));
  EXPECT_EQ(settle().verdict, Verdict::kDone);
  EXPECT_EQ(body_uid(cluster.written.back()), "u1");
  EXPECT_TRUE(cluster.has(test::pods(), "a", "x"));
}

TEST_F(RunnerTest, EveryNameOfTheKindIsUnderstood) {
  for (const char* kind : {"Pod", "pod", "pods", "po", "Pods"}) {
    SCOPED_TRACE(kind);
    cluster.written.clear();
    cluster.put(test::pods(), object_json(test::pods(), "a", "x", "u2"));
    run(pod_event("x", "u1"));
    answer(fmt::format(R"({{"operation":"Delete","apiVersion":"v1","kind":"{}","name":"x"}})", kind));
    for (const auto& request : cluster.written) EXPECT_EQ(body_uid(request), "u1");
    EXPECT_TRUE(cluster.has(test::pods(), "a", "x"));
  }
}

TEST_F(RunnerTest, AUidThatTheHookGivesHolds) {
  cluster.put(test::pods(), object_json(test::pods(), "a", "x", "u2"));
  run(pod_event("x", "u1"));
  EXPECT_EQ(answer(delete_pod("x", ",\"uid\":\"u2\"")).verdict, Verdict::kDone);
  EXPECT_FALSE(cluster.has(test::pods(), "a", "x"));
}

TEST_F(RunnerTest, AnUnknownObjectsUidIsReadAndKeptForRetries) {
  cluster.put(test::pods(), object_json(test::pods(), "a", "z", "u7"));
  fail_next("DELETE /api/v1/namespaces/a/pods/z", unavailable());
  run(pod_event("x", "u1"));
  const Ended first = answer(delete_pod("z"));
  ASSERT_EQ(first.verdict, Verdict::kRetryTogether);
  cluster.put(test::pods(), object_json(test::pods(), "a", "z", "u8"));
  run(again(first));
  EXPECT_EQ(settle().verdict, Verdict::kDone);
  EXPECT_EQ(body_uid(cluster.written.back()), "u7");
  EXPECT_TRUE(cluster.has(test::pods(), "a", "z"));
}

TEST_F(RunnerTest, EvictionsAreForThatObjectToo) {
  cluster.put(test::pods(), object_json(test::pods(), "a", "x", "u1"));
  run(pod_event("x", "u1"));
  answer(R"({"operation":"Evict","namespace":"a","name":"x"})");
  ASSERT_EQ(cluster.written.size(), 1u);
  EXPECT_EQ(json_string_at(cluster.written[0].body, {"deleteOptions", "preconditions", "uid"}), "u1");
}

// ---------------------------------------------------------------- status, requeue, metrics

TEST_F(RunnerTest, StatusGoesToTheObjectThatTheCallIsAbout) {
  make_pod("x", "u1");
  run(pod_event("x", "u1"));
  EXPECT_EQ(answer(R"({"status":{"phase":"Ready","n":1.50}})").verdict, Verdict::kDone);
  ASSERT_EQ(cluster.written.size(), 1u);
  EXPECT_EQ(cluster.written[0].path, "/api/v1/namespaces/a/pods/x/status");
  EXPECT_THAT(cluster.written[0].body, HasSubstr(R"("status":{"phase":"Ready","n":1.50})"));
}

TEST_F(RunnerTest, StatusWithoutExactlyOneObjectIsAnError) {
  make_pod("x", "u1");
  Event tick;
  tick.type = Event::Type::kSchedule;
  tick.binding = "sweep";
  for (const std::vector<Event>& events :
       {std::vector{tick}, std::vector{pod_event("x", "u1"), pod_event("x", "u2")}}) {
    run(item_of(events));
    const Ended result = answer(label_pod("x", "a") + R"({"status":{}})");
    EXPECT_EQ(result.verdict, events.size() > 1 ? Verdict::kSplit : Verdict::kRetry);
    EXPECT_THAT(result.item.carry.last_error, HasSubstr("\"status\" without saying of what"));
  }
  EXPECT_THAT(cluster.written, IsEmpty());
  run(item_of({pod_event("x", "u1"), pod_event("x", "u1", Event::Type::kModified, "2")}));  // two events, one object
  EXPECT_EQ(answer(R"({"status":{}})").verdict, Verdict::kDone);
}

TEST_F(RunnerTest, RequeueAfterComesWithSuccess) {
  run(pod_event("x", "u1"));
  EXPECT_EQ(answer(R"({"requeueAfter":"20s"})").requeue, Duration(20s));
  run(pod_event("x", "u1"));
  EXPECT_EQ(answer(R"({"operation":"Requeue","after":"5s"})").requeue, Duration(5s));
  run(pod_event("x", "u1"));
  EXPECT_FALSE(answer("{}").requeue);
  run(pod_event("x", "u1"));
  EXPECT_FALSE(answer(R"({"requeueAfter":"0s"})").requeue);  // would be a call without end
  run(pod_event("x", "u1"));
  EXPECT_FALSE(answer(R"({"requeueAfter":"20s"})", 1).requeue);
}

TEST_F(RunnerTest, RequeueAfterSurvivesARetryOfWhatIsLeft) {
  make_pod("y", "u2");
  fail_next("PATCH /api/v1/namespaces/a/pods/y", unavailable());
  run(pod_event("x", "u1"));
  const Ended first = answer(label_pod("y", "two") + R"({"requeueAfter":"20s"})");
  EXPECT_FALSE(first.requeue);
  run(again(first));
  EXPECT_EQ(settle().requeue, Duration(20s));
}

TEST_F(RunnerTest, ARequeueOperationOfTheNextAnswerHoldsThoughItWasAnsweredBefore) {
  make_pod("y", "u2");
  fail_next("PATCH /api/v1/namespaces/a/pods/y", unavailable());
  const std::string output = label_pod("y", "two") + R"({"operation":"Requeue","after":"20s"})";
  run(pod_event("x", "u1"));
  const Ended first = answer(output);
  scheduler.advance(10min);
  run(again(first));
  EXPECT_EQ(answer(output).requeue, Duration(20s));
}

TEST_F(RunnerTest, MetricsOfAHookAreItsOwn) {
  run(pod_event("x", "u1"));
  answer(R"({"operation":"Metric","name":"jobs_total","value":2,"labels":{"a":"b"}})"
         R"({"operation":"Metric","name":"depth","action":"set","value":7})"
         R"({"operation":"Metric","name":"wait_seconds","action":"observe","value":0.3,"buckets":[0.1,1]})");
  EXPECT_EQ(ended->verdict, Verdict::kDone);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr(R"(jobs_total{a="b",hook="h"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(depth{hook="h"} 7)"));
  EXPECT_THAT(text, HasSubstr(R"(wait_seconds_bucket{hook="h",le="1"} 1)"));
}

TEST_F(RunnerTest, AMetricThatDoesNotFitIsSaidAndChangesNothing) {
  run(pod_event("x", "u1"));
  answer(R"({"operation":"Metric","name":"hookd_calls_total"})"
         R"({"operation":"Metric","name":"m","action":"observe","value":1,"labels":{"le":"1"}})"
         R"({"operation":"Metric","name":"same"})"
         R"({"operation":"Metric","name":"same","action":"set","value":7})");
  EXPECT_EQ(ended->verdict, Verdict::kDone);
  EXPECT_EQ(tap.count("a metric of a hook was not taken"), 3u);
  EXPECT_THAT(metrics.text(), HasSubstr("same{hook=\"h\"} 1"));
}

TEST_F(RunnerTest, MeasuresTheWayFromEventToCallOfFirstAttempts) {
  scheduler.advance(10s);
  Event event = pod_event("x", "u1");
  event.seen = scheduler.now();
  scheduler.advance(3s);
  run(event);
  answer("", 1);
  EXPECT_THAT(metrics.text(), AllOf(HasSubstr("hookd_event_to_call_seconds_sum{hook=\"h\"} 3"),
                                    HasSubstr("hookd_event_to_call_seconds_count{hook=\"h\"} 1")));
  run(again(*ended));
  answer("");
  EXPECT_THAT(metrics.text(), HasSubstr("hookd_event_to_call_seconds_count{hook=\"h\"} 1"));
}

// ---------------------------------------------------------------- the end

TEST_F(RunnerTest, TerminateAsksEveryProcessToEnd) {
  run(pod_event("x", "u1"));
  runner->terminate();
  EXPECT_TRUE(launcher.last().terminated);
  launcher.last().finish(ended_by(ExitKind::kSignalled, 15));
  EXPECT_EQ(settle().verdict, Verdict::kRetry);
}

TEST_F(RunnerTest, GoesWithItsCallsAndSaysNothingMore) {
  run(pod_event("x", "u1"));
  EXPECT_EQ(runner->running(), 1u);
  runner.reset();
  EXPECT_TRUE(launcher.last().killed);
  make();
  make_pod("x", "u1");
  run(pod_event("x", "u1"));
  launcher.last().print(label_pod("x", "a"));
  launcher.last().exit(0);
  runner.reset();  // while the operations are under way
  scheduler.advance(1min);
  EXPECT_FALSE(ended);
}

}  // namespace
}  // namespace hookd::hook
