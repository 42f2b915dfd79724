#include "trigger/source_trigger.h"

#include <gmock/gmock.h>

#include "trigger/command_source.h"
#include "unit/support/fake_launcher.h"
#include "unit/support/log_tap.h"

namespace hookd::trigger {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(JsonOfBytes, TellsValuesTextAndBinaryApart) {
  EXPECT_EQ(json_of_bytes(R"({"a": [1,2]})"), R"({"a": [1,2]})");
  EXPECT_EQ(json_of_bytes("  42 "), "42");
  EXPECT_EQ(json_of_bytes("null"), "null");
  EXPECT_EQ(json_of_bytes("say \"hi\""), R"("say \"hi\"")");
  EXPECT_EQ(json_of_bytes("{\"a\":"), R"("{\"a\":")");
  EXPECT_EQ(json_of_bytes("[1,\n 2]"), "[1,  2]");
  EXPECT_EQ(json_of_bytes("\xff\xfe\x01"), R"({"base64":"//4B"})");
  EXPECT_EQ(json_of_bytes(std::string("a\0b", 3)), "\"a\\u0000b\"");
  EXPECT_EQ(json_of_bytes(std::string(300, '[') + std::string(300, ']')).front(), '"');
}

class CommandSourceTest : public testing::Test {
 protected:
  CommandSourceTest() {
    hook->name = "h";
    hook->run.directory = "/hooks/h";
    hook->run.user = "nobody";
    hook->run.grace = 7s;
    hook->run.env = {{"TOKEN", "t"}};
    binding.name = "bus";
    binding.command = {"/bin/bus", "users"};
  }
  void start() {
    hook->sources = {binding};
    source = SourceTrigger::make(
        hook, hook->sources.front(),
        {scheduler, random, metrics, launcher, nullptr, nullptr, nullptr, "/kube", {"A=1"}, "/run/hookd"},
        [this](const std::string& key, hook::Event event, bool exclusive) {
          EXPECT_FALSE(exclusive);
          EXPECT_EQ(event.type, hook::Event::Type::kSource);
          EXPECT_EQ(event.binding, "bus");
          keys.push_back(key);
          data.push_back(*event.data);
          if (keep) events.push_back(std::move(event));
        });
    source->start();
  }
  std::vector<std::string> taken() { return std::exchange(data, {}); }
  void handle(size_t count) {  // the oldest events
    events.erase(events.begin(), events.begin() + static_cast<ptrdiff_t>(count));
    scheduler.run_posted();
  }
  double metric(std::string_view line) {
    const std::string text = metrics.text();
    const size_t at = text.find(std::string(line) + " ");
    return at == std::string::npos ? 0 : std::stod(text.substr(at + line.size() + 1));
  }

  ManualScheduler scheduler;
  SeededRandom random;
  metrics::Registry metrics;
  test::FakeLauncher launcher{scheduler};
  std::shared_ptr<hook::Hook> hook = std::make_shared<hook::Hook>();
  hook::SourceBinding binding;
  std::vector<std::string> keys, data;
  std::vector<hook::Event> events;
  bool keep = false;
  std::unique_ptr<SourceTrigger> source;
};

TEST_F(CommandSourceTest, StartsTheProgramAsTheHookIsRun) {
  start();
  const auto& spec = launcher.last().spec;
  EXPECT_THAT(spec.command, ElementsAre("/bin/bus", "users"));
  EXPECT_EQ(spec.directory, "/hooks/h");
  EXPECT_EQ(spec.user, "nobody");
  EXPECT_EQ(spec.grace, 7s);
  EXPECT_EQ(spec.timeout, 0s);
  EXPECT_EQ(spec.stdout_limit_bytes, 0u);
  EXPECT_EQ(spec.temp_parent, "/run/hookd");
  EXPECT_EQ(launcher.last().environment("TOKEN"), "t");
  EXPECT_EQ(launcher.last().environment("A"), "1");
  EXPECT_EQ(launcher.last().environment("KUBECONFIG"), "/kube");
  EXPECT_EQ(launcher.last().environment("HOOKD_BINDING"), "bus");
  for (const std::string& entry : spec.environment) EXPECT_FALSE(entry.starts_with("HOOKD_CALL_ID")) << entry;
}

TEST_F(CommandSourceTest, EachLineIsAnEventInOrder) {
  start();
  launcher.last().print("{\"n\":1}\nplain\r\n\n\r\n{\"n\"");
  launcher.last().print(":2}\nrest");
  EXPECT_THAT(taken(), ElementsAre(R"({"n":1})", R"("plain")", R"({"n":2})"));
  launcher.last().print(" of it\n");
  EXPECT_THAT(taken(), ElementsAre(R"("rest of it")"));
  EXPECT_THAT(keys, testing::Each("source bus"));
  EXPECT_EQ(metric(R"(hookd_source_events_total{binding="bus",hook="h"})"), 4);
}

TEST_F(CommandSourceTest, WhenAndKeyChooseWhatComesAndWhatWaitsForWhat) {
  binding.when = *filter::Filter::compile("type == \"object\"");
  binding.key = *filter::Filter::compile(".user");
  start();
  launcher.last().print("message\n{\"user\":\"ann\"}\n{\"user\":7}\n{}\n");
  EXPECT_THAT(taken(), ElementsAre(R"({"user":"ann"})", R"({"user":7})", "{}"));
  EXPECT_THAT(keys, ElementsAre("source bus ann", "source bus 7", "source bus"));
}

TEST_F(CommandSourceTest, ALongKeyIsCutBetweenCharacters) {
  binding.key = *filter::Filter::compile(".");
  start();
  std::string umlauts = "x";
  while (umlauts.size() < 2 * SourceTrigger::kMaxKeyBytes) umlauts += "\u00fc";
  launcher.last().print("\"" + umlauts + "\"\n");
  EXPECT_EQ(keys.front(), "source bus " + umlauts.substr(0, SourceTrigger::kMaxKeyBytes - 1));
}

TEST_F(CommandSourceTest, AnEventThatWhenCannotBeAskedOfIsDroppedAndCounted) {
  binding.when = *filter::Filter::compile(".a.b | error(\"no\")");
  start();
  launcher.last().print("{}\n");
  EXPECT_THAT(taken(), IsEmpty());
  EXPECT_EQ(metric(R"(hookd_source_dropped_total{binding="bus",hook="h",why="when failed"})"), 1);
}

TEST_F(CommandSourceTest, ALineThatIsTooLongIsSkippedWholeAndCounted) {
  binding.max_line_bytes = 16;
  const test::LogTap log;
  start();
  launcher.last().print("0123456789abcdef\n0123456789abcdefg\nshort\n");
  for (int i = 0; i < 1000; ++i) launcher.last().print(std::string(1000, 'x'));
  launcher.last().print("end\nnext\n");
  EXPECT_THAT(taken(), ElementsAre("\"0123456789abcdef\"", "\"short\"", "\"next\""));
  EXPECT_EQ(metric(R"(hookd_source_dropped_total{binding="bus",hook="h",why="too long"})"), 2);
  EXPECT_EQ(log.count("too long"), 1u);  // told once a minute
}

TEST_F(CommandSourceTest, IsNotReadAnyMoreWhileTheBufferIsFull) {
  binding.buffer = 4;
  keep = true;
  start();
  launcher.last().print("1\n2\n3\n4\n5\n6\n7\n");
  EXPECT_THAT(taken(), ElementsAre("1", "2", "3", "4"));
  EXPECT_TRUE(launcher.last().paused);
  EXPECT_TRUE(source->paused());
  handle(1);
  EXPECT_THAT(taken(), IsEmpty());  // not before half is free
  handle(1);
  EXPECT_THAT(taken(), ElementsAre("5", "6"));
  EXPECT_TRUE(launcher.last().paused);
  handle(4);
  EXPECT_THAT(taken(), ElementsAre("7"));
  EXPECT_FALSE(launcher.last().paused);
  EXPECT_EQ(source->waiting(), 1u);
}

TEST_F(CommandSourceTest, LargeEventsFillTheBufferByTheirBytes) {
  binding.max_line_bytes = 64u << 20;
  keep = true;
  start();
  const std::string line = "\"" + std::string(30u << 20, 'x') + "\"\n";
  for (int i = 0; i < 3; ++i) launcher.last().print(line);
  EXPECT_TRUE(launcher.last().paused);
  handle(3);
  EXPECT_FALSE(launcher.last().paused);
}

TEST_F(CommandSourceTest, ATicketMayOutliveItsSource) {
  binding.buffer = 1;
  keep = true;
  start();
  launcher.last().print("1\n");
  source.reset();
  handle(1);
  EXPECT_THAT(events, IsEmpty());
}

TEST_F(CommandSourceTest, AProgramThatEndsIsStartedAgainLaterAndLater) {
  const test::LogTap log;
  start();
  launcher.last().complain("cannot connect\n");
  launcher.last().exit(1);
  scheduler.run_posted();
  ASSERT_TRUE(source->trouble());
  EXPECT_THAT(source->trouble()->what, AllOf(HasSubstr("exit code 1"), HasSubstr("cannot connect")));
  EXPECT_EQ(log.count("a source's program ended"), 1u);
  EXPECT_EQ(launcher.started.size(), 1u);
  scheduler.advance(1200ms);
  ASSERT_EQ(launcher.started.size(), 2u);
  launcher.last().exit(0);
  scheduler.advance(1500ms);
  EXPECT_EQ(launcher.started.size(), 2u);  // now 2 s and more
  scheduler.advance(1s);
  ASSERT_EQ(launcher.started.size(), 3u);
  scheduler.advance(CommandSource::kRunsWell);
  EXPECT_FALSE(source->trouble());
  launcher.last().exit(1);
  scheduler.advance(1200ms);
  EXPECT_EQ(launcher.started.size(), 4u);  // from the beginning again
}

TEST_F(CommandSourceTest, AProgramThatCannotBeStartedIsTriedAgain) {
  launcher.refusal = Error{Errc::kHookFailed, "/bin/bus: no such file", 0, {}, {}};
  start();
  ASSERT_TRUE(source->trouble());
  EXPECT_THAT(source->trouble()->what, HasSubstr("no such file"));
  launcher.refusal.reset();
  scheduler.advance(2s);
  EXPECT_EQ(launcher.started.size(), 1u);
}

TEST_F(CommandSourceTest, ALastLineWithoutEndCountsOnlyAfterACleanEnd) {
  start();
  launcher.last().print("{\"a\":1}");
  launcher.last().exit(0);
  EXPECT_THAT(taken(), ElementsAre(R"({"a":1})"));
  scheduler.advance(2s);
  launcher.last().print("{\"a\":");
  process::ChildExit killed;
  killed.kind = process::ChildExit::Kind::kSignalled;
  killed.signal = 9;
  launcher.last().finish(killed);
  scheduler.advance(5s);
  launcher.last().print("2\n");
  EXPECT_THAT(taken(), ElementsAre("2"));
  EXPECT_EQ(metric(R"(hookd_source_dropped_total{binding="bus",hook="h",why="cut"})"), 1);
}

TEST_F(CommandSourceTest, WhatAnEndedProgramLeftWhileFullIsNotLost) {
  binding.buffer = 2;
  keep = true;
  start();
  launcher.last().print("1\n2\n3\n4\n");
  launcher.last().print("5");  // drained at its end
  launcher.last().exit(0);
  scheduler.advance(2s);
  handle(2);
  handle(2);
  ASSERT_EQ(launcher.started.size(), 2u);
  EXPECT_FALSE(launcher.last().paused);
  handle(1);
  launcher.last().print("6\n");
  EXPECT_THAT(taken(), ElementsAre("1", "2", "3", "4", "5", "6"));
}

// Each look at the clock takes a millisecond of it.
struct BusyScheduler final : ManualScheduler {
  SteadyTime now() const override { return ManualScheduler::now() + ++looks * 1ms; }
  mutable int looks = 0;
};

TEST_F(CommandSourceTest, ManyLinesAtOnceAreWorkedOffInTurns) {
  BusyScheduler busy;
  hook->sources = {binding};
  source = SourceTrigger::make(hook, hook->sources.front(),
                               {busy, random, metrics, launcher, nullptr, nullptr, nullptr, "", {}},
                               [this](const std::string&, hook::Event event, bool) { data.push_back(*event.data); });
  source->start();
  std::string lines;
  std::vector<std::string> all;
  for (int i = 0; i < 1000; ++i) {
    all.push_back(std::to_string(i));
    lines += all.back() + "\n";
  }
  launcher.last().print(lines);
  EXPECT_LT(data.size(), CommandSource::kLinesBetweenLooks + 1);
  EXPECT_TRUE(launcher.last().paused);
  busy.run_posted();
  EXPECT_EQ(data, all);
  EXPECT_FALSE(launcher.last().paused);
  data.clear();
  launcher.last().print(lines);
  source->stop();
  EXPECT_EQ(data, all) << "what a stopped one has left is told at once";
}

// Each start would leave another pipe full in memory.
TEST_F(CommandSourceTest, IsNotStartedAgainWhileTheBufferIsFull) {
  binding.buffer = 1;
  keep = true;
  start();
  launcher.last().print("1\n2\n");
  launcher.last().exit(0);
  scheduler.advance(1h);
  EXPECT_EQ(launcher.started.size(), 1u);
  handle(1);  // 2 takes its place
  scheduler.advance(1h);
  EXPECT_EQ(launcher.started.size(), 1u);
  handle(1);
  EXPECT_EQ(launcher.started.size(), 2u);
  source->stop();
  launcher.last().exit(0);
  scheduler.advance(1h);
  EXPECT_EQ(launcher.started.size(), 2u);
}

TEST_F(CommandSourceTest, StoppedItTellsWhatWasPrintedAndDoesNotStartAgain) {
  binding.buffer = 1;
  keep = true;
  start();
  launcher.last().print("1\n2\n");
  source->stop();
  EXPECT_TRUE(launcher.last().terminated);
  EXPECT_FALSE(launcher.last().paused);
  EXPECT_TRUE(source->stopping());
  launcher.last().print("3\n");
  launcher.last().exit(0);
  scheduler.advance(10min);
  EXPECT_THAT(taken(), ElementsAre("1", "2", "3"));
  EXPECT_FALSE(source->stopping());
  EXPECT_EQ(launcher.started.size(), 1u);
}

TEST_F(CommandSourceTest, ItsComplaintsAreInTheLogWithHookAndBinding) {
  const test::LogTap log;
  start();
  launcher.last().complain("{\"level\":\"warn\",\"msg\":\"slow\"}\n");
  const auto record = log.first("slow");
  EXPECT_EQ(record.level, log::Level::kWarn);
  EXPECT_THAT(record.line, AllOf(HasSubstr("bus"), HasSubstr("h")));
}

TEST_F(CommandSourceTest, EventsByHandAreLikeItsOwn) {
  binding.key = *filter::Filter::compile(".user");
  start();
  source->give("{\"user\":\n\"x\"}", nullptr);
  EXPECT_THAT(taken(), ElementsAre("{\"user\": \"x\"}"));
  EXPECT_THAT(keys, ElementsAre("source bus x"));
}

}  // namespace
}  // namespace hookd::trigger
