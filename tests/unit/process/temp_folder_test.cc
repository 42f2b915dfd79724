#include "process/temp_folder.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "run_child.h"

namespace hookd::process {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(RemoveTree, RemovesWhatIsThereAndIsContentWithWhatIsNot) {
  const test::ScratchFolder folder;
  EXPECT_TRUE(remove_tree(folder.path() + "/gone"));
  const std::string top = folder.path() + "/top";
  fs::create_directories(top + "/a/b/c");
  fs::create_directories(top + "/a/b2");
  std::ofstream(top + "/a/b/c/file") << "x";
  std::ofstream(top + "/file\nwith a line") << "x";
  ASSERT_EQ(::mkfifo((top + "/a/pipe").c_str(), 0600), 0);
  EXPECT_TRUE(remove_tree(top));
  EXPECT_FALSE(fs::exists(top));
}

TEST(RemoveTree, NeverFollowsALink) {
  const test::ScratchFolder folder;
  const std::string kept = folder.path() + "/kept";
  fs::create_directory(kept);
  std::ofstream(kept + "/precious") << "x";
  ::chmod(kept.c_str(), 0555);
  const std::string top = folder.path() + "/top";
  fs::create_directories(top + "/deep");
  fs::create_directory_symlink(kept, top + "/link");
  fs::create_directory_symlink(kept, top + "/deep/link");
  EXPECT_TRUE(remove_tree(top));
  EXPECT_FALSE(fs::exists(top));
  EXPECT_TRUE(fs::exists(kept + "/precious"));
  EXPECT_EQ(fs::status(kept).permissions(), fs::perms(0555)) << "not even made writable";
  // The folder itself replaced by a link.
  fs::create_directory_symlink(kept, top);
  EXPECT_FALSE(remove_tree(top));
  EXPECT_TRUE(fs::exists(kept + "/precious"));
  ::chmod(kept.c_str(), 0755);  // or only root can take it away
}

TEST(RemoveTree, GoesDeeperThanAnyPathMayBeLong) {
  const test::ScratchFolder folder;
  const std::string top = folder.path() + "/top";
  ASSERT_EQ(::mkdir(top.c_str(), 0700), 0);
  Fd at(::open(top.c_str(), O_RDONLY | O_DIRECTORY));
  const std::string name(200, 'd');
  for (int level = 0; level < 3000; ++level) {  // 600 KB of path
    ASSERT_EQ(::mkdirat(at.get(), name.c_str(), 0700), 0);
    at = Fd(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY));
    ASSERT_TRUE(at);
  }
  const auto removed = remove_tree(top);
  EXPECT_TRUE(removed) << removed.error().what;
  EXPECT_FALSE(fs::exists(top));
}

// As a user, since root may write anywhere.
TEST(RemoveTree, MakesFoldersWritableThatAreNot) {
  const test::ScratchFolder folder(0777);
  const std::string top = folder.path() + "/top";
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(3);
    fs::create_directories(top + "/a/b/c");
    fs::create_directories(top + "/a2/b");
    std::ofstream(top + "/a/b/c/file") << "x";
    for (const char* path : {"/a/b/c", "/a/b", "/a", "/a2/b", "/a2", ""}) ::chmod((top + path).c_str(), 0);
    ::_exit(remove_tree(top) && !fs::exists(top) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(RemoveTree, StopsWhenAsked) {
  const test::ScratchFolder folder;
  fs::create_directories(folder.path() + "/top/a");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(remove_tree(folder.path() + "/top", stop.get_token()).error().code, Errc::kCancelled);
  EXPECT_TRUE(fs::exists(folder.path() + "/top/a"));
}

class TempFolderTest : public ChildTest {
 protected:
  ChildSpec script(std::string text) {
    ChildSpec spec = shell(std::move(text));
    spec.temp_parent = folder_.path();
    return spec;
  }
  // Folders without anything in them are kept for later children. False also of one that goes while it is looked at.
  bool empty() const {
    std::error_code gone;
    return std::ranges::all_of(fs::directory_iterator(folder_.path()),
                               [&](const auto& entry) { return fs::is_empty(entry.path(), gone) && !gone; });
  }
};

TEST_F(TempFolderTest, IsPrivateAndTheChildsTmpdir) {
  const Ran ran = run(script("stat -c '%a %u' $TMPDIR; echo $TMPDIR; echo x > $TMPDIR/file; mkdir -p $TMPDIR/a/b"));
  EXPECT_THAT(ran.out, testing::StartsWith(fmt::format("700 {}\n{}/tmp-", ::getuid(), folder_.path())));
  EXPECT_TRUE(run_until([&] { return empty(); }));
}

TEST_F(TempFolderTest, OneLeftAsItWasMadeServesTheNextChildButNotTwoAtOnce) {
  const Ran first = run(script("echo $TMPDIR"));
  EXPECT_EQ(first.out, run(script("echo $TMPDIR")).out);
  const auto remover = std::make_shared<TempRemover>();
  const auto one = TempFolder::make(folder_.path(), remover).value();
  EXPECT_NE(one->path(), TempFolder::make(folder_.path(), remover).value()->path());
}

TEST_F(TempFolderTest, OneThatWasUsedOrOpenedToOthersServesNobodyElse) {
  for (const char* change : {"echo x > $TMPDIR/file", "chmod 777 $TMPDIR", "rmdir $TMPDIR; ln -s / $TMPDIR"}) {
    const Ran first = run(script(std::string("echo $TMPDIR; ") + change));
    EXPECT_NE(first.out, run(script("echo $TMPDIR")).out) << change;
  }
}

TEST_F(TempFolderTest, SparesGoWithTheRemover) {
  auto remover = std::make_shared<TempRemover>();
  for (size_t i = 0; i < 3; ++i) ASSERT_TRUE(TempFolder::make(folder_.path(), remover));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
  remover.reset();
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(TempFolderTest, ATmpdirOfTheHooksOwnStays) {
  ChildSpec spec = script("echo $TMPDIR");
  spec.environment.push_back("TMPDIR=/mine");
  spec.keep_tmpdir = true;
  EXPECT_EQ(run(spec).out, "/mine\n");
  spec.keep_tmpdir = false;
  EXPECT_NE(run(spec).out, "/mine\n");
}

TEST_F(TempFolderTest, GoesAlsoWithAChildThatIsKilledOrNeverStarted) {
  auto child = launcher_.start(script("echo x > $TMPDIR/file; exec sleep 60"), {});
  ASSERT_TRUE(child);
  ASSERT_TRUE(run_until([&] { return !empty(); }));
  child->reset();
  EXPECT_TRUE(run_until([&] { return empty(); }));
  ChildSpec missing = script("");
  missing.command = {"/no/such/program"};
  EXPECT_THAT(start_error(missing), HasSubstr("/no/such/program"));
  EXPECT_TRUE(empty());
}

TEST_F(TempFolderTest, AParentThatCannotBeWrittenIsNamed) {
  ChildSpec spec = script("true");
  spec.temp_parent = folder_.path() + "/gone";
  EXPECT_THAT(start_error(spec), HasSubstr("gone: no temporary folder can be made in it"));
}

}  // namespace
}  // namespace hookd::process
