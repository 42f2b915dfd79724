#include "net/unix_listener.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <boost/asio/write.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "net/http_server.h"
#include "server/test_loop.h"
#include "unit/support/scratch_folder.h"

namespace hookd::net {
namespace {

using boost::asio::local::stream_protocol;
using testing::HasSubstr;

class UnixListenerTest : public testing::Test {
 protected:
  Result<std::unique_ptr<HttpServer>> serve() {
    return HttpServer::listen(loop.scheduler, "unix:" + path, [this](ServerRequest request, Responder respond) {
      peer = request.peer;
      respond({.body = "you asked " + request.path});
    });
  }
  // A bound socket whose owner is gone.
  void leave_behind() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    const Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  std::string get(const std::string& target) {
    stream_protocol::socket socket(loop.context);
    socket.connect(stream_protocol::endpoint(path));
    boost::asio::write(socket,
                       boost::asio::buffer("GET " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    std::string got, buffer(4096, '\0');
    bool ended = false;
    std::function<void()> read = [&] {
      socket.async_read_some(boost::asio::buffer(buffer), [&](const boost::system::error_code& error, size_t size) {
        got.append(buffer, 0, size);
        ended = error.failed();
        if (!ended) read();
      });
    };
    read();
    loop.until([&] { return ended; });
    return got;
  }

  const test::ScratchFolder scratch;
  const std::string& folder = scratch.path();
  fake::TestLoop loop;
  std::string path = folder + "/s.sock", peer;
};

TEST_F(UnixListenerTest, AnswersAndTakesItsFileAway) {
  {
    const auto server = serve();
    ASSERT_TRUE(server) << server.error().what;
    struct stat status{};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600u);
    EXPECT_TRUE(is_live_socket(path));
    EXPECT_THAT(get("/x"), HasSubstr("you asked /x"));
    EXPECT_EQ(peer, fmt::format("uid {}, pid {}", ::geteuid(), ::getpid()));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(is_live_socket(path));
}

TEST_F(UnixListenerTest, ReplacesWhatADeadOneLeftBehind) {
  leave_behind();
  EXPECT_FALSE(is_live_socket(path));
  const auto server = serve();
  ASSERT_TRUE(server) << server.error().what;
  EXPECT_THAT(get("/"), HasSubstr("200 OK"));
}

TEST_F(UnixListenerTest, LeavesALiveOneAlone) {
  const auto first = serve();
  ASSERT_TRUE(first);
  const auto second = serve();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kExists);
  EXPECT_THAT(second.error().what, HasSubstr("another process listens there"));
  EXPECT_THAT(get("/"), HasSubstr("200 OK"));
}

TEST_F(UnixListenerTest, DoesNotReplaceAFile) {
  std::ofstream(path) << "precious";
  const auto server = serve();
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().code, Errc::kConfig);
  EXPECT_THAT(server.error().what, HasSubstr("no socket"));
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(UnixListenerTest, LeavesAFileThatTookItsPlace) {
  auto server = serve();
  ASSERT_TRUE(server);
  std::filesystem::remove(path);
  std::ofstream(path) << "another's";
  server->reset();
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(UnixListenerTest, RefusesWhatCannotBe) {
  path = folder + "/" + std::string(200, 'x');
  EXPECT_THAT(serve().error().what, HasSubstr("107 bytes"));
  path = folder + "/none/s.sock";
  EXPECT_THAT(serve().error().what, HasSubstr("No such file"));
  path = "";
  EXPECT_FALSE(serve());
}

// Only root can become another user; anybody else at least is not turned away.
TEST_F(UnixListenerTest, TurnsAnotherUserAway) {
  const auto server = serve();
  ASSERT_TRUE(server);
  if (::geteuid() != 0) {
    EXPECT_THAT(get("/"), HasSubstr("200 OK"));
    return;
  }
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);  // as if somebody had opened it
  ASSERT_EQ(::seteuid(65534), 0);
  stream_protocol::socket socket(loop.context);
  boost::system::error_code error;
  socket.connect(stream_protocol::endpoint(path), error);
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_FALSE(error) << error.message();
  boost::asio::write(socket, boost::asio::buffer(std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n")));
  std::string got, buffer(4096, '\0');
  bool ended = false;
  std::function<void()> read = [&] {
    socket.async_read_some(boost::asio::buffer(buffer), [&](const boost::system::error_code& failed, size_t size) {
      got.append(buffer, 0, size);
      ended = failed.failed();
      if (!ended) read();
    });
  };
  read();
  loop.until([&] { return ended; });
  EXPECT_THAT(got, HasSubstr("403"));
  EXPECT_THAT(got, HasSubstr("not uid 65534"));
  EXPECT_EQ(peer, "");
}

}  // namespace
}  // namespace hookd::net
