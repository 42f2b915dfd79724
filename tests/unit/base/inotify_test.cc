#include "base/inotify.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "unit/support/scratch_folder.h"

namespace hookd {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
namespace fs = std::filesystem;

class InotifyTest : public testing::Test {
 protected:
  InotifyTest() {}
  void write(const std::string& name) { std::ofstream(folder + "/" + name) << "x"; }
  bool told(int& count, Duration most = 5s) {
    const int before = count;
    const SteadyTime end = scheduler.now() + most;
    while (count == before && scheduler.now() < end) {
      context.restart();
      context.run_one_for(20ms);
    }
    return count != before;
  }
  std::vector<std::string> names(const std::string& path) {
    std::vector<std::string> all;
    for (const auto& place : places_of(path)) all.push_back((fs::path(place.folder) / place.name).string());
    return all;
  }

  const test::ScratchFolder scratch;
  const std::string& folder = scratch.path();
  boost::asio::io_context context{1};
  AsioScheduler scheduler{context};
  int first = 0, second = 0;
};

TEST_F(InotifyTest, TellsOnlyWhomItConcerns) {
  Inotify inotify(scheduler);
  const auto any = inotify.watch([this] { ++first; });
  const auto one = inotify.watch([this] { ++second; });
  EXPECT_TRUE(any->set({{folder, "", true}}));
  EXPECT_TRUE(one->set({{folder, "b", true}}));
  write("a");
  EXPECT_TRUE(told(first));
  EXPECT_EQ(second, 0);
  write("b");
  EXPECT_TRUE(told(second));
}

TEST_F(InotifyTest, WritesToAnOpenFileAreToldToThoseWhoWantThem) {
  std::ofstream file(folder + "/a");
  Inotify inotify(scheduler);
  const auto quiet = inotify.watch([this] { ++first; });
  const auto eager = inotify.watch([this] { ++second; });
  quiet->set({{folder, "", false}});
  eager->set({{folder, "", true}});
  file << "x" << std::flush;
  EXPECT_TRUE(told(second));
  EXPECT_EQ(first, 0);
}

TEST_F(InotifyTest, PlacesThatWereTakenBackAreNotTold) {
  Inotify inotify(scheduler);
  const auto watch = inotify.watch([this] { ++first; });
  watch->set({{folder, "", true}});
  watch->set({});
  write("a");
  EXPECT_FALSE(told(first, 200ms));
}

TEST_F(InotifyTest, AFolderThatGoesIsToldAndOneThatIsNotThereIsNoFailure) {
  fs::create_directory(folder + "/x");
  Inotify inotify(scheduler);
  const auto watch = inotify.watch([this] { ++first; });
  EXPECT_TRUE(watch->set({{folder + "/x", "", true}, {folder + "/none", "", true}}));
  fs::remove(folder + "/x");
  EXPECT_TRUE(told(first));
}

TEST_F(InotifyTest, AWatchMayGoInsideItsOwnCallAndOutliveItsInotify) {
  auto inotify = std::make_unique<Inotify>(scheduler);
  std::unique_ptr<PathWatcher::Watch> watch;
  watch = inotify->watch([&] {
    ++first;
    watch.reset();
  });
  watch->set({{folder, "", true}});
  write("a");
  EXPECT_TRUE(told(first));
  watch = inotify->watch([] {});
  inotify.reset();
  EXPECT_FALSE(watch->set({{folder, "", true}}));
}

TEST_F(InotifyTest, PlacesAreAllLinksOnTheWay) {
  fs::create_directory(folder + "/..one");
  write("..one/conf");
  fs::create_directory_symlink("..one", folder + "/..data");
  fs::create_symlink("..data/conf", folder + "/conf");
  const auto all = names(folder + "/conf");
  for (const char* name : {"/conf", "/..data", "/..one", "/..one/conf"}) EXPECT_THAT(all, Contains(folder + name));
}

TEST_F(InotifyTest, PlacesEndWhereNothingIsAndWhereLinksTurnInCircles) {
  EXPECT_THAT(names(folder + "/x/y"), Contains(folder + "/x"));
  EXPECT_THAT(names(folder + "/x/y"), testing::Not(Contains(folder + "/x/y")));
  fs::create_symlink("b", folder + "/a");
  fs::create_symlink("a", folder + "/b");
  EXPECT_THAT(names(folder + "/a"), Contains(folder + "/b"));
}

}  // namespace
}  // namespace hookd
