#include "process/cgroup.h"

#include "process/exec_shim.h"
#include "run_child.h"
#include "unit/support/log_tap.h"

namespace hookd::process {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

// A folder that looks like a cgroup; its files are files, so nothing moves by itself.
class FakeCgroup {
 public:
  explicit FakeCgroup(const std::string& path, const std::string& controllers = "cpu memory pids") : path_(path) {
    fs::create_directories(path);
    for (const char* name : {"cgroup.procs", "cgroup.subtree_control", "cgroup.type", "cgroup.kill"}) put(name, "");
    put("cgroup.controllers", controllers + "\n");
  }
  void put(const std::string& name, const std::string& text) const { std::ofstream(path_ + "/" + name) << text; }
  std::string text(const std::string& name) const {
    std::ifstream file(path_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

class CgroupTest : public testing::Test {
 protected:
  std::shared_ptr<Cgroups> open(const std::string& setting) {
    auto opened = Cgroups::open(setting, why_not, places);
    if (opened) return *std::move(opened);
    error = opened.error().what;
    return nullptr;
  }
  void set_places(const std::string& own, const std::string& mounts) {
    places.self = folder.file("self", own);
    places.mounts = folder.file("mounts", mounts);
  }

  const test::ScratchFolder folder;
  CgroupPlaces places;
  std::string why_not, error;
};

TEST_F(CgroupTest, OffAndWhereThereIsNone) {
  EXPECT_EQ(open("off"), nullptr);
  set_places("1:name=systemd:/\n", "20 1 0:20 / /proc rw - proc proc rw\n");
  EXPECT_EQ(open("auto"), nullptr);
  EXPECT_THAT(why_not, HasSubstr("no cgroup v2"));
  EXPECT_EQ(open("/no/such/folder"), nullptr);
  EXPECT_THAT(error, testing::AllOf(HasSubstr("/no/such/folder"), HasSubstr("expected the folder of a cgroup v2")));
}

TEST_F(CgroupTest, AutoTakesItsOwnAndMovesHookdOutOfTheWay) {
  const std::string own = folder.path() + "/cg/pod/box";
  const FakeCgroup group(own);
  fs::create_directory(own + "/hookd-daemon");
  std::ofstream(own + "/hookd-daemon/cgroup.procs");
  set_places("5:cpu:/x\n0::/kube/pod/box\n",
             fmt::format("1 1 0:1 / /proc rw - proc proc rw\n2 1 0:2 /kube {}/cg rw shared:1 - cgroup2 cgroup2 rw\n",
                         folder.path()));
  const auto cgroups = open("auto");
  ASSERT_TRUE(cgroups) << why_not << error;
  EXPECT_EQ(cgroups->path(), own);
  EXPECT_EQ(FakeCgroup(own + "/hookd-daemon").text("cgroup.controllers").empty(), false);
  EXPECT_TRUE(cgroups->limits_memory());
  EXPECT_TRUE(cgroups->limits_processes());
  EXPECT_THAT(group.text("cgroup.subtree_control"), HasSubstr("pids"));
}

TEST_F(CgroupTest, AutoLeavesTheRootAndSystemdsAlone) {
  const std::string root = folder.path() + "/cg";
  const FakeCgroup group(root);
  fs::remove(root + "/cgroup.type");
  const std::string mounts = fmt::format("2 1 0:2 / {} rw - cgroup2 cgroup2 rw\n", root);
  set_places("0::/\n", mounts);
  EXPECT_EQ(open("auto"), nullptr);
  EXPECT_THAT(why_not, HasSubstr("root cgroup"));
  const FakeCgroup service(root + "/hookd.service");
  set_places("0::/hookd.service\n", mounts);
  EXPECT_EQ(open("auto"), nullptr);
  EXPECT_THAT(why_not, HasSubstr("Delegate=yes"));
}

TEST_F(CgroupTest, LimitsAChildAsItsHookSays) {
  const std::string path = folder.path() + "/cg";
  const FakeCgroup group(path);
  const auto cgroups = open(path);
  ASSERT_TRUE(cgroups);
  Limits limits;
  limits.memory_bytes = 256u << 20;
  limits.processes = 32;
  const auto made = Cgroup::make(cgroups, "x", limits).value();
  EXPECT_EQ(made->path(), path + "/hook-x");
  EXPECT_EQ(group.text("hook-x/memory.max"), "268435456");
  EXPECT_EQ(group.text("hook-x/memory.oom.group"), "1");
  EXPECT_EQ(group.text("hook-x/pids.max"), "32");
  EXPECT_THAT(Cgroup::make(cgroups, "x", limits).error().what, HasSubstr("no cgroup can be made"));
}

TEST_F(CgroupTest, WithoutControllersItStillEnds) {
  const std::string path = folder.path() + "/cg";
  const FakeCgroup group(path, "cpu");
  const auto cgroups = open(path);
  ASSERT_TRUE(cgroups);
  EXPECT_FALSE(cgroups->limits_memory());
  EXPECT_FALSE(cgroups->limits_processes());
  Limits limits;
  limits.memory_bytes = 1u << 20;
  EXPECT_TRUE(Cgroup::make(cgroups, "x", limits));
  EXPECT_FALSE(fs::exists(path + "/hook-x/memory.max"));
}

TEST_F(CgroupTest, TellsOfMemoryAndNamesWhoIsThere) {
  const std::string path = folder.path() + "/cg";
  const FakeCgroup all(path, "cpu");
  const auto cgroups = open(path);
  auto group = Cgroup::make(cgroups, "x", {}).value();
  const FakeCgroup files(group->path());
  EXPECT_FALSE(group->out_of_memory());
  EXPECT_EQ(group->peak_memory(), 0u);
  files.put("memory.events", "low 0\noom 1\noom_kill 2\n");
  files.put("memory.peak", "1048576\n");
  EXPECT_TRUE(group->out_of_memory());
  EXPECT_EQ(group->peak_memory(), 1048576u);
  files.put("cgroup.procs", fmt::format("{}\n", ::getpid()));
  const auto others = group->kill(1);
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].pid, ::getpid());
  EXPECT_THAT(others[0].name, HasSubstr("unit_process"));
  EXPECT_THAT(group->kill(::getpgid(0)), testing::IsEmpty()) << "the group of the child itself is no news";
  EXPECT_EQ(files.text("cgroup.kill"), "1");
  files.put("cgroup.procs", "");
}

TEST_F(CgroupTest, WhatCannotBeRemovedYetIsTriedAgain) {
  const std::string path = folder.path() + "/cg";
  const FakeCgroup all(path, "cpu");
  const auto cgroups = open(path);
  int told = 0;
  cgroups->on_dying([&] { ++told; });
  auto group = Cgroup::make(cgroups, "x", {}).value();
  group.reset();
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(cgroups->remove_dying());
  fs::remove_all(path + "/hook-x");
  EXPECT_TRUE(cgroups->remove_dying());
  EXPECT_EQ(cgroups->dying(), 0u);
}

TEST(ShimArguments, LeaveToTheCgroupWhatItLimits) {
  ChildSpec spec;
  spec.command = {"/x"};
  spec.user = "nobody";
  spec.limits.memory_bytes = 100;
  spec.limits.processes = 5;
  EXPECT_THAT(shim_arguments(spec), IsSupersetOf({"--memory", "--processes"}));
  const auto arguments = shim_arguments(spec, {"/tmp/own", "/cg/cgroup.procs", true, true});
  EXPECT_THAT(arguments, Not(testing::Contains("--memory")));
  EXPECT_THAT(arguments, Not(testing::Contains("--processes")));
  EXPECT_THAT(arguments, IsSupersetOf({"--own", "/tmp/own", "--cgroup", "/cg/cgroup.procs"}));
}

// On the kernel's own, where this machine lets us; elsewhere (no `parent_`) the children run all the same.
class RealCgroupTest : public ChildTest {
 protected:
  void SetUp() override {
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) {
      if (!line.contains(" - cgroup2 ")) continue;
      std::istringstream fields(line);
      std::string mount;
      for (int i = 0; i < 5; ++i) fields >> mount;
      parent_ = fmt::format("{}/hookd-unit-{}", mount, ::getpid());
    }
    if (parent_.empty() || ::mkdir(parent_.c_str(), 0755) != 0) return parent_.clear();
    std::string why_not;
    cgroups_ = Cgroups::open(parent_, why_not).value();
    launcher_.use_cgroups(cgroups_);
  }
  void TearDown() override {
    launcher_.use_cgroups(nullptr);
    if (parent_.empty()) return;
    // What was killed in one leaves it a little later.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!cgroups_->remove_dying() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    cgroups_.reset();
    EXPECT_EQ(::rmdir(parent_.c_str()), 0) << "groups are left";
  }
  ChildSpec script(std::string text) {
    ChildSpec spec = shell(std::move(text));
    spec.temp_parent = folder_.path();
    return spec;
  }
  std::string parent_;
  std::shared_ptr<Cgroups> cgroups_;
};

TEST_F(RealCgroupTest, EndsWhateverEscapedItsProcessGroup) {
  test::LogTap tap;
  // A session of its own, an empty environment, its parent gone: only the cgroup still knows it.
  const Ran ran = run(
      script("env -i setsid sh -c 'echo $$; exec >&- 2>&- sleep 60' & until grep -qs sleep /proc/$!/comm; do :; done; "
             "grep hookd-unit /proc/self/cgroup"));
  EXPECT_EQ(ran.exit.problem, "");
  if (parent_.empty()) return;
  EXPECT_THAT(ran.out, HasSubstr("/hook-"));
  const int daemon = std::stoi(ran.out);
  EXPECT_TRUE(run_until([&] { return is_dead(daemon); }));
  EXPECT_EQ(tap.count("left processes running"), 1u);
  EXPECT_THAT(tap.first("left processes running").line, HasSubstr(fmt::format("sleep (pid {})", daemon)));
  const auto groups = [&] {
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(parent_)) count += entry.is_directory();
    return count;
  };
  EXPECT_TRUE(run_until([&] { return groups() == 0; }));
}

TEST_F(RealCgroupTest, AnOrdinaryChildLeavesNothingAndIsNoNews) {
  test::LogTap tap;
  const Ran ran = run(script("echo x; sleep 60 >&- 2>&- & exit 3"));
  EXPECT_EQ(ran.exit.describe(), "exit code 3");
  EXPECT_EQ(tap.count("left processes"), 0u) << "the rest of its group is ended as ever";
}

}  // namespace
}  // namespace hookd::process
