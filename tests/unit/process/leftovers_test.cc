#include "process/leftovers.h"

#include "process/proc.h"
#include "process/reaper.h"
#include "run_child.h"
#include "unit/support/log_tap.h"

namespace hookd::process {
namespace {

using testing::HasSubstr;

TEST(HasVariable, ComparesWholeEntries) {
  ASSERT_TRUE(std::getenv("PATH"));
  const std::string path = std::string("PATH=") + std::getenv("PATH");
  EXPECT_TRUE(has_variable(0, path));
  EXPECT_FALSE(has_variable(0, path.substr(0, path.size() - 1)));
  EXPECT_FALSE(has_variable(0, path.substr(1)));
  EXPECT_FALSE(has_variable(0, "HOOKD_NO_SUCH=1"));
}

TEST(Leftovers, AreDescribedShortly) {
  std::vector<Leftover> many;
  for (int pid = 1; pid <= 7; ++pid) many.push_back({pid, "sleep"});
  EXPECT_EQ(describe({{5, "sh"}}), "sh (pid 5)");
  EXPECT_THAT(describe(many), testing::AllOf(HasSubstr("sleep (pid 5)"), HasSubstr("and 2 more")));
}

class LeftoversTest : public SubreaperTest {
 protected:
  ChildSpec script(std::string text) {
    ChildSpec spec = shell(std::move(text));
    spec.environment.insert(spec.environment.end(), {"HOOKD_HOOK=h", "HOOKD_CALL_ID=c7"});
    spec.temp_parent = folder_.path();
    return spec;
  }
  Reaper reaper_{scheduler_, [this](int pid) { return launcher_.owns(pid); }};
};

// Prints its number, closes its outputs and stays; the shell goes on when it and its `sleep` are there.
constexpr const char* kDaemon = R"(mkfifo $TMPDIR/up; setsid sh -c '
    echo $$; exec >&- 2>&-; sleep 60 & until grep -qs sleep /proc/$!/comm; do :; done; echo >$TMPDIR/up; wait' &
    read up <$TMPDIR/up)";

TEST_F(LeftoversTest, ADaemonEndsWithTheCallAndIsNamed) {
  test::LogTap tap;
  const int daemon = std::stoi(run(script(kDaemon)).out);
  EXPECT_TRUE(run_until([&] { return is_dead(daemon); }));
  const std::string line = tap.first("left processes running").line;
  EXPECT_THAT(line, HasSubstr(fmt::format("sh (pid {})", daemon)));
  EXPECT_THAT(line, HasSubstr("sleep (pid"));
  EXPECT_THAT(line, HasSubstr("hook=h"));
  EXPECT_THAT(line, HasSubstr("call=c7"));
}

TEST_F(LeftoversTest, DaemonsOfOtherCallsStay) {
  // The first goes on, with a daemon whose parent is gone, while the second ends.
  std::string out;
  ChildHandlers handlers;
  handlers.on_stdout = [&](std::string_view piece) { out += piece; };
  auto first = launcher_.start(script(std::string("(") + kDaemon + "); sleep 60"), std::move(handlers));
  ASSERT_TRUE(first);
  ASSERT_TRUE(run_until([&] { return out.ends_with('\n'); }));
  const int daemon = std::stoi(out);
  test::LogTap tap;
  bool ended = false;
  ChildHandlers second;
  second.on_exit = [&](const ChildExit&) { ended = true; };
  auto other = launcher_.start(script("true"), std::move(second));
  ASSERT_TRUE(other);
  ASSERT_TRUE(run_until([&] { return ended; }));
  EXPECT_FALSE(is_dead(daemon));
  EXPECT_EQ(tap.count("left processes"), 0u);
  first->reset();  // killed with whatever it left
  EXPECT_TRUE(run_until([&] { return is_dead(daemon); }));
}

TEST_F(LeftoversTest, WhoForksWhileItIsEndedIsFoundToo) {
  test::LogTap tap;
  const Ran ran =
      run(script("mkfifo $TMPDIR/up; setsid sh -c 'exec >&- 2>&-; echo >$TMPDIR/up; i=0; while [ $i -lt 300 ]; do "
                 "i=$((i+1)); (sleep 61 & ); done; sleep 60' & read up <$TMPDIR/up"));
  EXPECT_EQ(ran.exit.code, 0);
  EXPECT_GE(tap.count("left processes"), 1u);
  const auto children = children_of(0).value();
  for (const int pid : children) EXPECT_TRUE(run_until([&] { return is_dead(pid); })) << name_of(pid);
}

}  // namespace
}  // namespace hookd::process
