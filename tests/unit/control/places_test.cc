#include "control/places.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "unit/support/scratch_folder.h"

namespace hookd::control {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr uid_t kRoot = 0, kMe = 1000, kStranger = 1001;
constexpr Folder kTmp{true, kRoot, true}, kRun{true, kRoot, false};

TEST(Places, ASocketOfOursInAFolderOfOursIsTrusted) {
  for (const uid_t me : {kRoot, kMe}) {
    EXPECT_TRUE(can_be_trusted(me, {true, me, false}, kTmp, me));
    EXPECT_TRUE(can_be_trusted(kRoot, {true, kRoot, false}, kTmp, me));
  }
}

// Everybody may make a folder in /tmp, also to deceive root.
TEST(Places, AStrangersFolderInTmpIsNot) {
  for (const uid_t me : {kRoot, kMe}) {
    EXPECT_FALSE(can_be_trusted(kStranger, {true, kStranger, false}, kTmp, me));
    EXPECT_FALSE(can_be_trusted(me, {true, kStranger, false}, kTmp, me)) << "it can be put in another's place";
    EXPECT_FALSE(can_be_trusted(me, {true, me, true}, kTmp, me)) << "others may write there";
    EXPECT_FALSE(can_be_trusted(me, {}, kTmp, me)) << "a link";
  }
}

TEST(Places, AFolderThatRootGaveToTheDaemonsUserIsTrustedByRoot) {
  EXPECT_TRUE(can_be_trusted(kStranger, {true, kStranger, false}, kRun, kRoot));
  EXPECT_FALSE(can_be_trusted(kMe, {true, kStranger, false}, kRun, kRoot));
  EXPECT_FALSE(can_be_trusted(kStranger, {true, kStranger, false}, kRun, kMe));
  EXPECT_FALSE(can_be_trusted(kStranger, {true, kStranger, false}, {true, kStranger, false}, kRoot));
}

// A real socket somebody listens on, in TMPDIR/hookd-x.
class PlacesTest : public testing::Test {
 protected:
  PlacesTest() {
    ::mkdir(folder.c_str(), 0700);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket.copy(address.sun_path, sizeof address.sun_path - 1);
    listener = Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener.get(), 5), 0);
  }
  config::EnvLookup env() const {
    return [this](const std::string& name) { return name == "TMPDIR" ? std::optional(scratch.path()) : std::nullopt; };
  }

  const test::ScratchFolder scratch;
  const std::string folder = scratch.path() + "/hookd-x", socket = folder + "/hookd.sock";
  Fd listener;
};

TEST_F(PlacesTest, AFolderInWhichOthersMayWriteIsToldButNotTaken) {
  EXPECT_THAT(live_sockets(env()).trusted, Contains(socket));
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  const auto live = live_sockets(env());
  EXPECT_THAT(live.trusted, Not(Contains(socket)));
  EXPECT_THAT(live.others, Contains(socket));
  if (!live.trusted.empty()) return;  // another daemon runs on this machine
  const auto found = find_socket("", env());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Errc::kForbidden);
  EXPECT_THAT(found.error().what, testing::AllOf(HasSubstr(socket), HasSubstr("--socket")));
}

// As systemd makes /run/hookd with DynamicUser=.
TEST_F(PlacesTest, ALinkIsFollowedOnlyWhereTheFolderIsNamed) {
  ASSERT_EQ(::symlink(folder.c_str(), scratch.path("hookd").c_str()), 0);
  ASSERT_EQ(::symlink(folder.c_str(), scratch.path("hookd-link").c_str()), 0);
  const auto xdg = [this](const std::string& name) {
    return name == "XDG_RUNTIME_DIR" ? std::optional(scratch.path()) : std::nullopt;
  };
  EXPECT_THAT(live_sockets(xdg).trusted, Contains(socket));
  EXPECT_THAT(live_sockets(env()).trusted, Not(Contains(scratch.path("hookd-link/hookd.sock"))));
}

TEST_F(PlacesTest, OneThatIsNamedIsTakenAsItIs) {
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  const auto found = find_socket(socket, env());
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, socket);
}

}  // namespace
}  // namespace hookd::control
